// Packing: the bins of sequences, and their tokens with segment numbers and positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// The largest room of a bin; the memory of pack_best_fit grows with it.
inline constexpr std::int64_t kMaxCapacity = std::int64_t{1} << 24;

// bins[i] = the first bin in use with room for sequence i, or a new one; -1 for an empty sequence. In the given order;
// returns the number of bins. Lengths are in [0, capacity], capacity in [1, kMaxCapacity], counts below 2^31. Time
// count * log(count), by a tree of the room left.
std::int64_t pack_first_fit(const std::int64_t* lengths, std::size_t count, std::int64_t capacity, std::int64_t* bins);

// The same, the longest sequence first (the first of equal ones), each into the fullest bin with room (the last filled
// of equally full ones): best-fit decreasing. Bins are numbered by their first sequences. Time count + capacity, by
// tables over lengths and over rooms.
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

// Returns the first segment whose bin is not in [0, bins.count), that has no room there, whose length is not positive
// or whose positions leave [0, 2^31); or `count`.
std::size_t first_misfit(const Segment* segments, std::size_t count, const Bins& bins);

// Puts each segment after those before it in its bin. Segments of a bin are numbered from 1, positions count up from
// `position`; the rest of a bin is `pad` (one token), segment 0, position 0. Every segment fits, and none overlaps the
// bins. All arguments must stay in place meanwhile.
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
