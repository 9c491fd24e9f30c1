// The order of a shuffle with a buffer, computed index by index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/permute.h"

namespace penstock {

// The delays of the elements of one round in a buffer.
//
// The input is taken in rounds of `round` elements, a power of two, each with that many lanes. The element in lane k
// leaves of(k) rounds after its arrival: a geometric distribution over the lanes, truncated after five buffers. Thus
// `held` elements wait between two rounds, and at most held + round <= 3/2 of the buffer are in memory at a time. When
// the first round begins, only elements that leave after the first `pooled` rounds wait: as many as the buffer holds.
// If all `held` waited, the first elements would move back further, and have more in common in all epochs.
struct Delays {
  static constexpr std::size_t kMostDelays = 40, kGroups = 256;

  explicit Delays(std::uint64_t buffer);  // of at least 2 elements

  std::uint64_t of(std::uint64_t lane) const { return delay_of_group[lane >> group_bits]; }

  // The number of first lanes that are empty after a round, and the sum over all rounds before.
  std::uint64_t empty(std::uint64_t number) const { return pooled <= number && number < count ? waiting[number] : 0; }
  std::uint64_t empty_before(std::uint64_t number) const {
    return before[std::clamp<std::uint64_t>(number, pooled, count)] - before[pooled];
  }

  int round_bits, group_bits;  // a group of lanes has one delay
  std::uint64_t round, held = 0;
  std::size_t count = 0;  // of rounds that the last element waits
  std::size_t pooled = 0;
  std::uint64_t waiting[kMostDelays];          // elements of a round that wait for more than i rounds; decreasing
  std::uint64_t before[kMostDelays + 1] = {};  // sums of the first i of them
  std::uint8_t delay_of_group[kGroups] = {};
};

// One order of [0, length), chosen by a 64-bit key: the output of a buffer of a given size for a stream of that length.
//
// Its outputs are a head of 1 to `round` elements, then rounds, and a tail, each permuted. The first inputs are a pool,
// permuted, from which the head is taken, and then the elements that wait when the first round begins. The inputs of a
// round are spread over its lanes by one order for all rounds, shifted by a number drawn for each. When less than a
// round of input is left, this rest and all waiting elements become the tail. A position costs at most three
// permutations.
class BufferedOrder {
 public:
  BufferedOrder(std::uint64_t length, const Delays& delays, std::uint64_t key);

  // out[i] = start + order(rows[i] - start), rows in [start, start + length); `out` may be `rows`.
  void apply(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t start);

 private:
  void trace(std::int64_t* rows, std::size_t count, std::int64_t start);
  struct Place {
    std::uint64_t round, lane;
  };
  Place place_of(std::uint64_t position) const;    // of an output between head and tail, before its round is permuted
  Place place_in_tail(std::uint64_t place) const;  // the round after which it would leave
  std::uint64_t begin_of(std::uint64_t round) const;  // its first output
  std::uint64_t shift(std::uint64_t round);

  static constexpr std::size_t kShiftsKept = 64;

  const Delays& delays_;
  std::uint64_t length_, out_key_, shift_key_, head_key_, tail_key_;
  std::uint64_t head_, first_, rounds_, tail_;  // `first_`: inputs before the first round; `tail_`: where it begins
  std::uint64_t origin_;  // where the first round would begin if no lane were empty then, modulo 2^64
  Permutation pool_, lanes_;
  std::uint64_t shift_[kShiftsKept], shift_round_[kShiftsKept];  // recent shifts, and their rounds plus one
};

// out[i] = order(positions[i]) of a buffer of `window` elements. One of 1 is the identity, one of `length` or more the
// full permutation by `key`.
void permute_within(const std::int64_t* positions, std::int64_t* out, std::size_t count, std::uint64_t length,
                    std::uint64_t window, std::uint64_t key);

// The same in every epoch, keyed as in permute_rows.
void permute_rows_within(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::uint64_t length,
                         std::uint64_t window, std::uint64_t key, bool reshuffle);

}  // namespace penstock
