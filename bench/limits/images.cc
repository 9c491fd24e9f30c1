// The limit of the `images` workload: files to finished batches with nothing in between.
//
// N threads take rows from one counter. For each row: read the file, draw the crop, decode only its rows and columns
// (with Penstock's decoder; at half or quarter scale on request, if the crop allows it), resize with two taps, flip,
// store. Hands over no batches, checks nothing, and cannot be resumed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/jpeg.h"

#ifdef __SSSE3__
#include <immintrin.h>
#endif

namespace {

constexpr int kSize = 224;
constexpr int kFraction = 6;  // intermediate pixels carry six bits after the point, in int16
constexpr float kMean[3] = {0.485f * 255, 0.456f * 255, 0.406f * 255};
constexpr float kStd[3] = {0.229f * 255, 0.224f * 255, 0.225f * 255};

struct Uniform {  // splitmix64
  uint64_t state;
  double operator()() {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
};

struct Box {
  int x, y, width, height;
};

// Inception's crop, as torchvision draws it: area 0.08..1, ratio 3/4..4/3 (log uniform), ten attempts, then the middle.
Box draw_crop(int width, int height, Uniform& uniform) {
  const double low = std::log(3.0 / 4), high = std::log(4.0 / 3);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = static_cast<double>(width) * height * (0.08 + 0.92 * uniform());
    const double ratio = std::exp(low + (high - low) * uniform());
    const int w = static_cast<int>(std::lround(std::sqrt(area * ratio)));
    const int h = static_cast<int>(std::lround(std::sqrt(area / ratio)));
    if (w > 0 && h > 0 && w <= width && h <= height) {
      return {static_cast<int>(uniform() * (width - w + 1)), static_cast<int>(uniform() * (height - h + 1)), w, h};
    }
  }
  const double ratio = static_cast<double>(width) / height;
  const int w = ratio > 4.0 / 3 ? static_cast<int>(std::lround(height * 4.0 / 3)) : width;
  const int h = ratio < 3.0 / 4 ? static_cast<int>(std::lround(width * 4.0 / 3)) : height;
  return {(width - w) / 2, (height - h) / 2, w, h};
}

struct Taps {  // output i blends source index[i] and index[i] + 1, the second by weight[i] / 2^15
  int index[kSize];
  int16_t weight[kSize];
};

void fill_taps(Taps& taps, double start, double length, int limit, bool reversed) {
  const double scale = length / kSize;
  for (int i = 0; i < kSize; ++i) {
    const double at = std::clamp(start + (i + 0.5) * scale - 0.5, 0.0, static_cast<double>(limit - 1));
    const int low = std::min(static_cast<int>(at), std::max(limit - 2, 0));
    const int to = reversed ? kSize - 1 - i : i;
    taps.index[to] = low;
    taps.weight[to] = static_cast<int16_t>(std::min(32767L, std::lround((at - low) * 32768)));
  }
}

// a, b: n bytes; out: n int16 with kFraction bits.
void blend_rows(const uint8_t* a, const uint8_t* b, int weight, int n, int16_t* out) {
  int i = 0;
#ifdef __AVX2__
  const __m256i w = _mm256_set1_epi16(static_cast<int16_t>(weight));
  for (; i + 16 <= n; i += 16) {
    const __m256i va =
        _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i))), kFraction);
    const __m256i vb =
        _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i))), kFraction);
    const __m256i blended = _mm256_add_epi16(va, _mm256_mulhrs_epi16(_mm256_sub_epi16(vb, va), w));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), blended);
  }
#endif
  for (; i < n; ++i) {
    const int va = a[i] << kFraction, vb = b[i] << kFraction;
    out[i] = static_cast<int16_t>(va + (((vb - va) * weight + 0x4000) >> 15));
  }
}

#ifdef __SSSE3__
// Two output pixels as eight int16: r g b - r g b -.
inline __m128i two_pixels(const int16_t* row, const Taps& taps, int x) {
  const int16_t* p = row + 3 * taps.index[x];
  const int16_t* q = row + 3 * taps.index[x + 1];
  const __m128i a = _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)),
                                       _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q)));
  const __m128i b = _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 3)),
                                       _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + 3)));
  const __m128i w = _mm_unpacklo_epi64(_mm_set1_epi16(taps.weight[x]), _mm_set1_epi16(taps.weight[x + 1]));
  return _mm_add_epi16(a, _mm_mulhrs_epi16(_mm_sub_epi16(b, a), w));
}
#endif

