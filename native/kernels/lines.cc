#include "kernels/lines.h"

#include <algorithm>
#include <bit>

#include "kernels/guard.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PENSTOCK_AVX2 __attribute__((target("avx2,bmi")))
#endif

namespace penstock {

namespace {

using Status = ScanOutcome::Status;

constexpr std::int64_t kBlock = 64;                       // bytes scanned together
constexpr std::int64_t kAtOnce = std::int64_t{64} << 20;  // bytes after which the caller is asked

// Returns whether a line of bytes data[begin] to data[end - 1], without its '\n', counts.
inline bool is_wanted(const unsigned char* data, std::int64_t begin, std::int64_t end, LinesWanted wanted) noexcept {
  if (wanted == LinesWanted::kAll) return true;
  if (wanted == LinesWanted::kNotEmpty) return end - begin > 1 || (end - begin == 1 && data[begin] != '\r');
  for (; begin < end; ++begin)
    if (data[begin] != ' ' && data[begin] != '\t' && data[begin] != '\r') return true;
  return false;
}

// The state of a scan within the text.
struct Walk {
  const unsigned char* data;
  LinesWanted wanted;
  std::int64_t* begins;
  std::size_t count;
  std::int64_t begin;  // of the current line

  // Handles a '\n' at `at`.
  void end_line(std::int64_t at) noexcept {
    begins[count++] = is_wanted(data, begin, at, wanted) ? begin : ~begin;
    begin = at + 1;
  }
};

// Walks byte by byte from `at` to `end`, while there is room; returns the position.
std::int64_t walk_bytes(Walk& walk, std::int64_t at, std::int64_t end, std::size_t capacity) noexcept {
  for (; at < end && walk.count < capacity; ++at)
    if (walk.data[at] == '\n') walk.end_line(at);
  return at;
}

#if defined(PENSTOCK_AVX2)

PENSTOCK_AVX2 inline std::uint64_t newlines_of(const unsigned char* block) noexcept {
  const __m256i newline = _mm256_set1_epi8('\n');
  const auto* const halves = reinterpret_cast<const __m256i*>(block);
  const __m256i low = _mm256_cmpeq_epi8(_mm256_loadu_si256(halves), newline);
  const __m256i high = _mm256_cmpeq_epi8(_mm256_loadu_si256(halves + 1), newline);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

// Walks whole blocks while there is room for as many lines as one can end.
PENSTOCK_AVX2 std::int64_t walk_blocks(Walk& walk, std::int64_t at, std::int64_t end, std::size_t capacity) noexcept {
  Walk local = walk;  // in registers
  while (end - at >= kBlock && capacity - local.count >= static_cast<std::size_t>(kBlock)) {
    for (std::uint64_t mask = newlines_of(local.data + at); mask; mask &= mask - 1)
      local.end_line(at + std::countr_zero(mask));
    at += kBlock;
  }
  walk = local;
  return at;
}

bool has_avx2() noexcept {
  static const bool available = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
  return available;
}

#else

std::int64_t walk_blocks(Walk&, std::int64_t at, std::int64_t, std::size_t) noexcept { return at; }
bool has_avx2() noexcept { return false; }

#endif

void scan(LineScan& scan, bool by_blocks) noexcept {
  Walk walk{scan.data, scan.wanted, scan.begins, 0, scan.position};
  std::int64_t at = scan.position;
  scan.status = Status::kMore;
  // Continues within a line longer than one section.
  while (at < scan.size && walk.count < scan.capacity &&
         (walk.begin == scan.position || at - scan.position < kAtOnce)) {
    const std::int64_t end = std::min(scan.size, at + kAtOnce);
    if (by_blocks) at = walk_blocks(walk, at, end, scan.capacity);
    at = walk_bytes(walk, at, end, scan.capacity);
  }
  if (at == scan.size && walk.count < scan.capacity) {
    // Without a '\n' after it, a '\r' is a character.
    const LinesWanted wanted = scan.wanted == LinesWanted::kNotEmpty ? LinesWanted::kAll : scan.wanted;
    if (walk.begin < scan.size)
      walk.begins[walk.count++] = is_wanted(scan.data, walk.begin, scan.size, wanted) ? walk.begin : ~walk.begin;
    walk.begin = scan.size;
    scan.status = Status::kEnd;
  }
  scan.position = walk.begin;
  scan.count = walk.count;
}

struct GuardedScan {
  const LineScan asked;
  volatile std::int64_t position = 0;
  volatile std::size_t count = 0;
  volatile Status status = Status::kMore;
};

void scan_guarded(void* context) noexcept {
  auto& work = *static_cast<GuardedScan*>(context);
  LineScan scan = work.asked;
  scan_lines(scan);
  work.position = scan.position;
  work.count = scan.count;
  work.status = scan.status;
}

}  // namespace

void scan_lines(LineScan& of) noexcept { scan(of, has_avx2()); }

void scan_lines_portable(LineScan& of) noexcept { scan(of, false); }

ScanOutcome scan_lines(const MappedFile& file, std::int64_t& position, std::int64_t* begins, std::size_t capacity,
                       LinesWanted wanted) noexcept {
  GuardedScan work{{file.data(), file.size(), wanted, begins, capacity, position}};
  if (!guarded(scan_guarded, &work)) return {Status::kTruncated, 0};
  position = work.position;
  return {work.status, work.count};
}

}  // namespace penstock
