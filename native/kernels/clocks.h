// What a thread has taken of the clock and of the cores.
#pragma once

#include <cstdint>

namespace penstock {

// All in ns, but for `yields` and `reads`. What the system does not tell is 0.
struct ThreadTimes {
  std::int64_t wall = 0;     // on a clock that never goes back
  std::int64_t cpu = 0;      // on a core
  std::int64_t starved = 0;  // ready to run, without a core
  std::int64_t yields = 0;   // how often it gave up its core to wait
  std::int64_t reads = 0;    // blocks of 512 bytes that it had read from a disk
};

// Of the calling thread, since it began.
ThreadTimes thread_times() noexcept;

}  // namespace penstock
