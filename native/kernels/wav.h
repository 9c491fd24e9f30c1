// WAV files (RIFF/WAVE) in memory: the place of their samples, and the samples as float32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// The storage type of a sample, little-endian.
enum class SampleType : int { kU8, kS16, kS24, kS32, kF32, kF64 };

enum class WavStatus : int {
  kOk,
  kElsewhere,  // not WAV, or left to another decoder (compressed, big-endian, 64-bit)
  kNoFormat,   // the data has no format before it
  kNoData,     // there are no samples
  kBadFormat,  // the format contradicts itself, or has no channels or no rate
  kTruncated,  // the file ends inside a necessary chunk
};

// The place of a file's samples: frame i of `frames` begins at byte `data + i * channels * width`.
struct WavLayout {
  SampleType type;
  std::int32_t channels;
  std::int64_t rate;  // frames per second
  std::int64_t frames;
  std::int64_t data;    // bytes
  std::int64_t width;   // bytes of a sample
  std::int64_t stated;  // bytes of samples by the header, if truncated
};

// Reads the chunks before the samples. A data chunk of 0xFFFFFFFF bytes, written by programs that do not know the
// length yet, extends to the end of the file; any other chunk longer than the file is truncated.
WavStatus find_samples(const unsigned char* file, std::size_t size, WavLayout* layout) noexcept;

// Samples of `count` frames from `first` on, integers as fractions of their range, [-1, 1): `count * channels` of them,
// or, `mixed`, the mean of the channels of each frame. The frames are those of the layout.
void read_samples(const unsigned char* file, const WavLayout& layout, std::int64_t first, std::int64_t count,
                  bool mixed, float* out) noexcept;

}  // namespace penstock
