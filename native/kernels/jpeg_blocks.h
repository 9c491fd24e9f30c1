// Decodes the blocks of a baseline JPEG scan: the values of a block, or only where it ends.
//
// The scan is read from a copy without its stuffed zero bytes, with kScanSlack readable bytes after it. A window of 64
// bits holds the next bits at its top; it is refilled without a branch, once for two lookups. Two lookups of
// coefficients leave at least kDcBits bits of it, so that the next block can begin while it is refilled.
#pragma once

#include "kernels/jpeg_tables.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define PENSTOCK_FAST_JPEG __attribute__((target("avx2,bmi,bmi2")))
#define PENSTOCK_FAST_JPEG_INLINE inline __attribute__((target("avx2,bmi,bmi2"), always_inline))

#include <immintrin.h>

#include <bit>
#include <cstring>

namespace penstock::kernels {

inline constexpr size_t kScanSlack = 512;  // a block takes at most 216 bytes

// The place of coefficient k of a file in a block of 8 x 8 rows. What lies beyond a block is written to its last place.
struct NaturalOrder {
  uint8_t at[512];

  constexpr NaturalOrder() : at() {
    int x = 0, y = 0;
    for (int k = 0; k < 64; ++k) {
      at[k] = static_cast<uint8_t>(8 * y + x);
      const bool rises = (x + y) % 2 == 0;
      if (rises ? x == 7 : y == 7) {
        (rises ? y : x) += 1;
      } else if (rises ? y == 0 : x == 0) {
        (rises ? x : y) += 1;
      } else {
        x += rises ? 1 : -1;
        y += rises ? -1 : 1;
      }
    }
    for (int k = 64; k < 512; ++k) at[k] = 63;
  }
};
alignas(64) inline constexpr NaturalOrder kNaturalOrder{};

// The next bits of a scan.
struct BitWindow {
  uint64_t bits = 0;
  const uint8_t* next = nullptr;  // the next byte to load
  unsigned taken = 63;            // 63 - the number of bits in the window

