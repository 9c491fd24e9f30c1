#include "kernels/wav.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace penstock {

namespace {

constexpr std::int64_t kChunkHead = 8;
constexpr std::uint32_t kUnknownLength = 0xFFFFFFFFu;
constexpr std::uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
constexpr std::int32_t kMostChannels = 1024;
// The end of format identifiers that contain a 16-bit tag.
constexpr unsigned char kTagged[] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                     0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71};

template <class Word>
Word load(const unsigned char* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

bool is_called(const unsigned char* at, const char* name) noexcept { return !std::memcmp(at, name, 4); }

// Reads the format chunk: `size` bytes at `at`.
WavStatus read_format(const unsigned char* at, std::int64_t size, WavLayout* layout) noexcept {
  if (size < 16) return WavStatus::kBadFormat;
  std::uint16_t tag = load<std::uint16_t>(at);
  const std::int32_t channels = load<std::uint16_t>(at + 2), block = load<std::uint16_t>(at + 12);
  const std::int32_t bits = load<std::uint16_t>(at + 14);
  if (tag == kExtensible) {
    if (size < 40) return WavStatus::kBadFormat;
    if (std::memcmp(at + 26, kTagged, sizeof kTagged)) return WavStatus::kElsewhere;
    tag = load<std::uint16_t>(at + 24);
  }
  if (tag != kPcm && tag != kFloat) return WavStatus::kElsewhere;
  layout->channels = channels;
  layout->rate = load<std::uint32_t>(at + 4);
  if (channels < 1 || channels > kMostChannels || layout->rate < 1 || block % channels) return WavStatus::kBadFormat;
  layout->width = block / channels;
  if (bits < 1 || layout->width != (bits + 7) / 8) return WavStatus::kBadFormat;
  if (tag == kFloat) {
    if (layout->width != 4 && layout->width != 8) return WavStatus::kBadFormat;
    layout->type = layout->width == 4 ? SampleType::kF32 : SampleType::kF64;
    return WavStatus::kOk;
  }
  static constexpr SampleType kByWidth[] = {SampleType::kU8, SampleType::kS16, SampleType::kS24, SampleType::kS32};
  if (layout->width > 4) return WavStatus::kBadFormat;
  layout->type = kByWidth[layout->width - 1];
  return WavStatus::kOk;
}

template <SampleType kType>
struct Sample;

template <>
struct Sample<SampleType::kU8> {
  static constexpr std::int64_t kWidth = 1;
  static float at(const unsigned char* p) noexcept { return static_cast<float>(*p - 128) * (1.0f / 128); }
};

template <>
struct Sample<SampleType::kS16> {
  static constexpr std::int64_t kWidth = 2;
  static float at(const unsigned char* p) noexcept { return load<std::int16_t>(p) * (1.0f / 32768); }
};

template <>
struct Sample<SampleType::kS24> {
  static constexpr std::int64_t kWidth = 3;
  static float at(const unsigned char* p) noexcept {
    const std::uint32_t high = static_cast<std::uint32_t>(p[2]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
                               static_cast<std::uint32_t>(p[0]) << 8;
    return static_cast<float>(static_cast<std::int32_t>(high) >> 8) * (1.0f / 8388608);
  }
};

template <>
struct Sample<SampleType::kS32> {
  static constexpr std::int64_t kWidth = 4;
  static float at(const unsigned char* p) noexcept {
    return static_cast<float>(load<std::int32_t>(p)) * (1.0f / 2147483648.0f);
  }
};

template <>
struct Sample<SampleType::kF32> {
  static constexpr std::int64_t kWidth = 4;
  static float at(const unsigned char* p) noexcept { return load<float>(p); }
};

template <>
struct Sample<SampleType::kF64> {
  static constexpr std::int64_t kWidth = 8;
  static float at(const unsigned char* p) noexcept {
    const double value = load<double>(p);
    constexpr double kMost = 3.4028234663852886e38;  // conversion of numbers beyond, except infinity, is undefined
    if (std::isinf(value)) return static_cast<float>(value);
    return static_cast<float>(value > kMost ? kMost : value < -kMost ? -kMost : value);
  }
};

template <SampleType kType>
void convert(const unsigned char* from, std::int64_t count, std::int32_t channels, bool mixed, float* out) noexcept {
  using Of = Sample<kType>;
  if (!mixed || channels == 1) {
    for (std::int64_t i = 0; i < count * channels; ++i) out[i] = Of::at(from + i * Of::kWidth);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel, from += Of::kWidth) sum += Of::at(from);
    out[i] = static_cast<float>(sum / channels);
  }
}

}  // namespace

WavStatus find_samples(const unsigned char* file, std::size_t file_size, WavLayout* layout) noexcept {
  const auto size = static_cast<std::int64_t>(file_size);
  if (size < 12 || !is_called(file, "RIFF") || !is_called(file + 8, "WAVE")) return WavStatus::kElsewhere;
  bool has_format = false;
  for (std::int64_t at = 12; size - at >= kChunkHead;) {
    const unsigned char* const chunk = file + at;
    const std::uint32_t stated = load<std::uint32_t>(chunk + 4);
    const std::int64_t left = size - at - kChunkHead;
    if (is_called(chunk, "data")) {
      if (!has_format) return WavStatus::kNoFormat;
      const std::int64_t length = stated == kUnknownLength ? left : stated;
      layout->data = at + kChunkHead;
      layout->stated = length;
      layout->frames = std::min(length, left) / (layout->width * layout->channels);
      return length > left ? WavStatus::kTruncated : WavStatus::kOk;
    }
    if (is_called(chunk, "fmt ")) {
      if (stated > left) return WavStatus::kBadFormat;
      const WavStatus status = read_format(chunk + kChunkHead, stated, layout);
      if (status != WavStatus::kOk) return status;
      has_format = true;
    }
    at += kChunkHead + static_cast<std::int64_t>(stated) + (stated & 1);  // chunks begin at even bytes
  }
  return has_format ? WavStatus::kNoData : WavStatus::kNoFormat;
}

void read_samples(const unsigned char* file, const WavLayout& layout, std::int64_t first, std::int64_t count,
                  bool mixed, float* out) noexcept {
  const unsigned char* const from = file + layout.data + first * layout.channels * layout.width;
  switch (layout.type) {
    case SampleType::kU8:
      return convert<SampleType::kU8>(from, count, layout.channels, mixed, out);
    case SampleType::kS16:
      return convert<SampleType::kS16>(from, count, layout.channels, mixed, out);
    case SampleType::kS24:
      return convert<SampleType::kS24>(from, count, layout.channels, mixed, out);
    case SampleType::kS32:
      return convert<SampleType::kS32>(from, count, layout.channels, mixed, out);
    case SampleType::kF32:
      return convert<SampleType::kF32>(from, count, layout.channels, mixed, out);
    case SampleType::kF64:
      return convert<SampleType::kF64>(from, count, layout.channels, mixed, out);
  }
}

}  // namespace penstock
