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

// 16-bit values of 32 pixels: of the even ones, and of the odd ones. Each lane has eight of both.
struct Values {
  __m256i even, odd;
};

struct Colors {
  __m256i r, g, b;
};

PENSTOCK_FAST_JPEG_INLINE Values load_values(const uint8_t* from) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return {_mm256_and_si256(bytes, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16(bytes, 8)};
}

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

// Stores 32 pixels, of which each lane has the even ones, then the odd ones.
PENSTOCK_FAST_JPEG_INLINE void store_interleaved(const Colors& bytes, uint8_t* out) {
  struct Places {
    int8_t of[3][16];  // of a color in a vector of the result
  };
  constexpr auto places = [](int color) {
    Places found{};
    for (int i = 0; i < 48; ++i) {
      const int pixel = i / 3;
      found.of[i / 16][i % 16] = static_cast<int8_t>(i % 3 == color ? pixel % 2 * 8 + pixel / 2 : -1);
    }
    return found;
  };
  alignas(16) static constexpr Places kRed = places(0), kGreen = places(1), kBlue = places(2);
  for (int i = 0; i < 3; ++i) {
    const auto placed = [i](__m256i values, const Places& at) __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
      return _mm256_shuffle_epi8(
          values, _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(at.of[i]))));
    };
    const __m256i both = _mm256_or_si256(placed(bytes.r, kRed), placed(bytes.g, kGreen));
    const __m256i all = _mm256_or_si256(both, placed(bytes.b, kBlue));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * i), _mm256_castsi256_si128(all));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 48 + 16 * i), _mm256_extracti128_si256(all, 1));
  }
}

// Converts 32 pixels.
PENSTOCK_FAST_JPEG_INLINE void convert(const uint8_t* luma, const Values& blue, const Values& red, uint8_t* out) {
  const Values y = load_values(luma);
  const Colors even = of_samples(y.even, blue.even, red.even), odd = of_samples(y.odd, blue.odd, red.odd);
  store_interleaved(
      {_mm256_packus_epi16(even.r, odd.r), _mm256_packus_epi16(even.g, odd.g), _mm256_packus_epi16(even.b, odd.b)},
      out);
}

// Two samples for each of 16: a quarter of the way to its neighbors.
template <int kBits, int kLeftBias, int kRightBias>
PENSTOCK_FAST_JPEG_INLINE Values widened(const int16_t* sums) {
  const auto load = [sums](int at) __attribute__((target("avx2,bmi,bmi2"), always_inline)) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + at));
  };
  const __m256i self = load(0), three = _mm256_add_epi16(_mm256_add_epi16(self, self), self);
  const __m256i left = _mm256_add_epi16(_mm256_add_epi16(three, load(-1)), _mm256_set1_epi16(kLeftBias));
  const __m256i right = _mm256_add_epi16(_mm256_add_epi16(three, load(1)), _mm256_set1_epi16(kRightBias));
  return {_mm256_srli_epi16(left, kBits), _mm256_srli_epi16(right, kBits)};
}

}  // namespace colors

// JFIF's conversion (ITU-R 601, full range): R = Y + 1.402 Cr, G = Y - 0.344136 Cb - 0.714136 Cr, B = Y + 1.772 Cb,
// with 16 fractional bits; whole parts of the factors are added apart, so that the rest fits 16 bits.
PENSTOCK_FAST_JPEG_INLINE void convert_row(const uint8_t* luma, const uint8_t* blue, const uint8_t* red, int64_t width,
                                           uint8_t* out) {
  for (int64_t x = 0; x < width; x += 32) {
    colors::convert(luma + x, colors::load_values(blue + x), colors::load_values(red + x), out + 3 * x);
  }
}

// The same with half as many samples of chroma, from weigh_rows() with or without `kBetweenRows`; there is one more
// before the first and after the last of them.
template <bool kBetweenRows>
PENSTOCK_FAST_JPEG_INLINE void widen_and_convert_row(const uint8_t* luma, const int16_t* blue, const int16_t* red,
                                                     int64_t width, uint8_t* out) {
  constexpr int kBits = kBetweenRows ? 4 : 2, kLeftBias = kBetweenRows ? 8 : 1, kRightBias = kBetweenRows ? 7 : 2;
  for (int64_t x = 0; x < width; x += 32) {
    colors::convert(luma + x, colors::widened<kBits, kLeftBias, kRightBias>(blue + x / 2),
                    colors::widened<kBits, kLeftBias, kRightBias>(red + x / 2), out + 3 * x);
  }
}

}  // namespace penstock::kernels

#endif
