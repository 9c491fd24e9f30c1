// Another sample rate: a polyphase filter, whose weights are given.
#pragma once

#include <cstdint>

namespace penstock {

// A filter from one rate to `up / down` times it: of output i, phase i * down % up has the weights, and its middle one
// is that of input i * down / up. Beyond the ends there is silence.
struct PolyphaseFilter {
  const float* weights;  // (up, taps)
  std::int64_t up, down;
  std::int64_t taps;  // odd
};

// out[0] to out[count - 1] of an input of `frames`.
void resample(const PolyphaseFilter& filter, const float* input, std::int64_t frames, float* out,
              std::int64_t count) noexcept;

}  // namespace penstock
