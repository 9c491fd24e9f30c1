#include "kernels/background.h"

#include <time.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace penstock {

namespace {

constexpr std::int64_t kAtOnce = 50'000;  // ns; about what it takes to be put to sleep and woken again

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void BackgroundThread::Shared::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return ends || !waiting.empty(); });
    if (waiting.empty()) return;
    under_way = waiting.front();
    waiting.pop_front();
    lock.unlock();
    under_way->take_part();
    lock.lock();
    under_way = nullptr;
    changed.notify_all();
  }
}

BackgroundThread::~BackgroundThread() {
  if (!thread_) return;
  if (process_ != getpid()) {  // the parent's: its handle can be neither joined nor detached, its lock may be held
    (void)thread_.release();
    (void)shared_.release();
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ends = true;
  }
  shared_->changed.notify_all();
  thread_->join();
}

void BackgroundThread::take(Background& work) {
  if (thread_ && process_ != getpid()) {
    (void)thread_.release();
    (void)shared_.release();
  }
  if (!thread_) {
    if (std::thread::hardware_concurrency() < 2) return;
    auto shared = std::make_unique<Shared>();
    try {
      thread_ = std::make_unique<std::thread>([state = shared.get()] { state->run(); });
    } catch (const std::system_error&) {
      return;
    }
    shared_ = std::move(shared);
    process_ = getpid();
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->waiting.push_back(&work);
    work.shared_ = shared_.get();
  }
  shared_->changed.notify_all();
}

Background::Background(std::size_t pieces, Work work, std::shared_ptr<BackgroundThread> thread)
    : work_(std::move(work)), pieces_(pieces), thread_(std::move(thread)) {
  if (pieces) thread_->take(*this);
}

Background::~Background() {
  if (!is_ours()) return;
  next_ = pieces_;
  std::unique_lock lock(shared_->mutex);
  auto& waiting = shared_->waiting;
  waiting.erase(std::remove(waiting.begin(), waiting.end(), this), waiting.end());
  shared_->changed.wait(lock, [this] { return shared_->under_way != this; });
}

Took Background::wait() {
  if (missing_ && process_ != getpid()) begin_anew();
  take_part();
  if (missing_) await_thread();
  return {wall_, cpu_};
}

// The last pieces are the thread's.
void Background::await_thread() {
  const std::int64_t begin = now(CLOCK_MONOTONIC);
  while (missing_ && now(CLOCK_MONOTONIC) - begin < kAtOnce) std::this_thread::yield();
  if (!missing_) return;
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return !missing_; });
}

void Background::take_part() {
  std::size_t done = 0, piece = next_++;
  if (piece >= pieces_) return;
  const std::int64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  for (; piece < pieces_; piece = next_++, ++done) work_(piece);
  wall_ += now(CLOCK_MONOTONIC) - wall;
  cpu_ += now(CLOCK_THREAD_CPUTIME_ID) - cpu;
  missing_ -= done;
}

void Background::begin_anew() {
  process_ = getpid();
  shared_ = nullptr;
  next_ = wall_ = cpu_ = 0;
  missing_ = pieces_;
}

}  // namespace penstock
