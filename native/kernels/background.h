// Work that goes on in a thread of its own while whoever began it does something else.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
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

  // What the work took, in ns by the clock and on the processor.
  struct Took {
    std::int64_t wall = 0, cpu = 0;
  };

  // Returns once the work is done.
  Took wait();
  // Waits for the thread, if there is one; whether it was there to do the work.
  bool end() noexcept;

 private:
  void measured();

  const std::function<void()> work_;
  const pid_t process_ = getpid();
  Took took_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace penstock
