// The wall and CPU time of threads.
#pragma once

#include <cstdint>

namespace penstock {

// All in ns, except `yields` and `reads`. Values that the system does not report are 0.
struct ThreadTimes {
  std::int64_t wall = 0;     // of a monotonic clock
  std::int64_t cpu = 0;      // on a core
  std::int64_t starved = 0;  // ready to run, without a core
  std::int64_t yields = 0;   // times that the thread gave up its core to wait
  std::int64_t reads = 0;    // blocks of 512 bytes read from a disk
};

// Returns the times of the calling thread since its start.
ThreadTimes thread_times() noexcept;

}  // namespace penstock
