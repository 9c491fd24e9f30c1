#include "kernels/varints.h"

#include <algorithm>
#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace penstock {

namespace {

static_assert(std::endian::native == std::endian::little, "values are taken from records as they lie there");

constexpr std::ptrdiff_t kBlock = 16;              // bytes looked at in one go
constexpr std::ptrdiff_t kReach = kBlock + 8 - 1;  // bytes that a number of a block is read from
constexpr std::int64_t kLongest = 8;               // bytes of a number taken in one word

// A bit for each of sixteen bytes: whether it is the last of its number.
inline std::uint32_t last_bytes(const std::uint8_t* at) {
#ifdef __SSE2__
  const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return ~static_cast<std::uint32_t>(_mm_movemask_epi8(block)) & 0xffff;
#else
  std::uint32_t mask = 0;
  for (int half = 0; half < 2; ++half) {
    std::uint64_t word;
    std::memcpy(&word, at + 8 * half, 8);
    word = ~word & 0x8080808080808080;
    mask |= static_cast<std::uint32_t>((word >> 7) * 0x0102040810204080 >> 56) << (8 * half);
  }
  return mask;
#endif
}

// The seven low bits of each of eight bytes, side by side.
inline std::uint64_t joined(std::uint64_t word) {
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

// The numbers of up to eight bytes that begin at `at`, where they lie in one block; returns where the next begins.
inline const std::uint8_t* unpack_block(const std::uint8_t* at, const std::uint8_t* end, std::int64_t*& out) {
  std::uint32_t last = last_bytes(at);
  if (end - at < kBlock) last &= (std::uint32_t{1} << (end - at)) - 1;
  std::int64_t start = 0;
  while (last) {
    const std::int64_t length = std::countr_zero(last) + 1 - start;
    if (length > kLongest) break;
    std::uint64_t word;
    std::memcpy(&word, at + start, 8);
    *out++ = static_cast<std::int64_t>(joined(word & ~std::uint64_t{0} >> (64 - 8 * length)));
    start += length;
    last &= last - 1;
  }
  return at + start;
}

}  // namespace

bool unpack_varints(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink) {
  const std::uint8_t* at = packed.begin;
  while (at != packed.end) {
    // A number has one byte at least, so that the values fit where the room is as many.
    if (readable - at >= kReach && sink->room - sink->count >= packed.end - at) {
      std::int64_t* out = sink->values + sink->count;
      const std::uint8_t* next = unpack_block(at, packed.end, out);
      sink->count = out - sink->values;
      if (next != at) {
        at = next;
        continue;
      }
    }
    WireReader reader({at, packed.end});
    std::uint64_t value;
    if (!reader.varint(&value)) return false;
    sink->push(static_cast<std::int64_t>(value));
    at = reader.at();
  }
  return true;
}

}  // namespace penstock
