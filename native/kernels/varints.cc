#include "kernels/varints.h"

#include <algorithm>
#include <bit>
#include <cstring>

#ifdef __x86_64__
#ifdef __GNUC__  // some versions say of their own header that it uses a register as it finds it, which is what it wants
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace penstock {

namespace {

static_assert(std::endian::native == std::endian::little, "values are taken from records as they lie there");

constexpr std::ptrdiff_t kBlock = 16;              // bytes scanned at once
constexpr std::ptrdiff_t kReach = kBlock + 8 - 1;  // bytes read for a number of a block
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

// Joins the seven low bits of each of the first `length` bytes of a word.
inline std::uint64_t joined(std::uint64_t word, std::int64_t length) {
  word &= ~std::uint64_t{0} >> (64 - 8 * length);
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

// Appends the numbers of up to eight bytes from `at` on that end within one block; returns the begin of the next.
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
    // A number has at least one byte, so the values fit if there is room for that many.
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

bool unpack_plain(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink) {
  return unpack(packed, readable, sink, joined);
}

#ifdef __x86_64__
__attribute__((target("bmi,bmi2"))) bool unpack_bmi2(Bytes packed, const std::uint8_t* readable,
                                                     Sink<std::int64_t>* sink) {
  return unpack(packed, readable, sink,
                [](std::uint64_t word, std::int64_t length) __attribute__((target("bmi,bmi2"))) {
                  return _pext_u64(word, 0x7f7f7f7f7f7f7f7f >> (64 - 8 * length));
                });
}

#define PENSTOCK_LANES target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")

constexpr std::uint64_t kEvery = ~std::uint64_t{0};
constexpr std::int64_t kLanes = 8;  // numbers unpacked at once, each in a lane of eight bytes

// The positions of set bits in `which`, in order, for 64 bytes.
__attribute__((PENSTOCK_LANES)) inline __m512i places_of(std::uint64_t which) {
  const __m512i all = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
                                       0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
  return _mm512_maskz_compress_epi8(which, all);
}

// Joins the seven low bits of each byte of a lane.
__attribute__((PENSTOCK_LANES)) inline __m512i joined_lanes(__m512i bytes) {
  const __m512i low = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
  const __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(static_cast<short>(0x8001)), low);  // 1 and 128 times
  const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x40000001));  // 1 and 1 << 14 times
  const __m512i lower = _mm512_set1_epi64(0xffffffff);
  return _mm512_or_si512(_mm512_and_si512(fours, lower), _mm512_srli_epi64(_mm512_andnot_si512(lower, fours), 4));
}

// Unpacks eight numbers at once, of any lengths: the bytes that end a number determine all places, without branches. No
// byte outside is read or written.
__attribute__((PENSTOCK_LANES)) bool unpack_lanes(Bytes packed, const std::uint8_t* readable,
                                                  Sink<std::int64_t>* sink) {
  const __m512i lane = _mm512_set_epi64(0x0707070707070707, 0x0606060606060606, 0x0505050505050505, 0x0404040404040404,
                                        0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
  const __m512i byte = _mm512_set1_epi64(0x0706050403020100);
  const std::uint8_t* at = packed.begin;
  while (at != packed.end) {
    const auto size = static_cast<unsigned>(std::min<std::ptrdiff_t>(packed.end - at, 64));
    const std::uint64_t live = _bzhi_u64(kEvery, size);
    const __m512i bytes = _mm512_maskz_loadu_epi8(live, at);
    const std::uint64_t last = live & ~_mm512_movepi8_mask(bytes);
    const std::int64_t count = _mm_popcnt_u64(last);
    if (!count || count > sink->room - sink->count) break;
    const __m512i ends = places_of(last), after = _mm512_add_epi8(ends, _mm512_set1_epi8(1));
    std::int64_t* const out = sink->values + sink->count;
    for (std::int64_t first = 0; first < count; first += kLanes) {
      const __m512i number = _mm512_add_epi8(lane, _mm512_set1_epi8(static_cast<char>(first)));
      const __m512i end = _mm512_permutexvar_epi8(number, ends);
      const __m512i begin = _mm512_maskz_permutexvar_epi8(first ? kEvery : kEvery << kLanes,
                                                          _mm512_sub_epi8(number, _mm512_set1_epi8(1)), after);
      const auto wanted = static_cast<__mmask8>(_bzhi_u32(0xff, static_cast<unsigned>(count - first)));
      const __m512i length = _mm512_sub_epi8(end, begin);  // less one
      const __mmask64 longer = _mm512_cmpgt_epi8_mask(length, _mm512_set1_epi8(kLongest - 1));
      if (longer) return unpack_bmi2({at, packed.end}, readable, sink);
      const __mmask64 inside = _mm512_cmple_epi8_mask(byte, length);
      const __m512i from = _mm512_add_epi8(begin, byte);
      _mm512_mask_storeu_epi64(out + first, wanted, joined_lanes(_mm512_maskz_permutexvar_epi8(inside, from, bytes)));
    }
    sink->count += count;
    at += 64 - __builtin_clzll(last);
  }
  return at == packed.end || unpack_bmi2({at, packed.end}, readable, sink);
}

// Whether the processor has fast bit extraction, not in microcode.
bool has_bmi2() { return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2"); }

bool has_lanes() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}
#endif

}  // namespace

std::vector<UnpackVarints> ways_to_unpack_varints() {
  std::vector<UnpackVarints> ways{unpack_plain};
#ifdef __x86_64__
  if (has_bmi2()) ways.push_back(unpack_bmi2);
  if (has_bmi2() && has_lanes()) ways.push_back(unpack_lanes);
#endif
  return ways;
}

bool unpack_varints(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink) {
  static const UnpackVarints fastest = ways_to_unpack_varints().back();
  return fastest(packed, readable, sink);
}

}  // namespace penstock
