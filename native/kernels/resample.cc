#include "kernels/resample.h"

#include <algorithm>

namespace penstock {

namespace {

constexpr std::int64_t kLanes = 8;

// The sum of products, as eight parallel sums.
float dot(const float* a, const float* b, std::int64_t count) noexcept {
  float sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const float lane : sums) sum += lane;
  return sum;
}

}  // namespace

void resample(const PolyphaseFilter& filter, const float* input, std::int64_t frames, float* out,
              std::int64_t count) noexcept {
  const std::int64_t middle = filter.taps / 2, whole = filter.down / filter.up, part = filter.down % filter.up;
  std::int64_t base = 0, phase = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = base - middle;
    const std::int64_t low = std::max<std::int64_t>(first, 0), high = std::min(first + filter.taps, frames);
    out[i] = low < high ? dot(filter.weights + phase * filter.taps + (low - first), input + low, high - low) : 0.0f;
    base += whole;
    phase += part;
    if (phase >= filter.up) {
      phase -= filter.up;
      ++base;
    }
  }
}

}  // namespace penstock
