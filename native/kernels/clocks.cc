#include "kernels/clocks.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace penstock {

namespace {

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

#ifdef RUSAGE_THREAD
constexpr int kWhose = RUSAGE_THREAD;
#else
constexpr int kWhose = RUSAGE_SELF;  // of all threads: too many, but none is left out
#endif

rusage read_usage() noexcept {
  rusage usage{};
  return getrusage(kWhose, &usage) == 0 ? usage : rusage{};
}

// Linux's statistics of the calling thread: ns on a core, ns in the run queue, turns. The file stays open as long as
// the thread lives, since opening takes ten times as long as reading; a forked child opens its own.
class Schedule {
 public:
  Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  ~Schedule() { shut(); }

  std::int64_t starved() noexcept {
    if (const pid_t process = getpid(); process != process_) {
      shut();
      process_ = process;
      file_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    }
    char text[96];
    const ssize_t size = file_ < 0 ? 0 : pread(file_, text, sizeof text - 1, 0);
    if (size <= 0) return 0;
    text[size] = '\0';
    char* second = nullptr;
    std::strtoll(text, &second, 10);
    return std::strtoll(second, nullptr, 10);
  }

 private:
  void shut() noexcept {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  int file_ = -1;
  pid_t process_ = -1;
};

thread_local Schedule schedule;

}  // namespace

ThreadTimes thread_times() noexcept {
  const rusage usage = read_usage();
  return {read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_THREAD_CPUTIME_ID), schedule.starved(), usage.ru_nvcsw,
          usage.ru_inblock};
}

}  // namespace penstock
