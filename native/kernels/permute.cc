#include "kernels/permute.h"

#include <algorithm>
#include <bit>

#include "kernels/permute_pass.h"
#include "kernels/permute_segments.h"
#include "kernels/random.h"

namespace penstock {

namespace {

constexpr std::uint64_t kPackedLength = 16;

// The words of a key.
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
  std::uint16_t place[kBlock];  // their places in the block
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

std::uint64_t epoch_key(std::uint64_t key, std::uint64_t epoch, std::uint64_t length, bool reshuffle) {
  return mix(mix(key, reshuffle ? epoch : 0), length);
}

void permute_rows(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                  std::uint64_t length, std::uint64_t key, bool reshuffle) {
  permute_segments(direction, rows, out, count, [=](std::int64_t row) {
    const std::uint64_t epoch = static_cast<std::uint64_t>(row) / length;
    return Segment{static_cast<std::int64_t>(epoch * length), length, epoch_key(key, epoch, length, reshuffle)};
  });
}

}  // namespace penstock
