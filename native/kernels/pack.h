// Packing: which bins sequences share, and their tokens side by side with segment numbers and positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// Largest room of a bin; what pack_best_fit needs in memory grows with it.
inline constexpr std::int64_t kMaxCapacity = std::int64_t{1} << 24;

// bins[i] = the first bin, of those in use, that sequence i still fits into, and a new one if it fits into none; -1 for
// a sequence of no length. In the order given; returns how many bins there are. Lengths are in [0, capacity], capacity
// in [1, kMaxCapacity], counts below 2^31. Time count * log(count), by a tree of the room left.
std::int64_t pack_first_fit(const std::int64_t* lengths, std::size_t count, std::int64_t capacity, std::int64_t* bins);

// The same, the longest sequence first (of equal ones the first given), each into the fullest bin that it fits into (of
// equally full ones that filled last): best-fit decreasing. Bins are numbered by the first sequence that each holds.
// Time count + capacity, by tables over lengths and over rooms.
std::int64_t pack_best_fit(const std::int64_t* lengths, std::size_t count, std::int64_t capacity, std::int64_t* bins);

// Consecutive tokens that become one segment of a bin.
struct Segment {
  const char* tokens;
  std::ptrdiff_t stride;  // bytes from one token to the next
  std::int64_t length;    // tokens
  std::int64_t position;  // of the first token
  std::int64_t bin;
};

// The bins to be filled: three arrays of shape (count, capacity).
struct Bins {
  char* tokens;
  std::int32_t* segment_ids;
  std::int32_t* positions;
  std::size_t count, capacity;
  std::size_t width;  // bytes of a token
};

// First segment whose bin is not in [0, bins.count), that finds no room left there, whose length is not positive or
// whose positions leave [0, 2^31); or `count`.
std::size_t first_misfit(const Segment* segments, std::size_t count, const Bins& bins);

// Puts each segment after those before it in its bin. Segments of a bin are numbered from 1, positions count up from
// `position`; what is left of a bin is `pad` (one token), segment 0, position 0. Every segment fits, and none overlaps
// the bins. All that is given stays where it is meanwhile.
class BinFilling {
 public:
  BinFilling(const Segment* segments, std::size_t count, const char* pad, const Bins& bins);

  // Fills bins `first` to `last`: others may be filled at the same time.
  void fill(std::size_t first, std::size_t last) const;

 private:
  void fill(std::size_t bin) const;

  const Segment* segments_;
  const char* pad_;
  Bins bins_;
  std::vector<std::uint32_t> begins_, order_;  // the segments of bin b: order_[begins_[b]] to order_[begins_[b + 1]]
};

}  // namespace penstock
