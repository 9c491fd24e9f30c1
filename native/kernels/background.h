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
    std::deque<Background*> line;     // all that has been given to the thread and still lives
    std::deque<Background*> waiting;  // what of it the thread has not come to
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

// Work in so many pieces, which are begun in order, done several at once, and throw nothing. They are done beside its
// maker, and by whoever waits; where no thread is to be had, by that one alone. When it dies, no piece is being done.
//
// It is told, and waited for, by one thread at a time. A child of a fork, where nobody else does any, begins those anew
// that were not done.
class Background {
 public:
  using Work = std::function<void(std::size_t piece)>;

  // `ahead` pieces are begun beyond those that are taken, those counted that are left of the work before it.
  Background(std::size_t pieces, Work work, std::shared_ptr<BackgroundThread> thread, std::size_t ahead = kAll);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Does what nobody has begun, and returns once all is done.
  void wait();
  // The same of those before `end`, which are taken then.
  void take_to(std::size_t end);
  // `take_to`, but for what takes some 100 microseconds at the most; whether all of it is done.
  bool try_take_to(std::size_t end);
  // Whether `take_to` would return at once.
  bool has_to(std::size_t end) const;
  // What was done so far took.
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
  BackgroundThread::Shared* shared_ = nullptr;  // of the thread that has taken it
  std::size_t taken_ = 0;                       // pieces
  std::atomic<std::size_t> next_{0}, allowed_;
  std::unique_ptr<std::atomic<bool>[]> done_;
  std::atomic<bool> awaited_{false}, stands_still_{false};  // by its maker, by the thread
  std::atomic<std::int64_t> wall_{0}, cpu_{0};
};

}  // namespace penstock
