#include "kernels/pack.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace penstock {

namespace {

// The room left in each of `count` bins, under a tree of maxima: heap order, the leaves last.
class Rooms {
 public:
  Rooms(std::size_t count, std::int64_t capacity) : leaves_(std::bit_ceil(count)), most_(2 * leaves_, capacity) {}

  // Takes `length` from the first bin with that much room, and returns the bin.
  std::size_t take(std::int64_t length) {
    std::size_t at = 1;
    while (at < leaves_) at = 2 * at + (most_[2 * at] < length);
    most_[at] -= length;
    const std::size_t bin = at - leaves_;
    while (at /= 2) most_[at] = std::max(most_[2 * at], most_[2 * at + 1]);
    return bin;
  }

 private:
  std::size_t leaves_;
  std::vector<std::int64_t> most_;
};

// A set of numbers in [0, limit): a bit for each, and for each 64 bits one bit for whether any is set.
class Numbers {
 public:
  explicit Numbers(std::size_t limit) {
    do levels_.emplace_back(limit = (limit + 63) / 64);
    while (limit > 1);
  }

  void insert(std::size_t number) {
    for (auto& level : levels_) {
      level[number / 64] |= bit(number);
      number /= 64;
    }
  }

  void erase(std::size_t number) {
    for (auto& level : levels_) {
      if (level[number / 64] &= ~bit(number)) return;
      number /= 64;
    }
  }

  // Returns the smallest element that is at least `number`, or -1.
  std::ptrdiff_t at_least(std::size_t number) const {
    std::size_t level = 0;
    while (true) {
      if (level == levels_.size() || number / 64 == levels_[level].size()) return -1;
      const std::uint64_t beyond = levels_[level][number / 64] >> number % 64;
      if (beyond) {
        number += static_cast<std::size_t>(std::countr_zero(beyond));
        break;
      }
      number = number / 64 + 1;
      ++level;
    }
    while (level--) number = number * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][number]));
    return static_cast<std::ptrdiff_t>(number);
  }

 private:
  static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << number % 64; }
  std::vector<std::vector<std::uint64_t>> levels_;
};

// Bins by remaining room; of equal ones, the last added comes first.
class Shelves {
 public:
  Shelves(std::size_t count, std::int64_t capacity)
      : rooms_(static_cast<std::size_t>(capacity) + 1),
        top_(static_cast<std::size_t>(capacity) + 1, -1),
        below_(count) {}

  void put(std::int32_t bin, std::size_t room) {
    if (top_[room] < 0) rooms_.insert(room);
    below_[static_cast<std::size_t>(bin)] = top_[room];
    top_[room] = bin;
  }

  // Takes the bin with the least room of at least `length`, and sets `room`; returns -1 if there is none.
  std::int32_t take(std::size_t length, std::size_t& room) {
    const std::ptrdiff_t least = rooms_.at_least(length);
    if (least < 0) return -1;
    room = static_cast<std::size_t>(least);
    const std::int32_t bin = top_[room];
    top_[room] = below_[static_cast<std::size_t>(bin)];
    if (top_[room] < 0) rooms_.erase(room);
    return bin;
  }

 private:
  Numbers rooms_;
  std::vector<std::int32_t> top_, below_;
};

// The nonempty sequences, the longest first, those of equal length in order.
std::vector<std::uint32_t> longest_first(const std::int64_t* lengths, std::size_t count, std::int64_t capacity) {
  std::vector<std::uint32_t> place(static_cast<std::size_t>(capacity) + 1);  // of the next sequence of a length
  for (std::size_t i = 0; i < count; ++i) ++place[static_cast<std::size_t>(lengths[i])];
  std::uint32_t longer = 0;
  for (std::size_t length = place.size(); length-- > 0;) longer += std::exchange(place[length], longer);
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i < count; ++i)
    order[place[static_cast<std::size_t>(lengths[i])]++] = static_cast<std::uint32_t>(i);
  order.resize(count - static_cast<std::size_t>(std::count(lengths, lengths + count, 0)));
  return order;
}

