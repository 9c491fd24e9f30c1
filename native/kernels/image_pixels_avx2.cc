// Row writers of image_pixels.h on AVX2 for three channels; the same values as the portable ones.
#include "kernels/image_pixels.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#define PENSTOCK_AVX2 __attribute__((target("avx2,f16c")))

namespace penstock::kernels {
namespace {

template <bool kPast, typename Value>
PENSTOCK_AVX2 inline void store_8(Value* out, __m256 values) {
  if constexpr (sizeof(Value) == 4 && kPast) {
    _mm256_stream_ps(reinterpret_cast<float*>(out), values);
  } else if constexpr (sizeof(Value) == 4) {
    _mm256_storeu_ps(reinterpret_cast<float*>(out), values);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
}

template <typename Value>
PENSTOCK_AVX2 inline void store_some(Value* out, __m256 values, int64_t count) {
  alignas(32) Value tail[8];
  store_8<false>(tail, values);
  std::memcpy(out, tail, sizeof(Value) * static_cast<size_t>(count));
}

PENSTOCK_AVX2 inline __m256 scaled_8(__m128i bytes, __m256 gain, __m256 offset) {
  return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), gain), offset);
}

// The bytes of channel c of eight pixels, from their 24 bytes: the first 16 and the last 16 of them.
PENSTOCK_AVX2 inline __m128i channel_8(__m128i head, __m128i tail, int c) {
  alignas(16) static constexpr int8_t kHead[3][16] = {{0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                                                      {1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                                                      {2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}};
  alignas(16) static constexpr int8_t kTail[3][16] = {{-1, -1, -1, -1, -1, -1, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1},
                                                      {-1, -1, -1, -1, -1, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1},
                                                      {-1, -1, -1, -1, -1, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1}};
  return _mm_or_si128(_mm_shuffle_epi8(head, _mm_load_si128(reinterpret_cast<const __m128i*>(kHead[c]))),
                      _mm_shuffle_epi8(tail, _mm_load_si128(reinterpret_cast<const __m128i*>(kTail[c]))));
}

template <bool kPast, typename Value>
PENSTOCK_AVX2 void write_planar(const PixelFormat& format, const uint8_t* row, int64_t y, int64_t height, int64_t width,
                                Value* out) {
  Value* planes[3];
  __m256 gain[3], offset[3];
  for (int c = 0; c < 3; ++c) {
    planes[c] = out + (c * height + y) * width;
    gain[c] = _mm256_set1_ps(format.gain[c]);
    offset[c] = _mm256_set1_ps(format.offset[c]);
  }
  // Vectors of a plane in a row: past the caches, half a cache line takes as long as a whole one.
  constexpr int kParts = kPast ? 2 : 1;
  for (int64_t x = 0; x < width; x += 8 * kParts) {
    __m128i head[kParts], tail[kParts];
    for (int part = 0; part < kParts; ++part) {
      const uint8_t* const from = row + 3 * (x + 8 * part);
      head[part] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      tail[part] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 8));
    }
    for (int c = 0; c < 3; ++c) {
      for (int part = 0; part < kParts; ++part) {
        const __m128i bytes = channel_8(head[part], tail[part], c);
        const int64_t at = x + 8 * part, left = width - at;
        if (part > 0 && left <= 0) break;
        if constexpr (sizeof(Value) == 1) {
          alignas(16) uint8_t eight[16];
          _mm_store_si128(reinterpret_cast<__m128i*>(eight), bytes);
          std::memcpy(planes[c] + at, eight, left >= 8 ? 8 : static_cast<size_t>(left));
        } else {
          const __m256 values = scaled_8(bytes, gain[c], offset[c]);
          left >= 8 ? store_8<kPast>(planes[c] + at, values) : store_some(planes[c] + at, values, left);
        }
      }
    }
  }
}

// Eight pixels are 24 values: three vectors whose channels repeat with period 24.
template <bool kPast, typename Value>
PENSTOCK_AVX2 void write_interleaved(const PixelFormat& format, const uint8_t* row, int64_t y, int64_t width,
                                     Value* out) {
  alignas(32) float gain[24], offset[24];
  for (int i = 0; i < 24; ++i) gain[i] = format.gain[i % 3], offset[i] = format.offset[i % 3];
  const int64_t length = 3 * width;
  out += y * length;
  for (int64_t x = 0; x < length; x += 24) {
    for (int64_t part = 0; part < 24 && x + part < length; part += 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + x + part));
      const __m256 values = scaled_8(bytes, _mm256_load_ps(gain + part), _mm256_load_ps(offset + part));
      const int64_t left = length - x - part;
      left >= 8 ? store_8<kPast>(out + x + part, values) : store_some(out + x + part, values, left);
    }
  }
}

template <bool kPast>
PENSTOCK_AVX2 void write_floats(const PixelFormat& format, const uint8_t* row, int64_t y, int64_t height, int64_t width,
                                void* out) {
  format.planar ? write_planar<kPast>(format, row, y, height, width, static_cast<float*>(out))
                : write_interleaved<kPast>(format, row, y, width, static_cast<float*>(out));
}

// Whether an image of three floats a pixel is large enough that batches of such images do not stay in a cache, and all
// its vectors are aligned and full.
bool is_past_caches(int64_t height, int64_t width, const void* out) {
  constexpr int64_t kLarge = 1 << 18;  // bytes
  return height * width * 12 >= kLarge && width % 8 == 0 && reinterpret_cast<uintptr_t>(out) % 32 == 0;
}

PENSTOCK_AVX2 void write_row(const PixelFormat& format, const uint8_t* row, int64_t y, int64_t height, int64_t width,
                             void* out) {
  if (format.channels != 3 || format.is_plain()) {
    return portable_write_row()(format, row, y, height, width, out);
  }
  switch (format.type) {
    case PixelType::uint8:
      return write_planar<false>(format, row, y, height, width, static_cast<uint8_t*>(out));
    case PixelType::float16:
      return format.planar ? write_planar<false>(format, row, y, height, width, static_cast<uint16_t*>(out))
                           : write_interleaved<false>(format, row, y, width, static_cast<uint16_t*>(out));
    case PixelType::float32:
      return is_past_caches(height, width, out) ? write_floats<true>(format, row, y, height, width, out)
                                                : write_floats<false>(format, row, y, height, width, out);
  }
}

bool has_f16c() {  // for which Clang 14 has no name in __builtin_cpu_supports
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

}  // namespace

WriteRow avx2_write_row() {
  static const bool available = __builtin_cpu_supports("avx2") && has_f16c();
  return available ? write_row : nullptr;
}

}  // namespace penstock::kernels

#else

namespace penstock::kernels {

WriteRow avx2_write_row() { return nullptr; }

}  // namespace penstock::kernels

#endif
