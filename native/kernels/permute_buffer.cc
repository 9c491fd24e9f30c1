#include "kernels/permute_buffer.h"

#include <algorithm>
#include <bit>

#include "kernels/permute_segments.h"
#include "kernels/random.h"

namespace penstock {

namespace {

// The purposes of the keys mixed with the order's own.
enum : std::uint64_t { kPool, kLanes, kOut, kShift, kHead, kTail };

}  // namespace

Delays::Delays(std::uint64_t buffer) {
  round = std::max<std::uint64_t>(std::bit_floor(buffer / 4), buffer > 5 ? 4 : 2);
  round_bits = std::countr_zero(round);
  const std::uint64_t groups = std::min<std::uint64_t>(round, kGroups), lanes = round / groups;
  group_bits = std::countr_zero(lanes);
  const std::uint64_t memory = buffer + buffer / 2, most = 5 * (buffer / round) + 5 * (buffer % round) / round;
  std::uint64_t room = (memory - round) / lanes;
  std::uint64_t share = std::uint64_t{1} << 32;  // of a round, in units of 2^-32
  while (count < most) {
    share = static_cast<std::uint64_t>(static_cast<unsigned __int128>(share) * (memory - round) / memory);
    const std::uint64_t least = held < buffer;
    const std::uint64_t wanted = std::max((groups * share + (std::uint64_t{1} << 31)) >> 32, least);
    const std::uint64_t some = std::min({wanted, groups - 1, room});
    if (!some) break;
    for (std::uint64_t i = 0; i < some; ++i) ++delay_of_group[i];
    waiting[count] = some * lanes;
    before[++count] = held += some * lanes;
    room -= some;
  }
  while (before[pooled] + 1 < buffer) ++pooled;
}

BufferedOrder::BufferedOrder(std::uint64_t length, const Delays& delays, std::uint64_t key)
    : delays_(delays),
      length_(length),
      out_key_(mix(key, kOut)),
      shift_key_(mix(key, kShift)),
      head_(1 + (mix(key, kHead) & (delays.round - 1))),
      shift_round_{} {
  first_ = std::min(length, delays.before[delays.pooled] + head_);
  if (length < delays.before[delays.pooled] + head_) head_ = length;
  rounds_ = (length - first_) / delays.round;
  tail_ = begin_of(rounds_);
  origin_ = head_ - delays.empty_before(delays.count);
  head_key_ = mix(key, kHead);
  tail_key_ = mix(key, kTail);
  pool_ = Permutation(Direction::kForward, first_, mix(key, kPool));
  lanes_ = Permutation(Direction::kForward, delays.round, mix(key, kLanes));
}

void BufferedOrder::apply(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t start) {
  permute_segments(Direction::kForward, rows, out, count, [&](std::int64_t row) -> Segment {
    const auto position = static_cast<std::uint64_t>(row - start);
    if (position < head_) return {start, head_, head_key_};
    if (position >= tail_) return {start + static_cast<std::int64_t>(tail_), length_ - tail_, tail_key_};
    const auto [number, lane] = place_of(position);
    const std::uint64_t empty = delays_.empty(number), low = position - (lane - empty), full = delays_.round - empty;
    return {start + static_cast<std::int64_t>(low), full, epoch_key(out_key_, number, full, true)};
  });
  for (std::size_t i = 0; i < count; i += kBlock) trace(out + i, std::min(kBlock, count - i), start);
}

// The origin of the elements that leave at these rows, which are in the order of the lanes.
void BufferedOrder::trace(std::int64_t* rows, std::size_t count, std::int64_t start) {
  std::int64_t lanes[kBlock];
  std::uint64_t source[kBlock];  // the round in which the element arrived
  std::uint16_t place[kBlock];
  std::size_t found = 0;
  const std::uint64_t never_put = first_ + (rounds_ << delays_.round_bits);  // in a lane: the last inputs
  for (std::size_t i = 0; i < count; ++i) {
    const auto position = static_cast<std::uint64_t>(rows[i] - start);
    if (position < head_) {
      rows[i] = start + static_cast<std::int64_t>(pool_.at(position));
      continue;
    }
    if (position >= never_put) continue;
    const auto [number, lane] = position < tail_ ? place_of(position) : place_in_tail(position - tail_);
    const std::uint64_t delay = delays_.of(lane);
    if (number < delay) {
      rows[i] = start + static_cast<std::int64_t>(pool_.at(head_ + delays_.before[number] + lane));
      continue;
    }
    lanes[found] = static_cast<std::int64_t>(lane);
    source[found] = number - delay;
    place[found++] = static_cast<std::uint16_t>(i);
  }
  lanes_.apply(lanes, lanes, found, 0);
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint64_t moved = (static_cast<std::uint64_t>(lanes[i]) + shift(source[i])) & (delays_.round - 1);
    rows[place[i]] = start + static_cast<std::int64_t>(first_ + (source[i] << delays_.round_bits) + moved);
  }
}

std::uint64_t BufferedOrder::begin_of(std::uint64_t round) const {
  return head_ + (round << delays_.round_bits) - delays_.empty_before(round);
}

BufferedOrder::Place BufferedOrder::place_of(std::uint64_t position) const {
  const std::uint64_t place = position - origin_;
  std::uint64_t number = place >> delays_.round_bits;
  if (number >= delays_.count) return {number, place & (delays_.round - 1)};
  for (number = (position - head_) >> delays_.round_bits; begin_of(number + 1) <= position;) ++number;
  return {number, position - begin_of(number) + delays_.empty(number)};
}

BufferedOrder::Place BufferedOrder::place_in_tail(std::uint64_t place) const {
  std::uint64_t number = rounds_;
  for (std::uint64_t left; place >= (left = delays_.waiting[number - rounds_] - delays_.empty(number)); ++number)
    place -= left;
  return {number, place + delays_.empty(number)};
}

std::uint64_t BufferedOrder::shift(std::uint64_t round) {
  const std::size_t slot = round % kShiftsKept;
  if (shift_round_[slot] != round + 1) {
    shift_round_[slot] = round + 1;
    shift_[slot] = mix(shift_key_, round);
  }
  return shift_[slot];
}

void permute_within(const std::int64_t* positions, std::int64_t* out, std::size_t count, std::uint64_t length,
                    std::uint64_t window, std::uint64_t key) {
  if (window >= length) return Permutation(Direction::kForward, length, key).apply(positions, out, count, 0);
  if (window <= 1) {
    std::copy(positions, positions + count, out);
    return;
  }
  BufferedOrder(length, Delays(window), key).apply(positions, out, count, 0);
}

void permute_rows_within(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::uint64_t length,
                         std::uint64_t window, std::uint64_t key, bool reshuffle) {
  if (window >= length) return permute_rows(Direction::kForward, rows, out, count, length, key, reshuffle);
  if (window <= 1) {
    std::copy(rows, rows + count, out);
    return;
  }
  const Delays delays(window);
  for (std::size_t low = 0, high; low < count; low = high) {  // the rows of one epoch at a time
    const std::uint64_t epoch = static_cast<std::uint64_t>(rows[low]) / length, start = epoch * length;
    for (high = low + 1; high < count && static_cast<std::uint64_t>(rows[high]) - start < length;) ++high;
    BufferedOrder(length, delays, epoch_key(key, epoch, length, reshuffle))
        .apply(rows + low, out + low, high - low, static_cast<std::int64_t>(start));
  }
}

}  // namespace penstock
