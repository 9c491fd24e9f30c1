// Work that goes on in a thread of its own while whoever began it does something else.
#pragma once

#include <unistd.h>

#include <functional>
#include <thread>

namespace penstock {

// Does `work`, which throws nothing, beside its maker; where no thread is to be had, at once. Dies once it is done.
//
// A child of a fork has no such thread: there `wait` does the work, once more or for the first time.
class Background {
 public:
  explicit Background(std::function<void()> work);
  ~Background() { end(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Returns once the work is done.
  void wait() {
    if (!end()) work_();
  }

 private:
  bool end() noexcept;

  const std::function<void()> work_;
  const pid_t process_ = getpid();
  std::thread thread_;
};

}  // namespace penstock
