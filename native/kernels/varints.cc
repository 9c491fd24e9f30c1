#include "kernels/varints.h"

#include <algorithm>
#include <bit>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace penstock {

namespace {

static_assert(std::endian::native == std::endian::little, "values are taken from records as they lie there");

constexpr std::ptrdiff_t kBlock = 16;              // bytes looked at in one go
constexpr std::ptrdiff_t kReach = kBlock + 8 - 1;  // bytes that a number of a block is read from
constexpr std::int64_t kLongest = 8;               // bytes of a number taken in one word

// A bit for each of sixteen bytes: whether it is the last of its number.
inline std::uint32_t last_bytes(const std::uint8_t* at) {
#ifdef __x86_64__
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

// The seven low bits of each of the first `length` bytes of a word, side by side.
inline std::uint64_t joined(std::uint64_t word, std::int64_t length) {
  word &= ~std::uint64_t{0} >> (64 - 8 * length);
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

// Appends the numbers of up to eight bytes that begin at `at`, as far as they end within one block; returns where the
// next begins.
template <class Joined>
inline __attribute__((always_inline)) const std::uint8_t* unpack_block(const std::uint8_t* at, const std::uint8_t* end,
                                                                       std::int64_t*& out, const Joined& join) {
  std::uint32_t last = last_bytes(at);
  if (end - at < kBlock) last &= (std::uint32_t{1} << (end - at)) - 1;
  std::int64_t start = 0;
  while (last) {
    const std::int64_t length = std::countr_zero(last) + 1 - start;
    if (length > kLongest) break;
    std::uint64_t word;
    std::memcpy(&word, at + start, 8);
    *out++ = static_cast<std::int64_t>(join(word, length));
    start += length;
    last &= last - 1;
  }
  return at + start;
}

template <class Joined>
inline __attribute__((always_inline)) bool unpack(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink,
                                                  const Joined& join) {
  const std::uint8_t* at = packed.begin;
  while (at != packed.end) {
    // A number has one byte at least, so that the values fit where the room is as many.
    if (readable - at >= kReach && sink->room - sink->count >= packed.end - at) {
      std::int64_t* out = sink->values + sink->count;
      const std::uint8_t* next = unpack_block(at, packed.end, out, join);
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

#ifdef __x86_64__
__attribute__((target("bmi,bmi2"))) bool unpack_bmi2(Bytes packed, const std::uint8_t* readable,
                                                     Sink<std::int64_t>* sink) {
  return unpack(packed, readable, sink,
                [](std::uint64_t word, std::int64_t length) __attribute__((target("bmi,bmi2"))) {
                  return _pext_u64(word, 0x7f7f7f7f7f7f7f7f >> (64 - 8 * length));
                });
}

// Where the processor has bit extraction, and not as a slow program of its own.
bool has_bmi2() { return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2"); }
#endif

}  // namespace

bool unpack_varints(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink) {
#ifdef __x86_64__
  static const bool fast = has_bmi2();
  if (fast) return unpack_bmi2(packed, readable, sink);
#endif
  return unpack(packed, readable, sink, joined);
}

}  // namespace penstock
