#include "kernels/permute_pass.h"

// The loops are written once and compiled for several instruction sets; the processor is asked once which to use.
#if defined(__x86_64__) && defined(__GNUC__)
#define PENSTOCK_X86 1
#endif

namespace penstock::pass {

namespace {

template <class Word, int kRounds, bool kForward>
inline __attribute__((always_inline)) void loop(const Permutation::Rounds& rounds, const std::int64_t* rows,
                                                std::int64_t* out, std::size_t count, std::int64_t start) {
  const Permutation::Rounds local = rounds;  // so that the compiler sees that `out` does not change it
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const Word position = static_cast<Word>(rows[i] - start);
    const Word moved = kForward ? forward<Word, kRounds>(local, position) : inverse<Word, kRounds>(local, position);
    out[i] = start + static_cast<std::int64_t>(moved);
  }
}

inline __attribute__((always_inline)) bool inside(const std::int64_t* rows, std::size_t count, std::int64_t start,
                                                  std::uint64_t length) {
  const std::uint64_t last = length - 1;
  std::uint64_t bad = length ? 0 : std::uint64_t{1} << 63;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t position = static_cast<std::uint64_t>(rows[i]) - static_cast<std::uint64_t>(start);
    bad |= position | (last - position);  // the top bit is set if position < 0 or position > last
  }
  return !(bad >> 63);
}

// A family of loops compiled for one instruction set.
#define PENSTOCK_LOOPS(Name, attributes)                                                                       \
  struct Name {                                                                                                \
    template <class Word, int kRounds, bool kForward>                                                          \
    attributes static void run(const Permutation::Rounds& rounds, const std::int64_t* rows, std::int64_t* out, \
                               std::size_t count, std::int64_t start) {                                        \
      loop<Word, kRounds, kForward>(rounds, rows, out, count, start);                                          \
    }                                                                                                          \
    attributes static bool all_inside(const std::int64_t* rows, std::size_t count, std::int64_t start,         \
                                      std::uint64_t length) {                                                  \
      return inside(rows, count, start, length);                                                               \
    }                                                                                                          \
  };

PENSTOCK_LOOPS(Plain, )
#ifdef PENSTOCK_X86
PENSTOCK_LOOPS(Avx2, __attribute__((target("avx2"))))
#ifdef __clang__
PENSTOCK_LOOPS(Avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#else
PENSTOCK_LOOPS(Avx512, __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))))
#endif
#endif

struct Loops {
  Loop tiny[2], narrow[2], wide[2];  // [forward]
  bool (*all_inside)(const std::int64_t*, std::size_t, std::int64_t, std::uint64_t);
};

template <class Family>
Loops loops_of() {
  return {{Family::template run<std::uint32_t, 12, false>, Family::template run<std::uint32_t, 12, true>},
          {Family::template run<std::uint32_t, 8, false>, Family::template run<std::uint32_t, 8, true>},
          {Family::template run<std::uint64_t, 8, false>, Family::template run<std::uint64_t, 8, true>},
          Family::all_inside};
}

Loops best_loops() {
#ifdef PENSTOCK_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return loops_of<Avx512>();
  if (__builtin_cpu_supports("avx2")) return loops_of<Avx2>();
#endif
  return loops_of<Plain>();
}

const Loops& loops() {
  static const Loops best = best_loops();
  return best;
}

}  // namespace

Loop choose(bool forward, int width) {
  const Loops& best = loops();
  return (width <= 8 ? best.tiny : width <= 32 ? best.narrow : best.wide)[forward];
}

bool all_inside(const std::int64_t* rows, std::size_t count, std::int64_t start, std::uint64_t length) {
  return loops().all_inside(rows, count, start, length);
}

}  // namespace penstock::pass
