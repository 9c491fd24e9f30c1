// Keys and row-keyed draws: splitmix64 for mixing keys, Philox4x64-10 for the draws of a row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// The output function of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words that scatters near inputs.
constexpr std::uint64_t scramble(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

// The key of `second` under `first`; equal to `penstock.core.seeds.mix(first, second)`.
constexpr std::uint64_t mix(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kIncrement = 0x9E3779B97F4A7C15u;
  constexpr std::uint64_t kStart = 0x70656E73746F636Bu;  // "penstock"
  const std::uint64_t state = scramble((kStart ^ first) + kIncrement);
  return scramble((state ^ second) + kIncrement);
}

// First 64-bit draw of Philox4x64-10 (Salmon et al. 2011) with key (key, row), counting from 0 like NumPy, whose first
// block is that of counter 1.
std::uint64_t first_draw(std::uint64_t key, std::uint64_t row);

// draws[i] = first_draw(key, rows[i]); both of shape (count,).
void first_draws(std::uint64_t key, const std::int64_t* rows, std::size_t count, std::uint64_t* draws);

}  // namespace penstock
