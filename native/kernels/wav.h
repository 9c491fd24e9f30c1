// WAV files (RIFF/WAVE) in memory: where their samples lie, and the samples as float32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// What a sample is stored as, little-endian.
enum class SampleType : int { kU8, kS16, kS24, kS32, kF32, kF64 };

enum class WavStatus : int {
  kOk,
  kElsewhere,  // no WAV, or one of a kind that is left to another decoder (compressed, big-endian, 64-bit)
  kNoFormat,   // the data comes without a format before it
  kNoData,     // there are no samples
  kBadFormat,  // the format contradicts itself, or has no channels or no rate
  kTruncated,  // the file ends inside of a chunk that it needs
};

// Where the samples of a file lie: frame i of `frames` begins `data + i * channels * width` bytes into it.
struct WavLayout {
  SampleType type;
  std::int32_t channels;
  std::int64_t rate;  // frames a second
  std::int64_t frames;
  std::int64_t data;    // bytes
  std::int64_t width;   // bytes of a sample
  std::int64_t stated;  // bytes of samples that the file says it has; where it is truncated
};

// Reads the chunks before the samples. A data chunk of 0xFFFFFFFF bytes, as programs write that do not know the length
// yet, goes on to the end of the file; one that is longer than the file otherwise is truncated.
WavStatus find_samples(const unsigned char* file, std::size_t size, WavLayout* layout) noexcept;

// Samples of `count` frames from `first` on, integers as fractions of their range, [-1, 1): `count * channels` of them,
// or, `mixed`, the mean of the channels of each frame. The frames are those of the layout.
void read_samples(const unsigned char* file, const WavLayout& layout, std::int64_t first, std::int64_t count,
                  bool mixed, float* out) noexcept;

}  // namespace penstock
