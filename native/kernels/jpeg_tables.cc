#include "kernels/jpeg_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::kernels {
namespace {

constexpr int kLargestDc = 11;  // bits of a difference of baseline files

struct Code {
  uint32_t bits;
  int length, run, size;  // zeros before a value, and its bits

  bool has_value() const { return size > 0; }
  bool is_end() const { return size == 0 && run == 0; }
  bool is_valid() const { return size > 0 || run == 0 || run == 15; }
};

struct Codes {
  Code of[256];
  int count = 0;
};

bool list_codes(const HuffmanCode& code, Codes& codes, HuffmanSearch& search) {
  std::memcpy(search.symbols, code.symbols, sizeof search.symbols);
  uint32_t next = 0;
  for (int length = 1; length <= 16; ++length) {
    search.offset[length] = codes.count - static_cast<int>(next);
    for (int i = 0; i < code.counts[length]; ++i, ++next) {
      if (next + 1 >= 1u << length || codes.count == 256) return false;  // no code is all ones
      const uint8_t symbol = code.symbols[codes.count];
      codes.of[codes.count++] = {next, length, symbol >> 4, symbol & 15};
    }
    next <<= 1;
    search.limit[length - 1] = static_cast<uint16_t>(length < 16 ? next << (15 - length) : next >> 1);
  }
  return true;
}

// The value that `size` bits of a file stand for.
int extend(int bits, int size) { return bits < 1 << (size - 1) ? bits - (1 << size) + 1 : bits; }

// Entries are made as integers, so that those of second symbols can be added to those of first ones.
uint64_t entry(unsigned bits, int first, unsigned size, int bias, unsigned to_first, unsigned to_last) {
  return std::bit_cast<uint64_t>(AcEntry{static_cast<uint8_t>(bits), static_cast<int8_t>(first),
                                         static_cast<uint8_t>(64 - bits), static_cast<uint8_t>(size),
                                         static_cast<int16_t>(bias), static_cast<uint8_t>(to_first),
                                         static_cast<uint8_t>(to_last)});
}

// What a second symbol adds to the entry of a first one: more bits, and so a value that begins lower.
uint64_t addition(unsigned bits, unsigned size, int bias, unsigned to_last) {
  return bits - (static_cast<uint64_t>(bits) << 16) + (static_cast<uint64_t>(size) << 24) +
         (static_cast<uint64_t>(static_cast<uint16_t>(bias)) << 32) + (static_cast<uint64_t>(to_last) << 56);
}

int bias_of(int size) { return 1 - (1 << size); }

// Fills the lookups of values, `Bits` wide. What may follow a first symbol depends only on the number of bits left: it
// is found once for each number. An entry takes so few bits that two lookups need one refill.
template <int Bits>
void fill_values(const Codes& codes, uint64_t* out) {
  constexpr unsigned kMost = most_bits(Bits);
  static thread_local uint64_t following[1 << Bits];  // with r bits left: from 1 << r on; 0: no second symbol
  static thread_local uint64_t values[1 << Bits];
  for (int left = 1; left < Bits; ++left) {
    uint64_t* const begin = following + (1 << left);
    std::fill_n(begin, 1 << left, 0);
    for (int i = 0; i < codes.count && codes.of[i].length <= left; ++i) {
      const Code& code = codes.of[i];
      const int room = left - code.length;
      uint64_t* const at = begin + (code.bits << room);
      if (!code.is_valid()) continue;
      const auto bits = static_cast<unsigned>(code.length + code.size);
      if (!code.has_value()) {
        std::fill_n(at, 1 << room, addition(bits, 0, 0, code.is_end() ? kBlockEnd : 16));
      } else if (room >= 1) {  // the sign is known
        const auto size = static_cast<unsigned>(code.size), steps = static_cast<unsigned>(code.run + 1);
        std::fill_n(at, 1 << (room - 1), addition(bits, size, bias_of(code.size), steps));
        std::fill_n(at + (1 << (room - 1)), 1 << (room - 1), addition(bits, size, 0, steps));
      }
    }
  }
  const uint64_t by_hand = entry(0, 0, 0, 0, kByHand, kByHand);
  std::fill_n(values, 1 << Bits, by_hand);
  for (int i = 0; i < codes.count && codes.of[i].length < Bits; ++i) {
    const Code& code = codes.of[i];
    const int room = Bits - code.length;
    uint64_t* at = values + (code.bits << room);
    const auto bits = static_cast<unsigned>(code.length + code.size);
    if (!code.is_valid() || bits > kMost) continue;
    if (!code.has_value()) {
      const unsigned steps = code.is_end() ? kBlockEnd : 16;
      std::fill_n(at, 1 << room, entry(bits, 0, 0, 0, steps, steps));
      continue;
    }
    const auto size = static_cast<unsigned>(code.size), steps = static_cast<unsigned>(code.run + 1);
    const uint64_t alone[2] = {entry(bits, 0, size, bias_of(code.size), steps, steps),
                               entry(bits, 0, size, 0, steps, steps)};
    if (bits >= Bits || size > 7) {  // no room for a second symbol, or for the value in an entry
      std::fill_n(at, 1 << (room - 1), alone[0]);
      std::fill_n(at + (1 << (room - 1)), 1 << (room - 1), alone[1]);
      continue;
    }
    const int left = room - code.size;
    const uint64_t* const next = following + (1 << left);
    for (int x = 0; x < 1 << code.size; ++x, at += 1 << left) {
      const uint64_t first = entry(bits, extend(x, code.size), 0, 0, steps, steps);
      for (int j = 0; j < 1 << left; ++j) {
        const uint64_t both = first + next[j];
        at[j] = next[j] == 0 || (both & 0xFF) > kMost ? alone[x >> (code.size - 1)] : both;
      }
    }
  }
  std::memcpy(out, values, sizeof values);
}

// Fills the lookups that skip symbols, in the same way: what fits into a number of bits.
template <int Bits>
void fill_skips(const Codes& codes, uint16_t* out) {
  constexpr unsigned kMost = most_bits(Bits);
  static thread_local uint16_t fitting[2 << Bits];  // with r bits left: from 1 << r on; 0: none
  fitting[1] = 0;
  for (int left = 1; left <= Bits; ++left) {
    uint16_t* const begin = fitting + (1 << left);
    std::fill_n(begin, 1 << left, 0);
    for (int i = 0; i < codes.count && codes.of[i].length <= left; ++i) {
      const Code& code = codes.of[i];
      const int room = left - code.length;
      const auto bits = static_cast<unsigned>(code.length + code.size);
      if (!code.is_valid() || bits > kMost) continue;
      uint16_t* at = begin + (code.bits << room);
      const unsigned steps = code.is_end() ? kBlockEnd : static_cast<unsigned>(code.run + 1);
      const auto alone = static_cast<uint16_t>(bits | steps << 8);
      if (code.is_end() || code.size >= room) {
        std::fill_n(at, 1 << room, alone);
        continue;
      }
      const int rest = room - code.size;
      const uint16_t* const next = fitting + (1 << rest);
      for (int x = 0; x < 1 << code.size; ++x, at += 1 << rest) {
        for (int j = 0; j < 1 << rest; ++j) {
          const unsigned both = alone + next[j];
          const bool fits = (both & 0xFF) <= kMost && (both >> 8 & 127) <= 63;
          at[j] = fits ? static_cast<uint16_t>(both) : alone;
        }
      }
    }
  }
  for (int i = 0; i < 1 << Bits; ++i) {
    const uint16_t found = fitting[(1 << Bits) + i];
    out[i] = found != 0 ? found : static_cast<uint16_t>(kByHand << 8);
  }
}

}  // namespace

