#include "kernels/background.h"

#include <time.h>

#include <system_error>
#include <utility>

namespace penstock {

namespace {

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Background::Background(std::function<void()> work) : work_(std::move(work)) {
  if (std::thread::hardware_concurrency() > 1) {
    try {
      thread_ = std::make_unique<std::thread>([this] { measured(); });
      return;
    } catch (const std::system_error&) {
      // no thread is to be had
    }
  }
  measured();
}

Background::Took Background::wait() {
  if (!end()) measured();
  return took_;
}

void Background::measured() {
  const std::int64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  work_();
  took_ = {now(CLOCK_MONOTONIC) - wall, now(CLOCK_THREAD_CPUTIME_ID) - cpu};
}

bool Background::end() noexcept {
  if (!thread_) return true;
  const bool ours = process_ == getpid();
  if (ours)
    thread_->join();
  else
    (void)thread_.release();  // a handle of the parent's, which can be neither joined nor detached
  thread_.reset();
  return ours;
}

}  // namespace penstock
