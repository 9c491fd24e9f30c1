#include "kernels/gather.h"

#include <algorithm>
#include <cstring>

#include "kernels/streamed.h"

namespace penstock {

namespace {

constexpr std::size_t kAheadBytes = 32 << 10;  // of rows between a prefetch, to the second cache, and its copy
constexpr std::size_t kLeastAhead = 4, kMostAhead = 128;  // rows
constexpr std::size_t kLine = 64;                         // bytes
constexpr std::size_t kMostPrefetched = 1024;             // bytes; beyond, the processor's own prefetcher takes over

template <std::size_t kWidth>
void gather_fixed(const char* source, const std::int64_t* rows, std::size_t count, char* out) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 16 < count) __builtin_prefetch(source + static_cast<std::size_t>(rows[i + 16]) * kWidth);
    std::memcpy(out + i * kWidth, source + static_cast<std::size_t>(rows[i]) * kWidth, kWidth);
  }
}

void gather_any(const char* source, std::size_t width, const std::int64_t* rows, std::size_t count, char* out) {
  const std::size_t ahead = std::clamp(kAheadBytes / width, kLeastAhead, kMostAhead);
  const std::size_t prefetched = std::min(width, kMostPrefetched);
  const auto row = [&](std::size_t i) { return source + static_cast<std::size_t>(rows[i]) * width; };
  const auto prefetch = [&](std::size_t i) {
#pragma GCC unroll 8
    for (std::size_t byte = 0; byte < prefetched; byte += kLine) __builtin_prefetch(row(i) + byte, 0, 2);
    __builtin_prefetch(row(i) + prefetched - 1, 0, 2);  // rows that begin within a line extend into one more
  };
  for (std::size_t i = 0; i < std::min(ahead, count); ++i) prefetch(i);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) prefetch(i + ahead);
    char* to = out + i * width;
    if (i + 1 < count)
#pragma GCC unroll 8
      for (std::size_t byte = 0; byte < prefetched; byte += kLine) __builtin_prefetch(to + width + byte, 1);
    std::memcpy(to, row(i), width);
  }
}

void gather_streamed(const char* source, std::size_t width, const std::int64_t* rows, std::size_t count, char* out) {
  const auto row = [&](std::size_t i) { return source + static_cast<std::size_t>(rows[i]) * width; };
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 1 < count)
      for (std::size_t byte = 0; byte < kMostPrefetched; byte += kLine) __builtin_prefetch(row(i + 1) + byte);
    copy_streamed(out + i * width, row(i), width);
  }
}

}  // namespace

void gather(const char* source, std::size_t width, const std::int64_t* rows, std::size_t count, char* out,
            std::size_t batch_bytes) {
  if (is_streamed(width, std::max(batch_bytes, count * width))) return gather_streamed(source, width, rows, count, out);
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

void gather_several(const char* const* sources, std::size_t width, const std::int64_t* owners, const std::int64_t* rows,
                    const std::int64_t* places, std::size_t count, char* out) {
  if (!width) return;
  const std::size_t ahead = std::clamp(kAheadBytes / width, kLeastAhead, kMostAhead);
  const std::size_t prefetched = std::min(width, kMostPrefetched);
  const auto row = [&](std::size_t i) { return sources[owners[i]] + static_cast<std::size_t>(rows[i]) * width; };
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count)
      for (std::size_t byte = 0; byte < prefetched; byte += kLine) __builtin_prefetch(row(i + ahead) + byte, 0, 2);
    std::memcpy(out + static_cast<std::size_t>(places[i]) * width, row(i), width);
  }
}

}  // namespace penstock