// Numbers the bins by their first sequences.
void renumber(std::int64_t* bins, std::size_t count, std::int64_t opened) {
  std::vector<std::int64_t> number(static_cast<std::size_t>(opened), -1);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (bins[i] < 0) continue;
    std::int64_t& mine = number[static_cast<std::size_t>(bins[i])];
    if (mine < 0) mine = next++;
    bins[i] = mine;
  }
}

}  // namespace

std::int64_t pack_first_fit(const std::int64_t* lengths, std::size_t count, std::int64_t capacity, std::int64_t* bins) {
  Rooms rooms(count, capacity);
  std::int64_t opened = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bins[i] = lengths[i] ? static_cast<std::int64_t>(rooms.take(lengths[i])) : -1;
    opened = std::max(opened, bins[i] + 1);
  }
  return opened;
}

std::int64_t pack_best_fit(const std::int64_t* lengths, std::size_t count, std::int64_t capacity, std::int64_t* bins) {
  std::fill_n(bins, count, -1);
  Shelves shelves(count, capacity);
  std::int32_t opened = 0;
  for (const std::uint32_t sequence : longest_first(lengths, count, capacity)) {
    const auto length = static_cast<std::size_t>(lengths[sequence]);
    auto room = static_cast<std::size_t>(capacity);
    std::int32_t bin = shelves.take(length, room);
    if (bin < 0) bin = opened++;
    bins[sequence] = bin;
    if (room > length) shelves.put(bin, room - length);
  }
  renumber(bins, count, opened);
  return opened;
}

std::size_t first_misfit(const Segment* segments, std::size_t count, const Bins& bins) {
  constexpr std::int64_t kPositions = std::int64_t{1} << 31;
  std::vector<std::int64_t> room(bins.count, static_cast<std::int64_t>(bins.capacity));
  for (std::size_t i = 0; i < count; ++i) {
    const Segment& segment = segments[i];
    if (static_cast<std::uint64_t>(segment.bin) >= bins.count || segment.length < 1) return i;
    std::int64_t& left = room[static_cast<std::size_t>(segment.bin)];
    if (segment.length > left) return i;
    left -= segment.length;
    if (segment.position < 0 || segment.length > kPositions || segment.position > kPositions - segment.length) return i;
  }
  return count;
}

namespace {

constexpr std::size_t kLine = 64;                             // bytes of a cache line
constexpr std::size_t kBlock = kLine / sizeof(std::int32_t);  // tokens written together: a line of segment numbers
constexpr std::size_t kAhead = 512;                           // bytes between a written line and the prefetched one
constexpr std::size_t kMostFetched = 8192;  // bytes of a segment; beyond, the processor's prefetcher takes over

// Lines of the next tokens, prefetched one by one while others are copied: the documents of a bin are scattered, so the
// processor cannot predict them.
class Fetch {
 public:
  Fetch() = default;
  Fetch(const Segment& next, std::size_t width) : at_(next.tokens), end_(at_) {
    if (next.stride == static_cast<std::ptrdiff_t>(width))
      end_ += std::min(static_cast<std::size_t>(next.length) * width, kMostFetched);
  }

  void line() {
    if (at_ == end_) return;
    __builtin_prefetch(at_);
    at_ += std::min(kLine, static_cast<std::size_t>(end_ - at_));
  }
  void rest() {
    while (at_ != end_) line();
  }