bool build(const HuffmanCode& code, bool is_chroma, AcTable& table) {
  Codes codes;
  if (!list_codes(code, codes, table.search)) return false;
  table.value_shift = 64 - (is_chroma ? kChromaBits : kValueBits);
  table.skip_shift = 64 - (is_chroma ? kChromaBits : kSkipBits);
  if (is_chroma) {
    fill_values<kChromaBits>(codes, table.values);
    fill_skips<kChromaBits>(codes, table.skips);
  } else {
    fill_values<kValueBits>(codes, table.values);
    fill_skips<kSkipBits>(codes, table.skips);
  }
  return true;
}

bool build(const HuffmanCode& code, DcTable& table) {
  Codes codes;
  if (!list_codes(code, codes, table.search)) return false;
  std::fill_n(table.entries, 1 << kDcBits, DcEntry{});
  for (int i = 0; i < codes.count; ++i) {
    const int length = codes.of[i].length, size = codes.of[i].run << 4 | codes.of[i].size;
    if (size > kLargestDc) return false;
    if (length > kDcBits) continue;
    const DcEntry entry{static_cast<uint8_t>(length + size), static_cast<uint8_t>(length),
                        static_cast<uint8_t>(size != 0 ? 64 - size : 63), static_cast<uint8_t>(size != 0)};
    std::fill_n(table.entries + (codes.of[i].bits << (kDcBits - length)), 1 << (kDcBits - length), entry);
  }
  return true;
}

}  // namespace penstock::kernels
