// The passes of resize.h on AVX2, for one or three channels; the same integers as the portable ones.
#include "kernels/resize.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#define PENSTOCK_AVX2 __attribute__((target("avx2")))
#define PENSTOCK_AVX2_INLINE inline __attribute__((target("avx2"), always_inline))

namespace penstock::kernels {
namespace {

constexpr int32_t kHorizontalStart = (1 << 6) - (128 << 14), kVerticalStart = (1 << 20) + (128 << 21);

PENSTOCK_AVX2 inline __m128i weight_pair(const int16_t* weights) {
  int32_t pair;
  std::memcpy(&pair, weights, sizeof pair);
  return _mm_set1_epi32(pair);
}

PENSTOCK_AVX2 inline __m256i two_lanes(const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}

// The 32-bit sums of one output pixel: r, g, b and junk.
template <int kTaps>
PENSTOCK_AVX2 inline __m128i rgb_sum(const uint8_t* pixels, const int16_t* weights, int64_t count) {
  const __m128i interleave = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  __m128i sum = _mm_set1_epi32(kHorizontalStart);
  const int64_t taps = kTaps > 0 ? kTaps : count;
  for (int64_t k = 0; k < taps; k += 2) {
    const __m128i pair = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixels + 3 * k));  // 6 bytes and 2 of slack
    sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_shuffle_epi8(pair, interleave), weight_pair(weights + k)));
  }
  return _mm_srai_epi32(sum, 7);
}

template <int kTaps>
PENSTOCK_AVX2 void horizontal_rgb(const uint8_t* row, int64_t origin, const Taps& taps, int16_t* out) {
  const int64_t outputs = static_cast<int64_t>(taps.first.size());
  const int32_t* first = taps.first.data();
  const int16_t* weights = taps.weights.data();
  const int64_t count = kTaps > 0 ? kTaps : taps.count;
  int64_t i = 0;
  for (; i + 2 <= outputs; i += 2) {
    const __m128i a = rgb_sum<kTaps>(row + 3 * (first[i] - origin), weights, count);
    const __m128i b = rgb_sum<kTaps>(row + 3 * (first[i + 1] - origin), weights + count, count);
    const __m128i both = _mm_packs_epi32(a, b);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 3 * i), both);  // the junk is overwritten by the next pixel
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 3 * i + 3), _mm_unpackhi_epi64(both, both));
    weights += 2 * count;
  }
  if (i < outputs) {
    const __m128i a = rgb_sum<kTaps>(row + 3 * (first[i] - origin), weights, count);
    const __m128i one = _mm_packs_epi32(a, a);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 3 * i), one);
  }
}

// Values are r, g, b of pixel after pixel; lane l makes values 4 l .. 4 l + 3, which belong to two pixels at most.
// Layout: begins (halves, 2), shuffles (halves, 2, 16), weights (halves, count / 2, 2, 8).
void prepare(int64_t channels, Taps& taps) {
  taps.window = 0;
  if (channels != 3) return;
  const int64_t outputs = static_cast<int64_t>(taps.first.size()), values = 3 * outputs;
  const int64_t lanes = (values + 15) / 16 * 4, pairs = taps.count / 2;
  for (int64_t i = 0; i + 1 < outputs; ++i) {
    if (std::abs(taps.first[i + 1] - taps.first[i]) > 3) return;  // 16 bytes hold five pixels, and a tap needs its next
  }
  taps.window = 16;
  taps.window_begins.assign(lanes, 0);
  taps.window_shuffles.assign(lanes * 16, 0x80);
  taps.window_weights.assign(lanes * pairs * 8, 0);
  for (int64_t lane = 0; lane * 4 < values; ++lane) {
    const int64_t half = lane / 4 * 2 + lane % 2, side = lane % 4 / 2;  // lanes 0 and 2, then 1 and 3, share a vector
    const int64_t some = 4 * lane / 3, other = std::min(4 * lane + 3, values - 1) / 3;
    const int64_t begin = std::min(taps.first[some], taps.first[other]);
    taps.window_begins[2 * half + side] = static_cast<int32_t>(3 * (begin - taps.low));
    for (int64_t value = 4 * lane; value < std::min(4 * lane + 4, values); ++value) {
      const int64_t pixel = value / 3, at = value % 4;
      const int64_t byte = 3 * (taps.first[pixel] - begin) + value % 3;
      uint8_t* shuffle = &taps.window_shuffles[(2 * half + side) * 16 + 4 * at];
      shuffle[0] = static_cast<uint8_t>(byte);
      shuffle[2] = static_cast<uint8_t>(byte + 3);
      for (int64_t pair = 0; pair < pairs; ++pair) {
        std::memcpy(&taps.window_weights[((half * pairs + pair) * 2 + side) * 8 + 2 * at],
                    &taps.weights[pixel * taps.count + 2 * pair], 2 * sizeof(int16_t));
      }
    }
  }
}

// The 32-bit sums of the two lanes of one half.
template <int kPairs>
PENSTOCK_AVX2 inline __m256i lane_sums(const uint8_t* row, const int32_t* begins, const uint8_t* shuffles,
                                       const int16_t* weights, int64_t count) {
  const int64_t pairs = kPairs > 0 ? kPairs : count;
  const uint8_t *const low = row + begins[0], *const high = row + begins[1];
  const __m256i shuffle = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(shuffles));
  __m256i sum = _mm256_set1_epi32(kHorizontalStart);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const __m256i bytes = _mm256_shuffle_epi8(two_lanes(low + 6 * pair, high + 6 * pair), shuffle);
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + 16 * pair));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(bytes, both));
  }
  return _mm256_srai_epi32(sum, 7);
}

