// The waits of `overlap`: off the core, and without the GIL until the moment they end.

#include <cstdint>
#include <ctime>

namespace {

constexpr int64_t SECOND = 1'000'000'000;
constexpr int64_t AWAKE = 400'000;  // ns before the end; a virtual machine wakes a sleeper 0.1 to 0.3 ms late

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * SECOND + time.tv_nsec;
}

}  // namespace

// Returns at `until`, in seconds of the monotonic clock.
extern "C" void wait_until(double until) {
  const int64_t end = static_cast<int64_t>(until * SECOND), asleep = end - AWAKE;
  const timespec wake{asleep / SECOND, asleep % SECOND};
  if (asleep > now()) {
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) != 0) {
    }
  }
  while (now() < end) {
  }
}
