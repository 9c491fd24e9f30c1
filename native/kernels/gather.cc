#include "kernels/gather.h"

#include <algorithm>
#include <cstring>

namespace penstock {

namespace {

constexpr std::size_t kAhead = 8;       // rows between a prefetch and its copy
constexpr std::size_t kLine = 64;       // bytes
constexpr std::size_t kMostLines = 16;  // beyond a KiB the processor's own prefetcher has caught on

template <std::size_t kWidth>
void gather_fixed(const char* source, const std::int64_t* rows, std::size_t count, char* out) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 16 < count) __builtin_prefetch(source + static_cast<std::size_t>(rows[i + 16]) * kWidth);
    std::memcpy(out + i * kWidth, source + static_cast<std::size_t>(rows[i]) * kWidth, kWidth);
  }
}

void prefetch_row(const char* row, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += kLine) __builtin_prefetch(row + line);
}

void gather_any(const char* source, std::size_t width, const std::int64_t* rows, std::size_t count, char* out) {
  const std::size_t ahead = std::min(width, kMostLines * kLine);
  const auto row = [&](std::size_t i) { return source + static_cast<std::size_t>(rows[i]) * width; };
  for (std::size_t i = 0; i < std::min(kAhead, count); ++i) prefetch_row(row(i), ahead);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) prefetch_row(row(i + kAhead), ahead);
    std::memcpy(out + i * width, row(i), width);
  }
}

}  // namespace

void gather(const char* source, std::size_t width, const std::int64_t* rows, std::size_t count, char* out) {
  switch (width) {
    case 0:
      return;
    case 1:
      return gather_fixed<1>(source, rows, count, out);
    case 2:
      return gather_fixed<2>(source, rows, count, out);
    case 4:
      return gather_fixed<4>(source, rows, count, out);
    case 8:
      return gather_fixed<8>(source, rows, count, out);
    case 16:
      return gather_fixed<16>(source, rows, count, out);
    default:
      return gather_any(source, width, rows, count, out);
  }
}

}  // namespace penstock
