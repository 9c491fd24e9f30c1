// Makes rows of pixels of rows of samples: upsampling of chroma, and colors, as libjpeg-turbo does them.
#pragma once

#include "kernels/jpeg_blocks.h"

#ifdef PENSTOCK_FAST_JPEG

namespace penstock::kernels {

inline constexpr int64_t kRowSlack = 96;  // bytes that may be read and written past the end of each row

// out[i] = near[i]; or 3 * near[i] + far[i], a quarter of the way to the row `far`, times 4.
template <bool kBetweenRows>
PENSTOCK_FAST_JPEG_INLINE void weigh_rows(const uint8_t* near, const uint8_t* far, int64_t count, int16_t* out) {
  for (int64_t i = 0; i < count; i += 16) {
    const auto load = [i](const uint8_t* from) __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
      return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    };
    __m256i sum = load(near);
    if constexpr (kBetweenRows) {
      sum = _mm256_add_epi16(_mm256_add_epi16(_mm256_add_epi16(sum, sum), sum), load(far));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), sum);
  }
}

// Two samples for each: a quarter of the way to its neighbors. `sums` has one more before its begin and after its end.
template <int kBits, int kLeftBias, int kRightBias>
PENSTOCK_FAST_JPEG_INLINE void widen_row(const int16_t* sums, int64_t count, uint8_t* out) {
  for (int64_t i = 0; i < count; i += 16) {
    const auto load = [&](int64_t at) __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + at));
    };
    const __m256i self = load(i), three = _mm256_add_epi16(_mm256_add_epi16(self, self), self);
    const __m256i left =
        _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(three, load(i - 1)), _mm256_set1_epi16(kLeftBias)), kBits);
    const __m256i right =
        _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(three, load(i + 1)), _mm256_set1_epi16(kRightBias)), kBits);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2 * i), _mm256_or_si256(left, _mm256_slli_epi16(right, 8)));
  }
}

// out[i] = (3 * near[i] + far[i] + bias) / 4
PENSTOCK_FAST_JPEG_INLINE void mix_rows(const uint8_t* near, const uint8_t* far, int bias, int64_t count,
                                        uint8_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>((3 * near[i] + far[i] + bias) >> 2);
}

namespace colors {

// x * 0.402 and x * -0.228 for -128 <= x < 128, rounded as with 16 fractional bits, of which 15 are enough.
inline constexpr int kRedOfCr = 13173, kBlueOfCb = -7471;
constexpr bool is_rounded_as(int factor, int wide) {
  for (int x = -128; x < 128; ++x)
    if ((x * factor + (1 << 14)) >> 15 != (x * wide + (1 << 15)) >> 16) return false;
  return true;
}
static_assert(is_rounded_as(kRedOfCr, 26345) && is_rounded_as(kBlueOfCb, -14942));

PENSTOCK_FAST_JPEG_INLINE __m256i scaled(__m256i x, int factor) {
  return _mm256_mulhrs_epi16(x, _mm256_set1_epi16(static_cast<short>(factor)));
}

struct Colors {
  __m256i r, g, b;
};

// The colors of 16 pixels, in 16 bits.
PENSTOCK_FAST_JPEG_INLINE Colors of_samples(__m256i y, __m256i blue, __m256i red) {
  const __m256i middle = _mm256_set1_epi16(128), half = _mm256_set1_epi32(1 << 15);
  const __m256i green_factors =
      _mm256_set1_epi32(static_cast<int>(18734u << 16 | (static_cast<unsigned>(-22554) & 0xFFFF)));
  const __m256i cb = _mm256_sub_epi16(blue, middle), cr = _mm256_sub_epi16(red, middle);
  const auto part = [&](__m256i pairs) __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(pairs, green_factors), half), 16);
  };
  const __m256i mixed = _mm256_packs_epi32(part(_mm256_unpacklo_epi16(cb, cr)), part(_mm256_unpackhi_epi16(cb, cr)));
  return {_mm256_add_epi16(_mm256_add_epi16(y, cr), scaled(cr, kRedOfCr)),
          _mm256_add_epi16(_mm256_sub_epi16(y, cr), mixed),
          _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)), scaled(cb, kBlueOfCb))};
}

// Stores 32 pixels, of which each lane has 16.
PENSTOCK_FAST_JPEG_INLINE void store_interleaved(const Colors& bytes, uint8_t* out) {
  alignas(16) static constexpr int8_t kRed[3][16] = {{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
                                                     {-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
                                                     {-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1}};
  alignas(16) static constexpr int8_t kGreen[3][16] = {
      {-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
      {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
      {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1}};
  alignas(16) static constexpr int8_t kBlue[3][16] = {{-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1},
                                                      {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1},
                                                      {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}};
  for (int i = 0; i < 3; ++i) {
    const auto placed = [i](__m256i values,
                            const int8_t (&places)[3][16]) __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
      return _mm256_shuffle_epi8(
          values, _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(places[i]))));
    };
    const __m256i both = _mm256_or_si256(placed(bytes.r, kRed), placed(bytes.g, kGreen));
    const __m256i all = _mm256_or_si256(both, placed(bytes.b, kBlue));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * i), _mm256_castsi256_si128(all));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 48 + 16 * i), _mm256_extracti128_si256(all, 1));
  }
}

}  // namespace colors

// JFIF's conversion (ITU-R 601, full range): R = Y + 1.402 Cr, G = Y - 0.344136 Cb - 0.714136 Cr, B = Y + 1.772 Cb,
// with 16 fractional bits; whole parts of the factors are added apart, so that the rest fits 16 bits.
PENSTOCK_FAST_JPEG_INLINE void convert_row(const uint8_t* luma, const uint8_t* blue, const uint8_t* red, int64_t width,
                                           uint8_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  for (int64_t x = 0; x < width; x += 32) {
    const auto load = [x](const uint8_t* from) __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + x));
    };
    const __m256i y = load(luma), cb = load(blue), cr = load(red);
    const colors::Colors low = colors::of_samples(_mm256_unpacklo_epi8(y, zero), _mm256_unpacklo_epi8(cb, zero),
                                                  _mm256_unpacklo_epi8(cr, zero));
    const colors::Colors high = colors::of_samples(_mm256_unpackhi_epi8(y, zero), _mm256_unpackhi_epi8(cb, zero),
                                                   _mm256_unpackhi_epi8(cr, zero));
    colors::store_interleaved(
        {_mm256_packus_epi16(low.r, high.r), _mm256_packus_epi16(low.g, high.g), _mm256_packus_epi16(low.b, high.b)},
        out + 3 * x);
  }
}

}  // namespace penstock::kernels

#endif
