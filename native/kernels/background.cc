#include "kernels/background.h"

#include <system_error>
#include <utility>

namespace penstock {

Background::Background(std::function<void()> work) : work_(std::move(work)) {
  if (std::thread::hardware_concurrency() > 1) {
    try {
      thread_ = std::thread(work_);
      return;
    } catch (const std::system_error&) {
      // no thread is to be had
    }
  }
  work_();
}

// Waits for the thread, if there is one; whether it was there to do the work.
bool Background::end() noexcept {
  if (!thread_.joinable()) return true;
  if (process_ == getpid()) {
    thread_.join();
    return true;
  }
  thread_.detach();  // a handle of the parent's
  return false;
}

}  // namespace penstock
