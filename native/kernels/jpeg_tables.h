// Lookup tables for the Huffman codes of baseline JPEG files: several bits of the scan in one step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::kernels {

// A Huffman code as files state it: how many codes there are of each length (1 to 16), and their symbols in order.
struct HuffmanCode {
  uint8_t counts[17];
  uint8_t symbols[256];

  bool operator==(const HuffmanCode&) const = default;
};

// The symbol that begins a window of 16 bits, for codes too long for a table.
struct HuffmanSearch {
  uint16_t limit[16];  // of length l + 1: the first window beyond its codes
  int32_t offset[17];  // of a code of length l: add it to get the place of its symbol
  uint8_t symbols[256];
};

inline constexpr int kDcBits = 9;
inline constexpr int kValueBits = 11, kSkipBits = 12;  // of the lookups of a table; fewer for chroma
inline constexpr int kChromaBits = 10;

// The most bits that a lookup takes, so that two need one refill.
constexpr unsigned most_bits(unsigned of_lookup) { return (56 - of_lookup) / 2; }

// Positions from kBlockEnd on mean that the block has ended, those from kByHand on that its next symbol must be decoded
// by hand; a position of a block that has not ended is at most 63.
inline constexpr unsigned kBlockEnd = 128, kByHand = 193;

// Up to two symbols of the coefficients of a block, from one window of bits. Tables hold entries as integers, which one
// load reads.
struct AcEntry {
  uint8_t bits;      // that both take
  int8_t first;      // the value of the first, if there are two
  uint8_t begin;     // of the bits of the last value in a 64-bit window, from its low end
  uint8_t size;      // of these bits
  int16_t bias;      // to be added to these bits
  uint8_t to_first;  // coefficients from the last position to the first value
  uint8_t to_last;   // and to the last
};
static_assert(sizeof(AcEntry) == 8);

struct AcTable {
  int value_shift, skip_shift;  // 64 - bits of a lookup
  HuffmanSearch search;
  alignas(64) uint64_t values[1 << kValueBits];
  uint16_t skips[1 << kSkipBits];  // all symbols that fit: their bits, and the coefficients they take << 8
};

struct DcEntry {
  uint8_t bits;       // of code and value; 0: by hand
  uint8_t code;       // of the code alone
  uint8_t shift;      // from the top of a 64-bit window to its value
  uint8_t has_value;  // 0 or 1
};

struct DcTable {
  HuffmanSearch search;
  DcEntry entries[1 << kDcBits];
};

// These return false for a code that no valid file has.
bool build(const HuffmanCode& code, bool is_chroma, AcTable& table);
bool build(const HuffmanCode& code, DcTable& table);

}  // namespace penstock::kernels
