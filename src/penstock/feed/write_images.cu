// Writes the images of a batch from decoded pixels: crops, flips, one resampling, normalization, channels first.
//
// Compiled at run time with CHANNELS, PLANAR (channels first), AFFINE (gain and offset for each channel), and HALF or
// else PIXEL, the type of the result. One thread makes one pixel. The arithmetic is that of native/kernels/resize.cc in
// float32, with one rounding to uint8 at the end, so that results differ by at most 1 before the normalization.
typedef unsigned char uint8;
typedef long long int64;

#ifdef HALF
typedef unsigned short PIXEL;  // the bits: <cuda_fp16.h> is not everywhere
__device__ PIXEL pixel_of(float value) {
  PIXEL bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else
__device__ PIXEL pixel_of(float value) { return static_cast<PIXEL>(value); }
#endif

// One image per row, as `kernels.image.follow_images` gives it, after the pixels and the bytes of one row of them.
struct Image {
  int64 pixels, pitch;  // pixels 0: the image is not written
  int64 top, left, height, width, flipped;
  int64 resampled, filter, antialias, resized_height, resized_width;
  int64 window_top, window_left, window_height, window_width, window_flipped;
};

struct Taps {
  int first, last;  // the inputs [first, last), beyond the edges too
  float middle, narrowing, a;
};

__device__ Taps taps_of(int filter, int antialias, int inputs, int outputs, int output) {
  const double step = static_cast<double>(inputs) / outputs;
  const double centre = (output + 0.5) * step;
  if (filter == 0) {
    const int at = min(static_cast<int>(centre), inputs - 1);
    return {at, at + 1, static_cast<float>(at), 0.0f, 0.0f};
  }
  const int reach = filter == 1 ? 1 : 2;
  if (!antialias) {
    const int at = static_cast<int>(floor(centre - 0.5));
    return {at + 1 - reach, at + 1 + reach, static_cast<float>(centre - 0.5), 1.0f, -0.75f};
  }
  const double widening = fmax(step, 1.0), support = reach * widening;
  const int first = static_cast<int>(fmax(centre - support + 0.5, 0.0));
  const int last = min(static_cast<int>(centre + support + 0.5), inputs);
  return {first, last, static_cast<float>(centre - 0.5), static_cast<float>(1.0 / widening), -0.5f};
}

__device__ float weight(const Taps& taps, int filter, int tap) {
  const float x = fabsf((tap - taps.middle) * taps.narrowing), a = taps.a;
  if (filter == 0) return 1.0f;
  if (filter == 1) return fmaxf(1.0f - x, 0.0f);
  if (x < 1.0f) return ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f;
  return x < 2.0f ? (((x - 5.0f) * x + 8.0f) * x - 4.0f) * a : 0.0f;
}

__device__ int inside(int tap, int64 inputs) { return max(0, min(tap, static_cast<int>(inputs) - 1)); }

__device__ const uint8* pixel_at(const Image& image, int y, int x) {
  const int64 column = image.left + (image.flipped ? image.width - 1 - x : x);
  return reinterpret_cast<const uint8*>(image.pixels) + (image.top + y) * image.pitch + column * CHANNELS;
}

__device__ void resample(const Image& image, int y, int x, float* values) {
  const int filter = static_cast<int>(image.filter), antialias = static_cast<int>(image.antialias);
  const Taps tall = taps_of(filter, antialias, image.height, image.resized_height, y);
  const Taps wide = taps_of(filter, antialias, image.width, image.resized_width, x);
  float sum = 0.0f;
  for (int c = 0; c < CHANNELS; ++c) values[c] = 0.0f;
  for (int i = tall.first; i < tall.last; ++i) {
    const float row_weight = weight(tall, filter, i);
    const int row = inside(i, image.height);
    for (int j = wide.first; j < wide.last; ++j) {
      const float both = row_weight * weight(wide, filter, j);
      const uint8* pixel = pixel_at(image, row, inside(j, image.width));
      for (int c = 0; c < CHANNELS; ++c) values[c] += both * pixel[c];
      sum += both;
    }
  }
  for (int c = 0; c < CHANNELS; ++c) values[c] = fminf(fmaxf(floorf(values[c] / sum + 0.5f), 0.0f), 255.0f);
}

extern "C" __global__ void write_images(const Image* images, PIXEL* out, int height, int width, const float* affine) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const Image image = images[blockIdx.z];
  if (x >= width || y >= height || !image.pixels) return;
  float values[CHANNELS];
  if (image.resampled) {
    const int64 column = image.window_left + (image.window_flipped ? width - 1 - x : x);
    resample(image, image.window_top + y, column, values);
  } else {
    const uint8* pixel = pixel_at(image, y, x);
    for (int c = 0; c < CHANNELS; ++c) values[c] = pixel[c];
  }
  const int64 plane = static_cast<int64>(height) * width, at = static_cast<int64>(y) * width + x;
  PIXEL* mine = out + static_cast<int64>(blockIdx.z) * plane * CHANNELS;
  for (int c = 0; c < CHANNELS; ++c) {
    const float value = AFFINE ? __fadd_rn(__fmul_rn(values[c], affine[c]), affine[3 + c]) : values[c];
    mine[PLANAR ? c * plane + at : at * CHANNELS + c] = pixel_of(value);
  }
}