inline int blend_pixel(const int16_t* row, const Taps& taps, int x, int c) {
  const int a = row[3 * taps.index[x] + c], b = row[3 * taps.index[x] + 3 + c];
  return a + (((b - a) * taps.weight[x] + 0x4000) >> 15);
}

// row: source pixels (int16, three channels); out: kSize x 3 bytes.
void store_bytes(const int16_t* row, const Taps& taps, uint8_t* out) {
  int x = 0;
#ifdef __SSSE3__
  const __m128i half = _mm_set1_epi16(1 << (kFraction - 1));
  const __m128i pack = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  for (; x + 8 <= kSize; x += 4) {  // the last four are done below: a store is 16 bytes wide, 12 of them good
    const __m128i low = _mm_srai_epi16(_mm_add_epi16(two_pixels(row, taps, x), half), kFraction);
    const __m128i high = _mm_srai_epi16(_mm_add_epi16(two_pixels(row, taps, x + 2), half), kFraction);
    const __m128i bytes = _mm_shuffle_epi8(_mm_packus_epi16(low, high), pack);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * x), bytes);
  }
#endif
  for (; x < kSize; ++x) {
    for (int c = 0; c < 3; ++c) {
      out[3 * x + c] = static_cast<uint8_t>((blend_pixel(row, taps, x, c) + (1 << (kFraction - 1))) >> kFraction);
    }
  }
}

// row: source pixels (int16, three channels); out: three planes of kSize x kSize floats, at this row.
void store_floats(const int16_t* row, const Taps& taps, float* out) {
  constexpr int kPlane = kSize * kSize;
  float scale[3], bias[3];
  for (int c = 0; c < 3; ++c) {
    scale[c] = 1.0f / (kStd[c] * (1 << kFraction));
    bias[c] = -kMean[c] / kStd[c];
  }
  int x = 0;
#if defined(__AVX2__) && defined(__FMA__)
  for (; x + 8 <= kSize; x += 8) {
    const __m128i p0 = two_pixels(row, taps, x), p1 = two_pixels(row, taps, x + 2);
    const __m128i p2 = two_pixels(row, taps, x + 4), p3 = two_pixels(row, taps, x + 6);
    // 4 x (rgb- rgb-) -> r x 8, g x 8, b x 8
    const __m128i a0 = _mm_unpacklo_epi16(p0, p1), a1 = _mm_unpackhi_epi16(p0, p1);  // r0r2 g0g2 ..., r1r3 g1g3 ...
    const __m128i a2 = _mm_unpacklo_epi16(p2, p3), a3 = _mm_unpackhi_epi16(p2, p3);
    const __m128i b0 = _mm_unpacklo_epi16(a0, a1), b1 = _mm_unpackhi_epi16(a0, a1);  // r0r1r2r3 g0.., b0.. -
    const __m128i b2 = _mm_unpacklo_epi16(a2, a3), b3 = _mm_unpackhi_epi16(a2, a3);
    const __m128i planes[3] = {_mm_unpacklo_epi64(b0, b2), _mm_unpackhi_epi64(b0, b2), _mm_unpacklo_epi64(b1, b3)};
    for (int c = 0; c < 3; ++c) {
      const __m256 value = _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(planes[c]));
      _mm256_storeu_ps(out + c * kPlane + x, _mm256_fmadd_ps(value, _mm256_set1_ps(scale[c]), _mm256_set1_ps(bias[c])));
    }
  }
#endif
  for (; x < kSize; ++x) {
    for (int c = 0; c < 3; ++c) {
      out[c * kPlane + x] = static_cast<float>(blend_pixel(row, taps, x, c)) * scale[c] + bias[c];
    }
  }
}

struct Job {
  const char* const* paths;
  const int64_t* order;  // the file of each row
  int64_t rows;
  uint64_t seed;
  bool scaled;    // decode at 1/2 or 1/4 if the crop is at least that many times the target
  bool floats;    // normalized float32 NCHW instead of uint8 NHWC
  int64_t slots;  // images in `out`; row r goes to slot r % slots
  void* out;
};

class Worker {
 public:
  explicit Worker(const Job& job) : job_(job) {}

