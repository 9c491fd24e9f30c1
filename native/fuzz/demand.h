// What fuzz targets have in common: what they demand, and numbers that the input chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace penstock::fuzz {

inline void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Numbers from the input, byte by byte; zeros when it is used up.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ == size_; }
  std::int64_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  std::int64_t below(std::int64_t count) { return (byte() << 8 | byte()) % count; }
  // Mostly small, now and then anything.
  std::int64_t number() {
    const std::int64_t small = byte();
    if (small < 250) return small % 70;
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | static_cast<std::uint64_t>(byte());
    return static_cast<std::int64_t>(word);
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

}  // namespace penstock::fuzz
