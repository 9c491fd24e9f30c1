// Work that goes on in a thread of its own while whoever began it does something else.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace penstock {

// What a piece of work took, in ns by the clock and on the processor.
struct Took {
  std::int64_t wall = 0, cpu = 0;
};

class Background;

// A thread that does one piece of work after another; it begins with the first, and ends with this.
//
// A child of a fork has no such thread: there another begins.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

 private:
  friend class Background;

  // What the thread and those who give it work share.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Background*> waiting;
    Background* under_way = nullptr;
    bool ends = false;

    void run();
  };

  // Whether there is a thread to take the work.
  bool take(Background& work);

  std::unique_ptr<Shared> shared_;
  std::unique_ptr<std::thread> thread_;
  pid_t process_ = 0;
};

// One piece of work, which throws nothing, beside its maker; where no thread is to be had, at once. When it dies, the
// work is done, or was never begun.
class Background {
 public:
  Background(std::function<void()> work, std::shared_ptr<BackgroundThread> thread);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Returns once the work is done. In a child of a fork, where nobody else would do it, it is done here.
  Took wait();

 private:
  friend class BackgroundThread;
  void run();
  bool is_ours() const { return shared_ && process_ == getpid(); }

  const std::function<void()> work_;
  const std::shared_ptr<BackgroundThread> thread_;
  const pid_t process_ = getpid();
  BackgroundThread::Shared* shared_ = nullptr;  // of the thread that has taken it
  bool done_ = false;
  Took took_;
};

}  // namespace penstock
