// Keyed bijections of [0, n), computed index by index: the order of a shuffle without its memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

enum class Direction { kForward, kInverse };

// Largest length that can be permuted.
inline constexpr std::uint64_t kMaxPermutationLength = std::uint64_t{1} << 62;

// One order of [0, length), chosen by a 64-bit key.
//
// Up to 16 positions the whole order is drawn by Fisher and Yates and packed into one word, four bits per position.
// Beyond, a position of w = bits(length - 1) bits goes through rounds of `x = x * odd + key (mod 2^w); x ^= x >> ceil(w
// / 2)`, each a bijection of [0, 2^w); a result outside [0, length) goes through them again (cycle walking: fewer than
// two passes on average).
class Permutation {
 public:
  Permutation() = default;
  Permutation(Direction direction, std::uint64_t length, std::uint64_t key);

  // The place of one position in [0, length) in the order, or in its inverse.
  std::uint64_t at(std::uint64_t position) const;

  // out[i] = start + at(rows[i] - start), rows in [start, start + length); `out` may be `rows`.
  void apply(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t start) const;

  static constexpr int kMaxRounds = 12;

  // The data of one pass over [0, 2^w), read by the vectorized passes.
  struct Rounds {
    std::uint64_t multiply[kMaxRounds];  // odd; for the inverse order their inverses modulo 2^64
    std::uint64_t add[kMaxRounds];
    std::uint64_t mask;
    int shift;
  };

 private:
  void draw_packed(std::uint64_t key);
  void draw_rounds(std::uint64_t key);
  template <class Pass>
  void walk(Pass pass, const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t start) const;

  Direction direction_ = Direction::kForward;
  std::uint64_t length_ = 0;
  int width_ = 0;
  std::uint64_t packed_ = 0;  // the order, for length <= 16
  Rounds rounds_;
};

// First i with rows[i] outside [0, length), or `count`.
std::size_t first_outside(const std::int64_t* rows, std::size_t count, std::uint64_t length);

// The key of one epoch: mix(mix(key, epoch), length), or that of epoch 0 in every epoch if not `reshuffle`. The length
// is part of the key, so that one key gives unrelated orders to datasets of nearly equal lengths.
std::uint64_t epoch_key(std::uint64_t key, std::uint64_t epoch, std::uint64_t length, bool reshuffle);

// out[i] = epoch * length + order(position) with epoch, position = divmod(rows[i], length) and the order keyed by
// epoch_key. Rows must not be negative.
void permute_rows(Direction direction, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                  std::uint64_t length, std::uint64_t key, bool reshuffle);

}  // namespace penstock
