// Turns blocks of coefficients into samples: whole, or at 1/2, 1/4 or 1/8 of their size.
//
// The arithmetic is that of libjpeg-turbo's accurate integer transform (`jidctint.c`, after Loeffler, Ligtenberg and
// Moschytz, 1989) and of its reduced ones (`jidctred.c`), so that the samples are the same. Sums of 16 bits wrap as in
// its vector code, for coefficients that no encoder writes.
#pragma once

#include "kernels/jpeg_blocks.h"

#ifdef PENSTOCK_FAST_JPEG

#include <cstdlib>

namespace penstock::kernels {

// Two blocks, whose halves of all vectors are transformed side by side, and where their samples go.
struct BlockPair {
  const int16_t* block[2];
  uint8_t* out[2];
};

namespace idct {

inline constexpr int kConstBits = 13, kPassBits = 2;
inline constexpr int kLargestInside = 1 << 14;  // of values between the passes: four times what encoders write

PENSTOCK_FAST_JPEG_INLINE __m256i load_rows(const BlockPair& pair, const int16_t* steps, int row) {
  const auto at = [&](const int16_t* block) { return reinterpret_cast<const __m128i*>(block + 8 * row); };
  const __m256i values = _mm256_set_m128i(_mm_load_si128(at(pair.block[1])), _mm_load_si128(at(pair.block[0])));
  return _mm256_mullo_epi16(values, _mm256_broadcastsi128_si256(_mm_load_si128(at(steps))));
}

// 32-bit lanes: those of the low four and of the high four columns of each block.
struct Wide {
  __m256i low, high;
};

PENSTOCK_FAST_JPEG_INLINE Wide operator+(Wide a, Wide b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

PENSTOCK_FAST_JPEG_INLINE Wide operator-(Wide a, Wide b) {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}

PENSTOCK_FAST_JPEG_INLINE __m256i two_factors(int x, int y) {
  return _mm256_set1_epi32(static_cast<int>(static_cast<unsigned>(y) << 16 | (static_cast<unsigned>(x) & 0xFFFF)));
}

// x * a + y * b
PENSTOCK_FAST_JPEG_INLINE Wide weighted(__m256i x, __m256i y, int a, int b) {
  const __m256i factors = two_factors(a, b);
  return {_mm256_madd_epi16(_mm256_unpacklo_epi16(x, y), factors),
          _mm256_madd_epi16(_mm256_unpackhi_epi16(x, y), factors)};
}

// x << bits
template <int kBits>
PENSTOCK_FAST_JPEG_INLINE Wide widened(__m256i x) {
  const __m256i zero = _mm256_setzero_si256();
  return {_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, x), 16 - kBits),
          _mm256_srai_epi32(_mm256_unpackhi_epi16(zero, x), 16 - kBits)};
}

template <int kBits>
PENSTOCK_FAST_JPEG_INLINE __m256i rounded(Wide x) {
  const __m256i half = _mm256_set1_epi32(1 << (kBits - 1));
  return _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(x.low, half), kBits),
                            _mm256_srai_epi32(_mm256_add_epi32(x.high, half), kBits));
}

template <int kBits>
PENSTOCK_FAST_JPEG_INLINE Wide plus_half(Wide x) {
  const __m256i half = _mm256_set1_epi32(1 << (kBits - 1));
  return {_mm256_add_epi32(x.low, half), _mm256_add_epi32(x.high, half)};
}

template <int kBits>
PENSTOCK_FAST_JPEG_INLINE __m256i narrowed(Wide x) {
  return _mm256_packs_epi32(_mm256_srai_epi32(x.low, kBits), _mm256_srai_epi32(x.high, kBits));
}

// The end of a pass: eight vectors of the sums of even and of odd frequencies. The even ones have the half to round by.
template <int kBits>
PENSTOCK_FAST_JPEG_INLINE void join(const Wide even[4], const Wide odd[4], __m256i v[8]) {
  for (int i = 0; i < 4; ++i) {
    v[i] = narrowed<kBits>(even[i] + odd[3 - i]);
    v[7 - i] = narrowed<kBits>(even[i] - odd[3 - i]);
  }
}

