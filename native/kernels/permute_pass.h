// One pass of a permutation's rounds over [0, 2^w), and its vectorized loops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/permute.h"

namespace penstock::pass {

// `Word` is wide enough for w bits; arithmetic above bit w is garbage that the mask removes.
template <class Word, int kRounds>
inline __attribute__((always_inline)) Word forward(const Permutation::Rounds& rounds, Word x) {
  const Word mask = static_cast<Word>(rounds.mask);
  x ^= x >> rounds.shift;
  for (int i = 0; i < kRounds; ++i) {
    x = (x * static_cast<Word>(rounds.multiply[i]) + static_cast<Word>(rounds.add[i])) & mask;
    x ^= x >> rounds.shift;
  }
  return x;
}

// `x ^= x >> ceil(w / 2)` undoes itself.
template <class Word, int kRounds>
inline __attribute__((always_inline)) Word inverse(const Permutation::Rounds& rounds, Word x) {
  const Word mask = static_cast<Word>(rounds.mask);
  for (int i = kRounds; i-- > 0;) {
    x ^= x >> rounds.shift;
    x = ((x - static_cast<Word>(rounds.add[i])) * static_cast<Word>(rounds.multiply[i])) & mask;
  }
  return x ^ (x >> rounds.shift);
}

// out[i] = start + pass(rows[i] - start), for rows in [start, start + 2^w); `out` may be `rows`.
using Loop = void (*)(const Permutation::Rounds& rounds, const std::int64_t* rows, std::int64_t* out, std::size_t count,
                      std::int64_t start);

// The fastest loop on this processor for positions of `width` bits.
Loop choose(bool forward, int width);

// Returns whether every row lies in [start, start + length).
bool all_inside(const std::int64_t* rows, std::size_t count, std::int64_t start, std::uint64_t length);

}  // namespace penstock::pass
