// The usual form of a feature's entry in the wire format, with short lengths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/example.h"
#include "kernels/wire.h"

namespace penstock {

// The bytes of an entry before its values in the usual form: a name and one packed list, with one byte for each length.
// All these bytes are known in advance except the lengths, which follow from that of the values, the last. One
// comparison of a few words thus finds the feature, its kind and its values, without a step for each nested message.
class EntryShape {
 public:
  EntryShape() = default;
  // A name too long for a length of one byte has no shape, and matches nothing.
  EntryShape(Bytes name, FeatureKind kind) {
    if (name.size() > kLongestName) return;
    std::array<std::uint8_t, kLongest> fixed{}, growing{};
    std::size_t at = 0;
    const auto put = [&](std::size_t byte) { fixed[at++] = static_cast<std::uint8_t>(byte); };
    const auto put_length = [&](std::size_t without_values) { growing[at] = 1, put(without_values); };
    size_ = static_cast<std::ptrdiff_t>(name.size() + kAround);
    put(0x0a), put_length(name.size() + kAround - 2);
    put(0x0a), put(name.size());
    for (const std::uint8_t* letter = name.begin; letter != name.end; ++letter) put(*letter);
    put(0x12), put_length(4);
    put(static_cast<std::size_t>(kind) << 3 | 2), put_length(2);
    put(0x0a), put_length(0);
    first_ = word(fixed.data()), first_growing_ = word(growing.data());
    last_ = word(fixed.data() + size_ - 8), last_growing_ = word(growing.data() + size_ - 8);
    for (std::ptrdiff_t i = 8; i < size_ - 8; i += 8) between_[i / 8 - 1] = word(fixed.data() + i);
  }

  // Returns the values of the entry at `at`, if it has this shape and ends by `end`; otherwise `begin` is null.
  Bytes values(const std::uint8_t* at, const std::uint8_t* end) const {
    if (end - at < size_) return {nullptr, nullptr};
    const std::uint64_t size = at[size_ - 1];  // below 0x80, else a length carries over and is refused below
    std::uint64_t differing = word(at) ^ (first_ + first_growing_ * size);
    differing |= word(at + size_ - 8) ^ (last_ + last_growing_ * size);
    for (std::ptrdiff_t i = 8; i < size_ - 8; i += 8) differing |= word(at + i) ^ between_[i / 8 - 1];
    const std::ptrdiff_t whole = size_ + static_cast<std::ptrdiff_t>(size);
    if (differing || whole - 2 >= 0x80 || whole > end - at) return {nullptr, nullptr};
    return {at + size_, at + whole};
  }

 private:
  static constexpr std::size_t kAround = 10;  // tags and lengths
  static constexpr std::size_t kLongestName = 46;
  static constexpr std::size_t kLongest = kAround + kLongestName;

  static std::uint64_t word(const std::uint8_t* at) {
    std::uint64_t found;
    std::memcpy(&found, at, sizeof found);
    return found;
  }

  std::ptrdiff_t size_ = std::numeric_limits<std::ptrdiff_t>::max();
  std::uint64_t first_ = 0, last_ = 0;  // the first and the last eight bytes without values
  std::uint64_t first_growing_ = 0,
                last_growing_ = 0;                // 1 in each of them that is a length which grows with the values
  std::uint64_t between_[kLongest / 8 - 1] = {};  // letters
};

}  // namespace penstock
