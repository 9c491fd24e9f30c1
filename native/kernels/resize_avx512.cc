// The passes of resize.h on AVX-512 with VBMI, whose byte permutation feeds sixteen values from one load.
#include "kernels/resize.h"

#if defined(__x86_64__) && defined(__GNUC__)

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in GCC's own header
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define PENSTOCK_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2")))

namespace penstock::kernels {
namespace {

constexpr int64_t kWindow = 64;

// A vector makes values 16 v .. 16 v + 15 (r, g, b of pixel after pixel) out of 64 bytes of the row.
// Layout: begins (vectors,), shuffles (vectors, 64), weights (vectors, count / 2, 32).
bool prepare_windows(Taps& taps) {
  const int64_t values = 3 * static_cast<int64_t>(taps.first.size());
  const int64_t vectors = (values + 15) / 16, pairs = taps.count / 2;
  taps.window_begins.assign(vectors, 0);
  taps.window_shuffles.assign(vectors * kWindow, 0);
  taps.window_weights.assign(vectors * pairs * 32, 0);
  for (int64_t vector = 0; vector < vectors; ++vector) {
    const int64_t last = std::min(16 * vector + 15, values - 1);
    const int64_t begin = std::min(taps.first[16 * vector / 3], taps.first[last / 3]);
    taps.window_begins[vector] = static_cast<int32_t>(3 * (begin - taps.low));
    for (int64_t value = 16 * vector; value <= last; ++value) {
      const int64_t pixel = value / 3, at = value % 16;
      const int64_t byte = 3 * (taps.first[pixel] - begin) + value % 3;
      if (byte + 3 >= kWindow) return false;
      taps.window_shuffles[kWindow * vector + 4 * at] = static_cast<uint8_t>(byte);
      taps.window_shuffles[kWindow * vector + 4 * at + 2] = static_cast<uint8_t>(byte + 3);
      for (int64_t pair = 0; pair < pairs; ++pair) {
        std::memcpy(&taps.window_weights[(vector * pairs + pair) * 32 + 2 * at],
                    &taps.weights[pixel * taps.count + 2 * pair], 2 * sizeof(int16_t));
      }
    }
  }
  return true;
}

void prepare(int64_t channels, Taps& taps) {
  if (channels == 3 && prepare_windows(taps)) {
    taps.window = kWindow;
  } else {
    avx2_resize()->prepare(channels, taps);
  }
}

template <int kPairs>
PENSTOCK_AVX512 void horizontal_windows(const uint8_t* row, const Taps& taps, int16_t* out) {
  const int64_t vectors = static_cast<int64_t>(taps.window_begins.size());
  const int64_t pairs = kPairs > 0 ? kPairs : taps.count / 2;
  const int32_t* begins = taps.window_begins.data();
  const uint8_t* shuffles = taps.window_shuffles.data();
  const int16_t* weights = taps.window_weights.data();
  const __m256i zero = _mm256_setzero_si256(), most = _mm256_set1_epi16(255 << 7);
  for (int64_t vector = 0; vector < vectors; ++vector) {
    const __m512i shuffle = _mm512_loadu_si512(shuffles + kWindow * vector);
    __m512i sum = _mm512_set1_epi32(1 << 6);
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const __m512i bytes = _mm512_loadu_si512(row + begins[vector] + 6 * pair);
      const __m512i spread = _mm512_maskz_permutexvar_epi8(0x5555555555555555u, shuffle, bytes);
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(spread, _mm512_loadu_si512(weights)));
      weights += 32;
    }
    const __m256i values = _mm512_cvtsepi32_epi16(_mm512_srai_epi32(sum, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 16 * vector),
                        _mm256_min_epi16(_mm256_max_epi16(values, zero), most));
  }
}

void horizontal(const uint8_t* row, int64_t origin, const Taps& taps, int64_t channels, int16_t* out) {
  if (channels != 3 || taps.window != kWindow) return avx2_resize()->horizontal(row, origin, taps, channels, out);
  row += 3 * (taps.low - origin);
  if (taps.count == 2) return horizontal_windows<1>(row, taps, out);
  if (taps.count == 4) return horizontal_windows<2>(row, taps, out);
  horizontal_windows<0>(row, taps, out);
}

}  // namespace

const ResizePasses* avx512_resize() {
  static const bool available = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
                                avx2_resize() != nullptr;
  static const ResizePasses passes{prepare, horizontal, available ? avx2_resize()->vertical : nullptr};
  return available ? &passes : nullptr;
}

}  // namespace penstock::kernels

#else

namespace penstock::kernels {

const ResizePasses* avx512_resize() { return nullptr; }

}  // namespace penstock::kernels

#endif