  // The bits taken from what begins at `base`.
  int64_t position(const uint8_t* base) const { return (next - base) * 8 - 63 + static_cast<int64_t>(taken); }
};

namespace blocks {

PENSTOCK_FAST_JPEG_INLINE uint64_t load_bits(const uint8_t* at) {
  uint64_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return __builtin_bswap64(bits);
}

PENSTOCK_FAST_JPEG_INLINE void refill(uint64_t& bits, const uint8_t*& next, uint64_t& taken) {
  bits |= load_bits(next) >> (~taken & 63);
  next += taken >> 3;
  taken &= 7;
}

// `taken` may have more than the count above its low byte.
PENSTOCK_FAST_JPEG_INLINE void refill(uint64_t& bits, const uint8_t*& next, unsigned& taken) {
  bits |= load_bits(next) >> (~taken & 63);
  next += (taken & 0xFF) >> 3;
  taken &= ~0xF8u;
}

struct Symbol {
  int value, length;  // length 0: no code begins so
};

inline Symbol search(const HuffmanSearch& codes, uint64_t bits) {
  const auto window = static_cast<unsigned>(bits >> 48);
  int length = 1;
  for (const uint16_t limit : codes.limit) length += window >= limit;
  if (length > 16) return {0, 0};
  return {codes.symbols[(static_cast<int>(window >> (16 - length)) + codes.offset[length]) & 255], length};
}

inline int value_of(uint64_t bits, int size) {
  const int value = static_cast<int>(bits >> (64 - size));
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

// Adds a block's difference to `dc`. Returns false for a bad code. Needs kDcBits bits in the window, which is refilled.
template <typename Count>
PENSTOCK_FAST_JPEG_INLINE bool decode_dc(const DcTable& table, uint64_t& bits, const uint8_t*& next, Count& taken,
                                         int& dc) {
  const DcEntry entry = table.entries[bits >> (64 - kDcBits)];
  refill(bits, next, taken);  // while the entry is loaded
  if (__builtin_expect(entry.bits == 0, 0)) {
    const Symbol symbol = search(table.search, bits);
    if (symbol.length == 0) return false;
    bits <<= symbol.length;
    if (symbol.value != 0) dc += value_of(bits, symbol.value);
    bits <<= symbol.value;
    taken += static_cast<unsigned>(symbol.length + symbol.value);
    return true;
  }
  const uint64_t value = bits << entry.code;  // a value whose first bit is 0 is negative
  const auto negative = ~static_cast<uint64_t>(static_cast<int64_t>(value) >> 63);
  dc +=
      static_cast<int>(((value ^ negative) >> entry.shift ^ negative) - negative) & -static_cast<int>(entry.has_value);
  bits <<= entry.bits;
  taken += entry.bits;
  return true;
}

static_assert(56 - 2 * most_bits(kSkipBits) >= kDcBits && 56 - 2 * most_bits(kChromaBits) >= kDcBits);

enum class Step { kGoOn, kEnd, kBad };

// Decodes one symbol by hand, from before the last lookup, which took `back` bits; `position` is that before it.
template <bool kValues>
__attribute__((noinline, target("avx2,bmi,bmi2"))) Step by_hand(const HuffmanSearch& codes, BitWindow& window,
                                                                unsigned back, unsigned& position, int16_t* block) {
  const unsigned left = 63 - (window.taken - back), bytes = (left + 7) >> 3, offset = bytes * 8 - left;
  window.next -= bytes;
  window.bits = load_bits(window.next) << offset;
  window.next += 7;
  window.taken = 7 + offset;
  const Symbol symbol = search(codes, window.bits);
  if (symbol.length == 0) return Step::kBad;
  window.bits <<= symbol.length;
  window.taken += static_cast<unsigned>(symbol.length);
  if (symbol.value == 0) return Step::kEnd;
  const int size = symbol.value & 15;
  position += static_cast<unsigned>((symbol.value >> 4) + 1);
  if (position > 63 || (size == 0 && symbol.value != 0xF0)) return Step::kBad;
  if (size != 0) {
    if constexpr (kValues) block[kNaturalOrder.at[position]] = static_cast<int16_t>(value_of(window.bits, size));
    window.bits <<= size;
    window.taken += static_cast<unsigned>(size);
  }
  refill(window.bits, window.next, window.taken);
  return position == 63 ? Step::kEnd : Step::kGoOn;
}

PENSTOCK_FAST_JPEG_INLINE bool has_ended(uint64_t position) { return position == 63 || position - kBlockEnd <= 62; }

// Stores both values of an entry unconditionally: a missing one is 0, at a place that has no value yet. Where the upper
// bits do not matter, a rotation is one instruction, and a shift of a copy is two.
PENSTOCK_FAST_JPEG_INLINE void store(uint64_t entry, uint64_t before, uint64_t& position, int16_t* block) {
  const uint64_t last = __builtin_ia32_bextr_u64(before, std::rotr(entry, 16)) + std::rotr(entry, 32);
  const uint64_t first_at = position + (std::rotr(entry, 48) & 0xFF);
  position += entry >> 56;
  block[kNaturalOrder.at[first_at]] = static_cast<int8_t>(std::rotr(entry, 8));
  block[kNaturalOrder.at[position]] = static_cast<int16_t>(last);
}

}  // namespace blocks

// Decodes a block into 64 zeros and adds its difference to `dc`. No value lies after coefficient `last` of the file.
PENSTOCK_FAST_JPEG_INLINE bool decode_block(BitWindow& window, const DcTable& dc_table, const AcTable& table,
                                            int16_t* block, int& dc, int& last) {
  uint64_t bits = window.bits;
  const uint8_t* next = window.next;
  uint64_t taken = window.taken;
  if (!blocks::decode_dc(dc_table, bits, next, taken, dc)) return false;
  uint64_t position = 0;
  const int shift = table.value_shift;
  for (;;) {
    uint64_t entry = table.values[bits >> shift];
    blocks::refill(bits, next, taken);  // while the entry is loaded
    blocks::store(entry, bits, position, block);
    bits <<= entry & 63;
    taken += entry & 0xFF;
    if (position < 63) {
      entry = table.values[bits >> shift];
      blocks::store(entry, bits, position, block);
      bits <<= entry & 63;
      taken += entry & 0xFF;
      if (position < 63) continue;
    }
    if (blocks::has_ended(position)) break;
    BitWindow apart{bits, next, static_cast<unsigned>(taken)};  // so that the loop's own stay in registers
    auto at = static_cast<unsigned>(position - (entry >> 56));
    const blocks::Step step = blocks::by_hand<true>(table.search, apart, entry & 0xFF, at, block);
    bits = apart.bits, next = apart.next, taken = apart.taken, position = at;
    if (step == blocks::Step::kBad) return false;
    if (step == blocks::Step::kEnd) break;
  }
  last = static_cast<int>(position % kBlockEnd);
  window = BitWindow{bits, next, static_cast<unsigned>(taken)};
  return true;
}

// Finds the end of a block, and adds its difference to `dc`.
PENSTOCK_FAST_JPEG_INLINE bool skip_block(BitWindow& window, const DcTable& dc_table, const AcTable& table, int& dc) {
  uint64_t bits = window.bits;
  const uint8_t* next = window.next;
  unsigned taken = window.taken;  // from here on, the position in the block << 8 is added to it
  if (!blocks::decode_dc(dc_table, bits, next, taken, dc)) return false;
  const int shift = table.skip_shift;
  for (;;) {
    unsigned entry = table.skips[bits >> shift];
    blocks::refill(bits, next, taken);
    bits <<= entry & 63;
    taken += entry;
    if (taken < 63u << 8) {
      entry = table.skips[bits >> shift];
      bits <<= entry & 63;
      taken += entry;
      if (taken < 63u << 8) continue;
    }
    const unsigned position = taken >> 8;
    taken &= 0xFF;
    if (blocks::has_ended(position)) break;
    BitWindow apart{bits, next, taken};
    unsigned at = position - (entry >> 8);
    const blocks::Step step = blocks::by_hand<false>(table.search, apart, entry & 0xFF, at, nullptr);
    bits = apart.bits, next = apart.next, taken = apart.taken;
    if (step == blocks::Step::kBad) return false;
    if (step == blocks::Step::kEnd) break;
    taken |= at << 8;
  }
  window = BitWindow{bits, next, taken};
  return true;
}

}  // namespace penstock::kernels

#endif