// One pass over eight vectors, each of which holds one frequency of every column.
template <int kBits>
PENSTOCK_FAST_JPEG_INLINE void pass_8(__m256i v[8]) {
  const Wide even_2 = weighted(v[2], v[6], 4433, -10704), even_3 = weighted(v[2], v[6], 10703, 4433);
  const Wide even_0 = plus_half<kBits>(widened<kConstBits>(_mm256_add_epi16(v[0], v[4])));
  const Wide even_1 = plus_half<kBits>(widened<kConstBits>(_mm256_sub_epi16(v[0], v[4])));
  const __m256i sum_3 = _mm256_add_epi16(v[3], v[7]), sum_4 = _mm256_add_epi16(v[1], v[5]);
  const Wide both_3 = weighted(sum_3, sum_4, -6436, 9633), both_4 = weighted(sum_3, sum_4, 9633, 6437);
  const Wide even[4] = {even_0 + even_3, even_1 + even_2, even_1 - even_2, even_0 - even_3};
  const Wide odd[4] = {weighted(v[7], v[1], -4927, -7373) + both_3, weighted(v[5], v[3], -4176, -20995) + both_4,
                       weighted(v[5], v[3], -20995, 4177) + both_3, weighted(v[7], v[1], -7373, 4926) + both_4};
  join<kBits>(even, odd, v);
}

// The same where the upper four frequencies are zero.
template <int kBits>
PENSTOCK_FAST_JPEG_INLINE void pass_8_of_4(__m256i v[8]) {
  const __m256i zero = _mm256_setzero_si256();
  const Wide even_2 = weighted(v[2], zero, 4433, 0), even_3 = weighted(v[2], zero, 10703, 0);
  const Wide even_0 = plus_half<kBits>(widened<kConstBits>(v[0]));
  const Wide even[4] = {even_0 + even_3, even_0 + even_2, even_0 - even_2, even_0 - even_3};
  const Wide odd[4] = {weighted(v[3], v[1], -6436, 9633 - 7373), weighted(v[3], v[1], 9633 - 20995, 6437),
                       weighted(v[3], v[1], 4177 - 6436, 9633), weighted(v[3], v[1], 9633, 6437 + 4926)};
  join<kBits>(even, odd, v);
}

PENSTOCK_FAST_JPEG_INLINE void transpose(__m256i v[8]) {
  __m256i a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_unpacklo_epi32(a[i], a[i + 2]), b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 2]);
    b[i + 2] = _mm256_unpacklo_epi32(a[i + 1], a[i + 3]), b[i + 3] = _mm256_unpackhi_epi32(a[i + 1], a[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
    v[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
  }
}

// The same for vectors of which only the left four columns are not zero; the lower four of the result are zero.
PENSTOCK_FAST_JPEG_INLINE void transpose_left(__m256i v[8]) {
  __m256i a[4], b[4];
  for (int i = 0; i < 4; ++i) a[i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
  for (int i = 0; i < 4; i += 2) {
    b[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]), b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    v[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 2]);
    v[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 2]);
  }
}

// Rows a and b of 16-bit samples around 0, as bytes: row a of a block in the low half of its lane, row b in the high.
PENSTOCK_FAST_JPEG_INLINE __m256i as_bytes(__m256i a, __m256i b) {
  return _mm256_xor_si256(_mm256_packs_epi16(a, b), _mm256_set1_epi8(static_cast<char>(0x80)));
}

PENSTOCK_FAST_JPEG_INLINE void store_rows(const BlockPair& pair, int64_t stride, int row, __m256i bytes) {
  const __m128i halves[2] = {_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)};
  for (int i = 0; i < 2; ++i) {
    uint8_t* const to = pair.out[i] + row * stride;
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), halves[i]);
    _mm_storeh_pd(reinterpret_cast<double*>(to + stride), _mm_castsi128_pd(halves[i]));
  }
}

inline uint8_t clamped(int64_t sample) {
  return static_cast<uint8_t>(sample < -128 ? 0 : sample > 127 ? 255 : sample + 128);
}

// Whether there is room for the bits between the passes. libjpeg-turbo passes over the first pass if only the first row
// has values; a value without room then wraps, which otherwise becomes the largest.
PENSTOCK_FAST_JPEG_INLINE bool has_room(__m256i row) {
  const __m256i back = _mm256_srai_epi16(_mm256_slli_epi16(row, kPassBits), kPassBits);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(back, row)) == -1;
}

}  // namespace idct

// Writes 8 x 8 samples of each block, in rows `stride` bytes apart. `steps` are the quantization steps, in rows of 8;
// all blocks are aligned. With `kInCorner`, only values in the upper left 4 x 4 are not zero. Returns false for values
// so large that libjpeg-turbo's arithmetic differs.
template <bool kInCorner>
PENSTOCK_FAST_JPEG_INLINE bool transform_8(const BlockPair& pair, int64_t stride, const int16_t* steps) {
  using namespace idct;
  constexpr int kFirst = kConstBits - kPassBits, kSecond = kConstBits + kPassBits + 3;
  __m256i v[8];
  for (int row = 0; row < (kInCorner ? 4 : 8); ++row) v[row] = load_rows(pair, steps, row);
  if (!has_room(v[0])) return false;
  if constexpr (kInCorner) {
    pass_8_of_4<kFirst>(v);
    transpose_left(v);
    pass_8_of_4<kSecond>(v);
  } else {
    pass_8<kFirst>(v);
    transpose(v);
    pass_8<kSecond>(v);
  }
  transpose(v);
  for (int row = 0; row < 8; row += 2) store_rows(pair, stride, row, as_bytes(v[row], v[row + 1]));
  return true;
}

