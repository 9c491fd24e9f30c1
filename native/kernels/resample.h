// Conversion of sample rates: a polyphase filter with given weights.
#pragma once

#include <cstdint>

namespace penstock {

// A filter from one rate to `up / down` times it: output i has the weights of phase i * down % up, and its middle one
// belongs to input i * down / up. Silence extends beyond the ends.
struct PolyphaseFilter {
  const float* weights;  // (up, taps)
  std::int64_t up, down;
  std::int64_t taps;  // odd
};

// out[0] to out[count - 1] of an input of `frames`.
void resample(const PolyphaseFilter& filter, const float* input, std::int64_t frames, float* out,
              std::int64_t count) noexcept;

}  // namespace penstock
