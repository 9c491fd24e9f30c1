// Rows permuted within segments, each by an order of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/permute.h"
#include "kernels/permute_pass.h"

namespace penstock {

inline constexpr std::size_t kBlock = 256;    // rows of one vectorized pass
inline constexpr std::size_t kShortRun = 12;  // below, row by row is faster than a pass

// A range of rows that one order permutes.
struct Segment {
  std::int64_t start;
  std::uint64_t size;
  std::uint64_t key;
};

inline bool holds(const Segment& segment, std::int64_t row) {
  return static_cast<std::uint64_t>(row) - static_cast<std::uint64_t>(segment.start) < segment.size;
}

// Permutes up to kBlock rows, each within the segment `locate(row)`: segment by segment while many rows share one.
template <class Locate>
void permute_mixed(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                   const Locate& locate) {
  std::int64_t value[kBlock], shared[kBlock];
  std::uint16_t place[kBlock], shared_place[kBlock];  // places of the values in the block
  for (std::size_t i = 0; i < count; ++i) place[i] = static_cast<std::uint16_t>(i);
  std::copy(rows, rows + count, value);
  bool crowded = true;
  while (count && crowded) {
    const Segment segment = locate(value[0]);
    std::size_t taken = 0, left = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t row = value[i];
      const std::uint16_t where = place[i];
      const bool mine = holds(segment, row);
      shared[taken] = value[left] = row;
      shared_place[taken] = place[left] = where;
      taken += mine;
      left += !mine;
    }
    Permutation(direction, segment.size, segment.key).apply(shared, shared, taken, segment.start);
    for (std::size_t i = 0; i < taken; ++i) out[shared_place[i]] = shared[i];
    count = left;
    crowded = taken > kShortRun;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Segment segment = locate(value[i]);
    Permutation(direction, segment.size, segment.key).apply(value + i, out + place[i], 1, segment.start);
  }
}

// Permutes every row within the segment `locate(row)`: long runs in one segment at once.
template <class Locate>
void permute_segments(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                      const Locate& locate) {
  for (std::size_t low = 0, high; low < count; low = high) {
    const Segment segment = locate(rows[low]);
    for (high = low + 1; high < count && holds(segment, rows[high]);) ++high;
    if (high - low > kShortRun || high == count) {
      Permutation(direction, segment.size, segment.key).apply(rows + low, out + low, high - low, segment.start);
    } else {
      high = std::min(low + kBlock, count);
      permute_mixed(direction, rows + low, out + low, high - low, locate);
    }
  }
}

}  // namespace penstock
