#include "kernels/crc32c.h"

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

constexpr std::size_t kLane = 1024;  // bytes: three lanes at once hide the three cycles that one step takes

// What `kLane` zero bytes make of each byte of a checksum.
constexpr std::array<Table, 4> make_shift() {
  std::array<std::uint32_t, 32> of_bit{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = 1u << bit;
    for (std::size_t i = 0; i < kLane; ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xff];
    of_bit[bit] = crc;
  }
  std::array<Table, 4> shift{};
  for (std::size_t byte = 0; byte < 4; ++byte)
    for (std::size_t value = 0; value < 256; ++value)
      for (std::size_t bit = 0; bit < 8; ++bit)
        if (value >> bit & 1) shift[byte][value] ^= of_bit[byte * 8 + bit];
  return shift;
}

std::uint32_t after_lane(std::uint32_t crc) noexcept {
  static constexpr std::array<Table, 4> kShift = make_shift();
  return kShift[0][crc & 0xff] ^ kShift[1][crc >> 8 & 0xff] ^ kShift[2][crc >> 16 & 0xff] ^ kShift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(const void* data, std::size_t size,
                                                             std::uint32_t crc) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t state = ~crc;
  while (size >= 3 * kLane) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      state = _mm_crc32_u64(state, word_at(at + i));
      second = _mm_crc32_u64(second, word_at(at + kLane + i));
      third = _mm_crc32_u64(third, word_at(at + 2 * kLane + i));
    }
    state = after_lane(static_cast<std::uint32_t>(state)) ^ second;
    state = after_lane(static_cast<std::uint32_t>(state)) ^ third;
    at += 3 * kLane;
    size -= 3 * kLane;
  }
  for (; size >= 8; size -= 8, at += 8) state = _mm_crc32_u64(state, word_at(at));
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
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_sse42(data, size, crc);
#endif
  return crc32c_portable(data, size, crc);
}

}  // namespace penstock
