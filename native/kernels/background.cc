#include "kernels/background.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace penstock {

namespace {

constexpr std::int64_t kAtOnce = 50'000;  // ns; about the time to sleep and wake
constexpr std::int64_t kShortly = 4 * kAtOnce;

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void keep_on([[maybe_unused]] std::thread& thread, [[maybe_unused]] const std::vector<int>& cores) {
#ifdef __linux__
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  (void)pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
#endif
}

}  // namespace

void BackgroundThread::Shared::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return ends || !waiting.empty(); });
    if (waiting.empty()) return;
    under_way = waiting.front();
    waiting.pop_front();
    while (!under_way->is_begun()) {
      under_way->stands_still_ = true;
      changed.wait(lock, [this] { return !under_way->is_held_up(); });
      under_way->stands_still_ = false;
      lock.unlock();
      under_way->take_part();
      lock.lock();
    }
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
      keep_on(*thread_, cores_);
    } catch (const std::system_error&) {
      return;
    }
    shared_ = std::move(shared);
    process_ = getpid();
  }
  {
    const std::lock_guard lock(shared_->mutex);
    std::size_t room = work.ahead_;
    if (room != Background::kAll)
      for (const Background* before : shared_->line) room -= std::min(before->left(), room);
    work.allowed_ = std::min(room, work.pieces_);
    shared_->line.push_back(&work);
    shared_->waiting.push_back(&work);
    work.shared_ = shared_.get();
  }
  shared_->changed.notify_all();
}

Background::Background(std::size_t pieces, Work work, std::shared_ptr<BackgroundThread> thread, std::size_t ahead)
    : work_(std::move(work)),
      pieces_(pieces),
      ahead_(std::max<std::size_t>(ahead, 1)),
      thread_(std::move(thread)),
      allowed_(std::min(ahead_, pieces)),
      done_(std::make_unique<std::atomic<bool>[]>(pieces)) {
  if (pieces) thread_->take(*this);
}

Background::~Background() {
  if (!is_ours()) return;
  next_ = pieces_;
  std::unique_lock lock(shared_->mutex);
  std::erase(shared_->line, this);
  std::erase(shared_->waiting, this);
  shared_->changed.notify_all();
  shared_->changed.wait(lock, [this] { return shared_->under_way != this; });
}

void Background::wait() {
  allow(pieces_);
  finish(pieces_);
}

void Background::take_to(std::size_t end) {
  allow_beyond(end);
  finish(end);
}

bool Background::try_take_to(std::size_t end) {
  allow_beyond(end);
  return try_finish(end, kShortly);
}

bool Background::has_to(std::size_t end) const {
  std::size_t piece = taken_;
  while (piece < end && done_[piece]) ++piece;
  return piece >= end;
}

void Background::allow(std::size_t pieces) {
  allowed_ = pieces;
  if (!stands_still_ || is_held_up() || !is_ours()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->changed.notify_all();
}

// The pieces that may be done ahead once all before `end` are taken: of this work, and of the next.
void Background::allow_beyond(std::size_t end) {
  allow(std::min(end + ahead_, pieces_));
  if (end + ahead_ <= pieces_ || !is_ours()) return;
  const std::lock_guard lock(shared_->mutex);
  const auto own = std::find(shared_->line.begin(), shared_->line.end(), this);
  if (own + 1 == shared_->line.end()) return;
  Background& next = **(own + 1);
  next.allowed_ = std::max(next.allowed_.load(), std::min({end + ahead_ - pieces_, next.ahead_, next.pieces_}));
  if (!next.is_held_up()) shared_->changed.notify_all();
}

// Whether the thread should wait until half of its pieces ahead are due, so that it is rarely woken.
bool Background::is_held_up() const {
  const std::size_t allowed = allowed_, next = next_;
  return next < pieces_ && allowed < pieces_ && allowed < next + (ahead_ + 1) / 2;
}

bool Background::is_done_to(std::size_t end) {
  while (taken_ < end && done_[taken_]) ++taken_;
  return taken_ >= end;
}

// Runs pieces that have not begun, even after `end`, until those before it are done, `patience` (ns) is over, or the
// thread takes long for its piece.
bool Background::try_finish(std::size_t end, std::int64_t patience) {
  if (is_done_to(end)) return true;
  if (process_ != getpid()) begin_anew();
  const std::int64_t begun = now(CLOCK_MONOTONIC);
  std::size_t piece;
  while (!is_done_to(end) && now(CLOCK_MONOTONIC) - begun < patience && begin(piece)) run(piece);
  const std::int64_t nothing_left = now(CLOCK_MONOTONIC);
  wall_ += nothing_left - begun;
  cpu_ += nothing_left - begun;  // nearly; reading the CPU time would cost more than a short piece
  while (!is_done_to(end) && now(CLOCK_MONOTONIC) - nothing_left < kAtOnce) std::this_thread::yield();
  return is_done_to(end);
}

void Background::finish(std::size_t end) {
  if (try_finish(end, INT64_MAX)) return;
  std::unique_lock lock(shared_->mutex);
  awaited_ = true;
  shared_->changed.wait(lock, [&] { return is_done_to(end); });
  awaited_ = false;
}

bool Background::begin(std::size_t& piece) {
  for (piece = next_; piece < allowed_;)
    if (next_.compare_exchange_weak(piece, piece + 1)) return true;
  return false;
}

void Background::run(std::size_t piece) {
  if (done_[piece]) return;
  work_(piece);
  tell(piece);
}

void Background::tell(std::size_t piece) {
  done_[piece] = true;
  if (!awaited_) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->changed.notify_all();
}

// The thread's part: runs pieces that have not begun, as long as there are any.
void Background::take_part() {
  std::size_t piece;
  if (!begin(piece)) return;
  std::int64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  const auto count = [&] {
    const std::int64_t wall_now = now(CLOCK_MONOTONIC), cpu_now = now(CLOCK_THREAD_CPUTIME_ID);
    wall_ += wall_now - std::exchange(wall, wall_now);
    cpu_ += cpu_now - std::exchange(cpu, cpu_now);
  };
  do {
    work_(piece);
    if (is_begun()) count();  // before its owner can see that all is done
    tell(piece);
  } while (begin(piece));
  count();
}

void Background::begin_anew() {
  process_ = getpid();
  shared_ = nullptr;
  next_ = 0;
  stands_still_ = awaited_ = false;
}

}  // namespace penstock
