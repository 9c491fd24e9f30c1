#include "kernels/background.h"

#include <time.h>

#include <algorithm>
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

void BackgroundThread::Shared::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return ends || !waiting.empty(); });
    if (waiting.empty()) return;
    under_way = waiting.front();
    waiting.pop_front();
    lock.unlock();
    under_way->run();
    lock.lock();
    under_way->done_ = true;
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

bool BackgroundThread::take(Background& work) {
  if (thread_ && process_ != getpid()) {
    (void)thread_.release();
    (void)shared_.release();
  }
  if (!thread_) {
    if (std::thread::hardware_concurrency() < 2) return false;
    auto shared = std::make_unique<Shared>();
    try {
      thread_ = std::make_unique<std::thread>([state = shared.get()] { state->run(); });
    } catch (const std::system_error&) {
      return false;
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
  return true;
}

Background::Background(std::function<void()> work, std::shared_ptr<BackgroundThread> thread)
    : work_(std::move(work)), thread_(std::move(thread)) {
  if (thread_->take(*this)) return;
  run();
  done_ = true;
}

Background::~Background() {
  if (!is_ours()) return;
  std::unique_lock lock(shared_->mutex);
  auto& waiting = shared_->waiting;
  waiting.erase(std::remove(waiting.begin(), waiting.end(), this), waiting.end());
  shared_->changed.wait(lock, [this] { return shared_->under_way != this; });
}

Took Background::wait() {
  if (is_ours()) {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(lock, [this] { return done_; });
  } else if (!done_) {
    run();
    done_ = true;
  }
  return took_;
}

void Background::run() {
  const std::int64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  work_();
  took_ = {now(CLOCK_MONOTONIC) - wall, now(CLOCK_THREAD_CPUTIME_ID) - cpu};
}

}  // namespace penstock