template <int kPairs>
PENSTOCK_AVX2 void horizontal_lanes(const uint8_t* row, const Taps& taps, int16_t* out) {
  const int64_t pairs = kPairs > 0 ? kPairs : taps.count / 2;
  const uint8_t* shuffles = taps.window_shuffles.data();
  const int16_t* weights = taps.window_weights.data();
  const int32_t *begins = taps.window_begins.data(), *const end = begins + taps.window_begins.size();
  for (; begins < end; begins += 4, shuffles += 64, weights += 32 * pairs, out += 16) {
    const __m256i even = lane_sums<kPairs>(row, begins, shuffles, weights, pairs);
    const __m256i odd = lane_sums<kPairs>(row, begins + 2, shuffles + 32, weights + 16 * pairs, pairs);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_packs_epi32(even, odd));
  }
}

PENSTOCK_AVX2 void horizontal(const uint8_t* row, int64_t origin, const Taps& taps, int64_t channels, int16_t* out) {
  if (channels != 3) return portable_resize().horizontal(row, origin, taps, channels, out);
  if (taps.window == 16) {
    row += 3 * (taps.low - origin);
    if (taps.count == 2) return horizontal_lanes<1>(row, taps, out);
    if (taps.count == 4) return horizontal_lanes<2>(row, taps, out);
    return horizontal_lanes<0>(row, taps, out);
  }
  if (taps.count == 2) return horizontal_rgb<2>(row, origin, taps, out);
  horizontal_rgb<0>(row, origin, taps, out);
}

// 16 values of one output row, as int16.
template <int kTaps>
PENSTOCK_AVX2 inline __m256i vertical_sum(const int16_t* const* rows, const int16_t* weights, int64_t count,
                                          int64_t x) {
  __m256i low = _mm256_set1_epi32(kVerticalStart), high = low;
  const int64_t taps = kTaps > 0 ? kTaps : count;
  for (int64_t k = 0; k < taps; k += 2) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[k] + x));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[k + 1] + x));
    const __m256i pair = _mm256_broadcastd_epi32(weight_pair(weights + k));
    low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pair));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pair));
  }
  return _mm256_packs_epi32(_mm256_srai_epi32(low, 21), _mm256_srai_epi32(high, 21));
}

// Stores what `sum` gives for 16 values each, as bytes.
template <typename Sum>
PENSTOCK_AVX2_INLINE void store_bytes(int64_t length, uint8_t* out, Sum sum) {
  for (int64_t x = 0; x < length; x += 32) {
    const __m256i a = sum(x), b = sum(x + 16);
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8);
    if (length - x >= 32) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), bytes);
    } else {
      alignas(32) uint8_t tail[32];
      _mm256_store_si256(reinterpret_cast<__m256i*>(tail), bytes);
      std::memcpy(out + x, tail, static_cast<size_t>(length - x));
    }
  }
}

template <int kTaps>
PENSTOCK_AVX2 void vertical_row(const int16_t* const* rows, const int16_t* weights, int64_t count, int64_t length,
                                uint8_t* out) {
  store_bytes(length, out, [&](int64_t x) __attribute__((target("avx2"), always_inline)) {
    return vertical_sum<kTaps>(rows, weights, count, x);
  });
}

PENSTOCK_AVX2 void vertical(const int16_t* const* rows, const int16_t* weights, int64_t count, int64_t length,
                            uint8_t* out) {
  if (count == 2) return vertical_row<2>(rows, weights, count, length, out);
  if (count == 4) return vertical_row<4>(rows, weights, count, length, out);
  vertical_row<0>(rows, weights, count, length, out);
}

// The sum is near << 14 plus (far - near) * weight. Of the product, the 16 bits from bit 14 on are enough, because
// rounding down twice is rounding down once; they are the upper half of the product with weight * 4, which fits 16 bits
// if it is negative and the weight is that of the farther row, at most 2^13.
PENSTOCK_AVX2 void between(const int16_t* first, const int16_t* second, int weight, int64_t length, uint8_t* out) {
  const bool is_second = weight <= 1 << 13;
  const int16_t *const near = is_second ? first : second, *const far = is_second ? second : first;
  const __m256i minus_4 = _mm256_set1_epi16(static_cast<int16_t>(-4 * (is_second ? weight : (1 << 14) - weight)));
  const __m256i start = _mm256_set1_epi16(kVerticalStart >> 14);
  store_bytes(length, out, [&](int64_t x) __attribute__((target("avx2"), always_inline)) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(near + x));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(far + x));
    const __m256i change = _mm256_mulhi_epi16(_mm256_sub_epi16(a, b), minus_4);
    return _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(a, start), change), 7);
  });
}

}  // namespace

const ResizePasses* avx2_resize() {
  static constexpr ResizePasses passes{prepare, horizontal, vertical, between};
  static const bool available = __builtin_cpu_supports("avx2");
  return available ? &passes : nullptr;
}

}  // namespace penstock::kernels

#else

namespace penstock::kernels {

const ResizePasses* avx2_resize() { return nullptr; }

}  // namespace penstock::kernels

#endif