namespace idct {

template <int kBits>
PENSTOCK_FAST_JPEG_INLINE void pass_4(const __m256i v[8], __m256i out[4]) {
  const Wide base = widened<kConstBits + 1>(v[0]), even = weighted(v[2], v[6], 15137, -6270);
  const Wide a0 = base + even, a1 = base - even;
  const Wide odd_0 = weighted(v[7], v[5], -1730, 11893) + weighted(v[3], v[1], -17799, 8697);
  const Wide odd_2 = weighted(v[7], v[5], -4176, -4926) + weighted(v[3], v[1], 7373, 20995);
  out[0] = rounded<kBits>(a0 + odd_2), out[3] = rounded<kBits>(a0 - odd_2);
  out[1] = rounded<kBits>(a1 + odd_0), out[2] = rounded<kBits>(a1 - odd_0);
}

}  // namespace idct

// Writes 4 x 4 samples of each block: those of an image of half the size. Returns false as transform_8 does.
PENSTOCK_FAST_JPEG_INLINE bool transform_4(const BlockPair& pair, int64_t stride, const int16_t* steps) {
  __m256i v[8], rows[4];
  for (int row = 0; row < 8; ++row) v[row] = idct::load_rows(pair, steps, row);
  if (!idct::has_room(v[0])) return false;
  idct::pass_4<idct::kConstBits - idct::kPassBits + 1>(v, rows);
  for (int i = 0; i < 4; ++i) v[i] = rows[i], v[i + 4] = _mm256_setzero_si256();
  idct::transpose(v);  // four columns in the low half of each lane
  idct::pass_4<idct::kConstBits + idct::kPassBits + 4>(v, rows);
  const __m256i left = _mm256_unpacklo_epi16(rows[0], rows[1]), right = _mm256_unpacklo_epi16(rows[2], rows[3]);
  const __m256i bytes = idct::as_bytes(_mm256_unpacklo_epi32(left, right), _mm256_unpackhi_epi32(left, right));
  const __m128i halves[2] = {_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)};
  for (int i = 0; i < 2; ++i) {
    alignas(16) uint8_t samples[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(samples), halves[i]);
    for (int y = 0; y < 4; ++y) std::memcpy(pair.out[i] + y * stride, samples + 4 * y, 4);
  }
  return true;
}

// Writes 2 x 2 samples of each block. Returns false for values so large that libjpeg-turbo's arithmetic differs.
PENSTOCK_FAST_JPEG_INLINE bool transform_2(const BlockPair& pair, int64_t stride, const int16_t* steps) {
  using namespace idct;
  const auto row = [&](int i)
                       __attribute__((target("avx2,bmi,bmi2"), always_inline)) { return load_rows(pair, steps, i); };
  const __m256i first = row(0);
  const Wide base = widened<kConstBits + 2>(first);
  const Wide odd = weighted(row(7), row(5), -5906, 6967) + weighted(row(3), row(1), -10426, 29692);
  constexpr int kFirst = kConstBits - kPassBits + 2, kSecond = kConstBits + kPassBits + 5;
  alignas(32) int16_t made[2][16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(made[0]), rounded<kFirst>(base + odd));
  _mm256_store_si256(reinterpret_cast<__m256i*>(made[1]), rounded<kFirst>(base - odd));
  for (int i = 0; i < 2; ++i) {
    for (int y = 0; y < 2; ++y) {
      const int16_t* const of = made[y] + 8 * i;
      for (const int x : {0, 1, 3, 5, 7}) {
        if (std::abs(of[x]) > kLargestInside) return false;
      }
      const int64_t even = static_cast<int64_t>(of[0]) << (kConstBits + 2);
      const int64_t rest = of[7] * -5906 + of[5] * 6967 + of[3] * -10426 + int64_t{of[1]} * 29692;
      uint8_t* const to = pair.out[i] + y * stride;
      to[0] = clamped((even + rest + (1 << (kSecond - 1))) >> kSecond);
      to[1] = clamped((even - rest + (1 << (kSecond - 1))) >> kSecond);
    }
  }
  return true;
}

// The sample of a block that has no value but its mean, also that of every block at 1/8 of the size.
inline uint8_t flat_sample(int mean) { return idct::clamped((mean + 4) >> 3); }

}  // namespace penstock::kernels

#endif