 private:
  const char *at_ = nullptr, *end_ = nullptr;
};

// The destination of a segment.
struct Place {
  char* tokens;
  std::int32_t *segment_ids, *positions;
};

// Writes a segment: a block of one array after another, so that the next lines have arrived by then. With a kWidth of 0
// the tokens are already written.
template <std::size_t kWidth>
void put(const Segment& segment, std::int32_t number, const Place& place, Fetch fetch) {
  const char* __restrict from = segment.tokens;
  char* __restrict tokens = place.tokens;
  std::int32_t* __restrict segment_ids = place.segment_ids, * __restrict positions = place.positions;
  const auto length = static_cast<std::size_t>(segment.length);
  const auto position = static_cast<std::uint32_t>(segment.position);
  const auto write = [&](std::size_t i, std::size_t count) {
    const auto first = position + static_cast<std::uint32_t>(i);
    std::memcpy(tokens + i * kWidth, from + i * kWidth, count * kWidth);
    for (std::size_t j = 0; j < count; ++j) segment_ids[i + j] = number;
    for (std::uint32_t j = 0; j < count; ++j) positions[i + j] = static_cast<std::int32_t>(first + j);
  };
  if (length < kBlock) {
    write(0, length);
  } else {
    write(0, kBlock);
    const auto misaligned = reinterpret_cast<std::uintptr_t>(segment_ids) % kLine / sizeof(std::int32_t);
    for (std::size_t i = kBlock - misaligned; i + kBlock <= length; i += kBlock) {
      fetch.line();
      for (std::size_t byte = 0; byte < kBlock * kWidth; byte += kLine)
        __builtin_prefetch(tokens + i * kWidth + byte + kAhead, 1);
      __builtin_prefetch(reinterpret_cast<const char*>(segment_ids + i) + kAhead, 1);
      __builtin_prefetch(reinterpret_cast<const char*>(positions + i) + kAhead, 1);
      write(i, kBlock);
    }
    write(length - kBlock, kBlock);  // loaded again, with the same value
  }
  fetch.rest();
}

// The same for tokens of any width or stride.
void put_any(const Segment& segment, std::int32_t number, const Place& place, std::size_t width, Fetch fetch) {
  if (segment.stride == static_cast<std::ptrdiff_t>(width)) {
    switch (width) {
      case 1:
        return put<1>(segment, number, place, fetch);
      case 2:
        return put<2>(segment, number, place, fetch);
      case 4:
        return put<4>(segment, number, place, fetch);
      case 8:
        return put<8>(segment, number, place, fetch);
    }
  }
  const char* token = segment.tokens;
  for (std::int64_t i = 0; i < segment.length; ++i, token += segment.stride)
    std::memcpy(place.tokens + static_cast<std::size_t>(i) * width, token, width);
  put<0>(segment, number, place, fetch);
}

void repeat_token(const char* token, std::size_t width, char* out, std::size_t count) {
  if (!count) return;
  std::memcpy(out, token, width);
  for (std::size_t done = 1; done < count;) {
    const std::size_t more = std::min(done, count - done);
    std::memcpy(out + done * width, out, more * width);
    done += more;
  }
}

}  // namespace

BinFilling::BinFilling(const Segment* segments, std::size_t count, const char* pad, const Bins& bins)
    : segments_(segments), pad_(pad), bins_(bins), begins_(bins.count + 2), order_(count) {
  const auto bin = [=](std::size_t i) { return static_cast<std::size_t>(segments[i].bin); };
  for (std::size_t i = 0; i < count; ++i) ++begins_[bin(i) + 2];
  for (std::size_t b = 2; b < begins_.size(); ++b) begins_[b] += begins_[b - 1];
  for (std::size_t i = 0; i < count; ++i) order_[begins_[bin(i) + 1]++] = static_cast<std::uint32_t>(i);
}

void BinFilling::fill(std::size_t first, std::size_t last) const {
  for (std::size_t bin = first; bin < last; ++bin) fill(bin);
}

void BinFilling::fill(std::size_t bin) const {
  std::size_t at = bin * bins_.capacity;
  std::int32_t number = 0;
  for (std::uint32_t i = begins_[bin]; i < begins_[bin + 1]; ++i) {
    const Segment& segment = segments_[order_[i]];
    const Place place{bins_.tokens + at * bins_.width, bins_.segment_ids + at, bins_.positions + at};
    put_any(segment, ++number, place, bins_.width,
            i + 1 < order_.size() ? Fetch(segments_[order_[i + 1]], bins_.width) : Fetch());
    at += static_cast<std::size_t>(segment.length);
  }
  const std::size_t rest = (bin + 1) * bins_.capacity - at;
  repeat_token(pad_, bins_.width, bins_.tokens + at * bins_.width, rest);
  std::fill_n(bins_.segment_ids + at, rest, 0);
  std::fill_n(bins_.positions + at, rest, 0);
}

}  // namespace penstock
