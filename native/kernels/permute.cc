#include "kernels/permute.h"

#include <algorithm>
#include <bit>

#include "kernels/permute_pass.h"
#include "kernels/random.h"

namespace penstock {

namespace {

constexpr std::uint64_t kPackedLength = 16;
constexpr std::size_t kBlock = 256;    // rows a vectorised pass takes at once
constexpr std::size_t kShortRun = 12;  // below, row by row is faster than a pass

// The words that the key stands for.
class Words {
 public:
  explicit Words(std::uint64_t key) : state_(scramble(key ^ 0x5851F42D4C957F2Du)) {}
  std::uint64_t next() { return scramble(state_ += 0xD1B54A32D192ED03u); }

 private:
  std::uint64_t state_;
};

// Newton's iteration doubles the correct low bits: 3, 6, 12, 24, 48, 96.
std::uint64_t odd_inverse(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

int rounds_of(int width) { return width <= 8 ? 12 : 8; }

}  // namespace

Permutation::Permutation(Direction direction, std::uint64_t length, std::uint64_t key)
    : direction_(direction), length_(length), width_(length ? std::bit_width(length - 1) : 0) {
  if (length <= kPackedLength) {
    draw_packed(key);
  } else {
    draw_rounds(key);
  }
}

void Permutation::draw_packed(std::uint64_t key) {
  std::uint64_t order[kPackedLength];
  Words words(key);
  for (std::uint64_t i = 0; i < length_; ++i) order[i] = i;
  for (std::uint64_t i = length_; i-- > 1;) {
    const auto below = static_cast<unsigned __int128>(words.next()) * (i + 1);  // high word: uniform in [0, i]
    std::swap(order[i], order[static_cast<std::uint64_t>(below >> 64)]);
  }
  const bool forward = direction_ == Direction::kForward;
  for (std::uint64_t i = 0; i < length_; ++i) packed_ |= forward ? order[i] << (4 * i) : i << (4 * order[i]);
}

void Permutation::draw_rounds(std::uint64_t key) {
  Words words(key);
  rounds_.mask = (std::uint64_t{1} << width_) - 1;
  rounds_.shift = (width_ + 1) / 2;
  for (int i = 0; i < rounds_of(width_); ++i) {
    rounds_.multiply[i] = words.next() | 1;
    rounds_.add[i] = words.next();
  }
  if (direction_ == Direction::kInverse)
    for (int i = 0; i < rounds_of(width_); ++i) rounds_.multiply[i] = odd_inverse(rounds_.multiply[i]);
}

std::uint64_t Permutation::at(std::uint64_t position) const {
  if (length_ <= kPackedLength) return packed_ >> (4 * position) & 15;
  const bool forward = direction_ == Direction::kForward;
  do {
    if (width_ <= 8) {
      const auto narrow = static_cast<std::uint32_t>(position);
      position = forward ? pass::forward<std::uint32_t, 12>(rounds_, narrow)
                         : pass::inverse<std::uint32_t, 12>(rounds_, narrow);
    } else {
      position = forward ? pass::forward<std::uint64_t, 8>(rounds_, position)
                         : pass::inverse<std::uint64_t, 8>(rounds_, position);
    }
  } while (position >= length_);
  return position;
}

void Permutation::apply(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t start) const {
  if (length_ > kPackedLength && count > kShortRun) {
    walk(pass::choose(direction_ == Direction::kForward, width_), rows, out, count, start);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    out[i] = start + static_cast<std::int64_t>(at(static_cast<std::uint64_t>(rows[i] - start)));
}

template <class Pass>
void Permutation::walk(Pass pass, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                       std::int64_t start) const {
  const bool whole = length_ == rounds_.mask + 1;
  std::int64_t lost[kBlock];    // rows of this block that fell outside [0, length)
  std::uint16_t place[kBlock];  // where in the block they belong
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    std::int64_t* target = out + begin;
    pass(rounds_, rows + begin, target, size, start);
    if (whole) continue;
    std::size_t remaining = 0;
    for (std::size_t i = 0; i < size; ++i) {
      place[remaining] = static_cast<std::uint16_t>(i);
      lost[remaining] = target[i];
      remaining += static_cast<std::uint64_t>(target[i] - start) >= length_;
    }
    while (remaining) {
      pass(rounds_, lost, lost, remaining, start);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < remaining; ++i) {
        const std::int64_t row = lost[i];
        const std::uint16_t where = place[i];
        target[where] = row;
        lost[kept] = row;
        place[kept] = where;
        kept += static_cast<std::uint64_t>(row - start) >= length_;
      }
      remaining = kept;
    }
  }
}

std::size_t first_outside(const std::int64_t* rows, std::size_t count, std::uint64_t length) {
  if (pass::all_inside(rows, count, 0, length)) return count;
  for (std::size_t i = 0; i < count; ++i)
    if (static_cast<std::uint64_t>(rows[i]) >= length) return i;
  return count;
}

namespace {

// A stretch of rows that one order permutes among themselves.
struct Segment {
  std::int64_t start;
  std::uint64_t size;
  std::uint64_t key;
};

bool holds(const Segment& segment, std::int64_t row) {
  return static_cast<std::uint64_t>(row) - static_cast<std::uint64_t>(segment.start) < segment.size;
}

// Permutes up to kBlock rows, each within the segment that `locate(row)` says: segment by segment while many rows share
// one.
template <class Locate>
void permute_mixed(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                   const Locate& locate) {
  std::int64_t value[kBlock], shared[kBlock];
  std::uint16_t place[kBlock], shared_place[kBlock];  // where in the block the values belong
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

// Permutes every row within the segment that `locate(row)` says; nearly always one holds them all.
template <class Locate>
void permute_segments(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                      const Locate& locate) {
  if (!count) return;
  const Segment first = locate(rows[0]);
  if (pass::all_inside(rows, count, first.start, first.size)) {
    Permutation(direction, first.size, first.key).apply(rows, out, count, first.start);
    return;
  }
  for (std::size_t i = 0; i < count; i += kBlock)
    permute_mixed(direction, rows + i, out + i, std::min(kBlock, count - i), locate);
}

std::uint64_t epoch_key(std::uint64_t key, std::uint64_t epoch, bool reshuffle) {
  return mix(key, reshuffle ? epoch : 0);
}

// One of the two passes of a window: blocks of `width` positions, the first of them only `head` long.
struct Blocks {
  std::uint64_t length, width, head, pass;

  Segment locate(std::uint64_t position, std::int64_t start, std::uint64_t key) const {
    std::uint64_t block = 0, begin = 0, end = std::min(head, length);
    if (position >= head) {
      block = (position - head) / width + 1;
      begin = head + (block - 1) * width;
      end = begin + std::min(width, length - begin);
    }
    return {start + static_cast<std::int64_t>(begin), end - begin, mix(mix(key, pass), block)};
  }
};

template <class Pass>
void permute_blocks(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                    std::uint64_t length, std::uint64_t window, const Pass& locate_in) {
  if (window <= 1) {
    std::copy(rows, rows + count, out);
    return;
  }
  // Two passes move a position by at most 2 * (width - 1) < window. A window of 2 has room for one pass only.
  const std::uint64_t width = std::max<std::uint64_t>(2, window / 2 + window % 2);
  const Blocks aligned{length, width, width, 0}, straddling{length, width, width / 2, 1};
  const auto run = [&](const Blocks& blocks, const std::int64_t* from) {
    permute_segments(direction, from, out, count, [&](std::int64_t row) { return locate_in(blocks, row); });
  };
  if (window == 2) return run(aligned, rows);
  const bool forward = direction == Direction::kForward;
  run(forward ? aligned : straddling, rows);
  run(forward ? straddling : aligned, out);
}

}  // namespace

void permute_rows(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                  std::uint64_t length, std::uint64_t key, bool reshuffle) {
  permute_segments(direction, rows, out, count, [=](std::int64_t row) {
    const std::uint64_t epoch = static_cast<std::uint64_t>(row) / length;
    return Segment{static_cast<std::int64_t>(epoch * length), length, epoch_key(key, epoch, reshuffle)};
  });
}

void permute_within(Direction direction, const std::int64_t* positions, std::int64_t* out, std::size_t count,
                    std::uint64_t length, std::uint64_t window, std::uint64_t key) {
  if (window >= length) return Permutation(direction, length, key).apply(positions, out, count, 0);
  permute_blocks(direction, positions, out, count, length, window, [=](const Blocks& blocks, std::int64_t position) {
    return blocks.locate(static_cast<std::uint64_t>(position), 0, key);
  });
}

void permute_rows_within(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                         std::uint64_t length, std::uint64_t window, std::uint64_t key, bool reshuffle) {
  if (window >= length) return permute_rows(direction, rows, out, count, length, key, reshuffle);
  permute_blocks(direction, rows, out, count, length, window, [=](const Blocks& blocks, std::int64_t row) {
    const std::uint64_t epoch = static_cast<std::uint64_t>(row) / length;
    const std::uint64_t start = epoch * length;
    return blocks.locate(static_cast<std::uint64_t>(row) - start, static_cast<std::int64_t>(start),
                         epoch_key(key, epoch, reshuffle));
  });
}

}  // namespace penstock
