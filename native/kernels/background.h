// Work in a thread of its own, in parallel with its owner, who also shares the work while waiting.
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
#include <utility>
#include <vector>

namespace penstock {

// The wall and CPU time of work, in ns: the sum over all threads that did a part.
struct Took {
  std::int64_t wall = 0, cpu = 0;
};

class Background;

// A thread that does one work after another, started by the first, ended by the destructor. It runs on the given cores
// only, if there are some, where the system can bind threads.
//
// A child of a fork starts a new thread.
class BackgroundThread {
 public:
  explicit BackgroundThread(std::vector<int> cores = {}) : cores_(std::move(cores)) {}
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

 private:
  friend class Background;

  // The state shared by the thread and its users.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Background*> line;     // all living work of the thread
    std::deque<Background*> waiting;  // work that the thread has not reached
    Background* under_way = nullptr;
    bool ends = false;

    void run();
  };

  // Adds the work, if a thread is available.
  void take(Background& work);

  std::vector<int> cores_;
  std::unique_ptr<Shared> shared_;
  std::unique_ptr<std::thread> thread_;
  pid_t process_ = 0;
};

// Work in a number of pieces, which are begun in order, run in parallel, and never throw. The thread and any waiting
// caller run pieces; without a thread, the caller runs all. The destructor waits for running pieces.
//
// One thread at a time may call the methods. A child of a fork, without the other threads, restarts the pieces that
// were not done.
class Background {
 public:
  using Work = std::function<void(std::size_t piece)>;

  // `ahead` pieces are begun beyond the taken ones, including those left of earlier work.
  Background(std::size_t pieces, Work work, std::shared_ptr<BackgroundThread> thread, std::size_t ahead = kAll);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Runs the pieces that have not begun, and returns once all are done.
  void wait();
  // Does the same for the pieces before `end`, and takes them.
  void take_to(std::size_t end);
  // Like `take_to`, but for at most about 100 microseconds; returns whether all pieces are done.
  bool try_take_to(std::size_t end);
  // Returns whether `take_to` would return at once.
  bool has_to(std::size_t end) const;
  // The time of the finished pieces.
  Took took() const { return {wall_, cpu_}; }

 private:
  friend class BackgroundThread;
  static constexpr std::size_t kAll = SIZE_MAX / 2;

  bool is_ours() const { return shared_ && process_ == getpid(); }
  bool begin(std::size_t& piece);
  void run(std::size_t piece);
  void tell(std::size_t piece);
  void take_part();
  bool is_begun() const { return next_ >= pieces_; }
  bool is_held_up() const;
  std::size_t left() const { return pieces_ - taken_; }
  void allow(std::size_t pieces);
  void allow_beyond(std::size_t end);
  bool is_done_to(std::size_t end);
  bool try_finish(std::size_t end, std::int64_t patience);
  void finish(std::size_t end);
  void begin_anew();

  const Work work_;
  const std::size_t pieces_, ahead_;
  const std::shared_ptr<BackgroundThread> thread_;
  pid_t process_ = getpid();
  BackgroundThread::Shared* shared_ = nullptr;  // of the thread with this work
  std::size_t taken_ = 0;                       // pieces
  std::atomic<std::size_t> next_{0}, allowed_;
  std::unique_ptr<std::atomic<bool>[]> done_;
  std::atomic<bool> awaited_{false}, stands_still_{false};  // by its maker, by the thread
  std::atomic<std::int64_t> wall_{0}, cpu_{0};
};

}  // namespace penstock
