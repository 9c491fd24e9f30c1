#include "kernels/crc32c.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {

namespace {

static_assert(std::endian::native == std::endian::little);

using Table = std::array<std::uint32_t, 256>;
constexpr std::uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41, bits reversed

constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

std::uint64_t word_at(const unsigned char* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

#if defined(__x86_64__)

constexpr std::size_t kWord = 8;       // bytes that one instruction takes
constexpr std::size_t kLongest = 128;  // words of a lane
constexpr std::size_t kShortest = 4;
constexpr std::size_t kLine = 64;  // bytes of a line of the caches

// For lanes of this many words: the factor that advances a checksum over that many words of zeros, with one
// multiplication and one instruction. The factor is x^(64 words - 33), bits reversed; the 33 accounts for the
// instruction and for the reversed product.
constexpr std::array<std::uint32_t, kLongest + 1> make_factors() {
  std::array<std::uint32_t, kLongest + 1> factors{};
  std::uint32_t factor = 1;  // x^31
  for (std::size_t words = 1; words <= kLongest; ++words) {
    factors[words] = factor;
    for (std::size_t i = 0; i < kWord; ++i) factor = (factor >> 8) ^ kTables[0][factor & 0xff];
  }
  return factors;
}

constexpr std::array<std::uint32_t, kLongest + 1> kFactors = make_factors();

__attribute__((target("sse4.2,pclmul"))) inline std::uint64_t after_lane(std::uint64_t crc,
                                                                         std::size_t words) noexcept {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)),
                                               _mm_cvtsi32_si128(static_cast<int>(kFactors[words])), 0);
  return _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)));
}

// The checksums of three lanes.
struct Lanes {
  std::uint64_t first, second = 0, third = 0;
};

__attribute__((target("sse4.2,pclmul"))) inline void step(Lanes& sums, const unsigned char* at,
                                                          std::size_t lane) noexcept {
  sums.first = _mm_crc32_u64(sums.first, word_at(at));
  sums.second = _mm_crc32_u64(sums.second, word_at(at + lane));
  sums.third = _mm_crc32_u64(sums.third, word_at(at + 2 * lane));
}

// Three lanes at once: a step takes three cycles, and a processor begins one in each cycle. The next lanes are
// requested from memory meanwhile: 22 -> 12 us for 150 KB that are in no cache of the core, 7.1 -> 7.4 for those that
// are.
__attribute__((target("sse4.2,pclmul"))) std::uint32_t crc32c_sse42(const void* data, std::size_t size,
                                                                    std::uint32_t crc) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t state = ~crc;
  while (size >= 3 * kShortest * kWord) {
    const std::size_t words = std::min(size / (3 * kWord), kLongest), lane = words * kWord;
    const std::size_t ahead = std::min(size - 3 * lane, 3 * lane);
    Lanes sums{state};
    std::size_t i = 0;
    for (; i + kLine <= lane; i += kLine) {
      if (3 * i < ahead)
        for (std::size_t line = 0; line < 3 * kLine; line += kLine)
          _mm_prefetch(at + 3 * (lane + i) + line, _MM_HINT_T0);
      for (std::size_t word = 0; word < kLine; word += kWord) step(sums, at + i + word, lane);
    }
    for (; i < lane; i += kWord) step(sums, at + i, lane);
    state = after_lane(sums.first, words) ^ sums.second;
    state = after_lane(state, words) ^ sums.third;
    at += 3 * lane;
    size -= 3 * lane;
  }
  for (; size >= kWord; size -= kWord, at += kWord) state = _mm_crc32_u64(state, word_at(at));
  auto rest = static_cast<std::uint32_t>(state);
  for (; size; --size, ++at) rest = _mm_crc32_u8(rest, *at);
  return ~rest;
}

#endif

}  // namespace

std::uint32_t crc32c_portable(const void* data, std::size_t size, std::uint32_t crc) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size >= 8; size -= 8, at += 8) {
    const std::uint64_t word = word_at(at) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> 8 * k & 0xff];
  }
  for (; size; --size, ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t crc) noexcept {
#if defined(__x86_64__)
  static const bool has_instructions = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  if (has_instructions) return crc32c_sse42(data, size, crc);
#endif
  return crc32c_portable(data, size, crc);
}

}  // namespace penstock