  void run(int64_t row) {
    Uniform uniform{job_.seed * 0xD1342543DE82EF95ull + static_cast<uint64_t>(row) * 0x2545F4914F6CDD1Dull};
    const size_t size = read_file(job_.paths[job_.order[row]]);
    if (!reader_.open(file_.data(), size, 1 << 30)) std::abort();  // the benchmark's files are good
    const int width = static_cast<int>(reader_.width()), height = static_cast<int>(reader_.height());
    const Box crop = draw_crop(width, height, uniform);
    const bool flip = uniform() < 0.5;

    int denominator = 1;
    if (job_.scaled) {
      while (denominator < 8 && std::min(crop.width, crop.height) >= 2 * denominator * kSize) denominator *= 2;
    }
    decode(crop, denominator);
    const double d = denominator;
    fill_taps(columns_, crop.x / d - left_, crop.width / d, columns_count_, flip);
    fill_taps(rows_, crop.y / d - top_, crop.height / d, rows_count_, false);
    store(row % job_.slots);
  }

 private:
  size_t read_file(const char* path) {
    const int handle = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (handle < 0 || fstat(handle, &status) != 0) {
      std::fprintf(stderr, "cannot read %s\n", path);
      std::abort();
    }
    const size_t size = static_cast<size_t>(status.st_size);
    if (file_.size() < size) file_.resize(size);
    if (read(handle, file_.data(), size) != static_cast<ssize_t>(size)) std::abort();
    close(handle);
    return size;
  }

  // Decode the crop's rows and columns, and one more on each side for the resize.
  void decode(const Box& crop, int d) {
    const int full_width = static_cast<int>((reader_.width() + d - 1) / d);
    const int full_height = static_cast<int>((reader_.height() + d - 1) / d);
    const int x0 = std::max(crop.x / d - 1, 0), x1 = std::min((crop.x + crop.width + d - 1) / d + 1, full_width);
    const int y0 = std::max(crop.y / d - 1, 0), y1 = std::min((crop.y + crop.height + d - 1) / d + 1, full_height);
    left_ = x0, columns_count_ = x1 - x0;
    top_ = y0, rows_count_ = y1 - y0;
    const size_t stride = 3 * static_cast<size_t>(columns_count_);
    if (pixels_.size() < stride * static_cast<size_t>(rows_count_)) pixels_.resize(stride * rows_count_);
    if (blended_.size() < stride + 16) blended_.resize(stride + 16);
    const auto take = [](void* context, int64_t y, const uint8_t* row) {
      Worker& self = *static_cast<Worker*>(context);
      const size_t length = 3 * static_cast<size_t>(self.columns_count_);
      std::memcpy(self.pixels_.data() + length * static_cast<size_t>(y), row, length);
    };
    if (!reader_.read(d, 3, {y0, x0, rows_count_, columns_count_}, take, this)) std::abort();
  }

  void store(int64_t slot) {
    const size_t stride = 3 * static_cast<size_t>(columns_count_);
    for (int y = 0; y < kSize; ++y) {
      const uint8_t* a = pixels_.data() + stride * static_cast<size_t>(rows_.index[y]);
      const uint8_t* b = rows_count_ > 1 ? a + stride : a;
      blend_rows(a, b, rows_.weight[y], static_cast<int>(stride), blended_.data());
      if (job_.floats) {
        store_floats(blended_.data(), columns_, static_cast<float*>(job_.out) + slot * 3 * kSize * kSize + y * kSize);
      } else {
        store_bytes(blended_.data(), columns_, static_cast<uint8_t*>(job_.out) + (slot * kSize + y) * kSize * 3);
      }
    }
  }

  const Job& job_;
  penstock::kernels::JpegReader reader_;
  std::vector<uint8_t> file_, pixels_;
  std::vector<int16_t> blended_;
  Taps columns_, rows_;
  int left_ = 0, top_ = 0, columns_count_ = 0, rows_count_ = 0;
};

}  // namespace

extern "C" void images_epoch(const char* const* paths, const int64_t* order, int64_t rows, uint64_t seed, int threads,
                             int scaled, int floats, int64_t slots, void* out) {
  const Job job{paths, order, rows, seed, scaled != 0, floats != 0, slots, out};
  std::atomic<int64_t> next{0};
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      Worker worker(job);
      for (int64_t row; (row = next.fetch_add(1, std::memory_order_relaxed)) < job.rows;) worker.run(row);
    });
  }
  for (std::thread& thread : pool) thread.join();
}
