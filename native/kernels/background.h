// Work that goes on in a thread of its own while whoever began it does something else, and is shared by who waits for
// it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace penstock {

// What work took, in ns by the clock and on the processor: the sum over all who did a part of it.
struct Took {
  std::int64_t wall = 0, cpu = 0;
};

class Background;

// A thread that does one work after another; it begins with the first, and ends with this.
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

  // Takes the work, where a thread is to be had.
  void take(Background& work);

  std::unique_ptr<Shared> shared_;
  std::unique_ptr<std::thread> thread_;
  pid_t process_ = 0;
};

// Work in so many pieces, which may be done in any order and at once, and throw nothing. They are done beside its
// maker, and by whoever waits; where no thread is to be had, by that one alone. When it dies, no piece is being done.
class Background {
 public:
  using Work = std::function<void(std::size_t piece)>;

  Background(std::size_t pieces, Work work, std::shared_ptr<BackgroundThread> thread);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Does what nobody has begun, and returns once all is done; for one thread at a time. A child of a fork, where nobody
  // else would do it, begins anew.
  Took wait();

 private:
  friend class BackgroundThread;

  bool is_ours() const { return shared_ && process_ == getpid(); }
  // Does pieces that nobody has begun, as long as there are any.
  void take_part();
  void await_thread();
  void begin_anew();

  const Work work_;
  const std::size_t pieces_;
  const std::shared_ptr<BackgroundThread> thread_;
  pid_t process_ = getpid();
  BackgroundThread::Shared* shared_ = nullptr;  // of the thread that has taken it
  std::atomic<std::size_t> next_{0}, missing_{pieces_};
  std::atomic<std::int64_t> wall_{0}, cpu_{0};
};

}  // namespace penstock
