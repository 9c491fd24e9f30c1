// Work in the background: each piece done once, by the thread or by who waits, no more than so many ahead, or let go
// of; a forked child does itself what was not done.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/background.h"
#include "tests/check.h"

using penstock::Background;
using penstock::BackgroundThread;

namespace {

void check_done() {
  const auto thread = std::make_shared<BackgroundThread>();
  for (const std::size_t pieces : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> first_done(pieces), second_done(pieces);
    Background first(pieces, [&](std::size_t piece) { ++first_done[piece]; }, thread);
    Background second(pieces, [&](std::size_t piece) { ++second_done[piece]; }, thread);
    second.wait();
    for (const auto& times : second_done) CHECK(times == 1);
    first.wait();
    second.wait();
    for (const auto& times : first_done) CHECK(times == 1);
    for (const auto& times : second_done) CHECK(times == 1);
    CHECK(second.took().wall >= 0);
  }
}

// While the thread is held up in one piece, who waits does the others; and work behind it that nobody has begun.
void check_shared() {
  const auto thread = std::make_shared<BackgroundThread>();
  std::atomic<bool> begun{false}, go{false};
  std::thread::id where[2];
  Background work(
      2,
      [&](std::size_t piece) {
        where[piece] = std::this_thread::get_id();
        if (piece) {
          go = true;
          return;
        }
        begun = true;
        while (!go) std::this_thread::yield();
      },
      thread);
  std::atomic<int> behind{0};
  Background next(3, [&](std::size_t) { ++behind; }, thread);
  while (!begun) std::this_thread::yield();
  next.wait();
  CHECK(behind == 3);
  CHECK(!go);
  work.wait();
  CHECK(where[0] != std::this_thread::get_id());
  CHECK(where[1] == std::this_thread::get_id());
}

// No more is begun than what is taken and so many ahead, whoever does it; all of what is taken is done.
void check_ahead() {
  for (const std::size_t ahead : {1, 2, 5, 64, 1000}) {
    const auto thread = std::make_shared<BackgroundThread>();
    constexpr std::size_t kPieces = 400;
    std::vector<std::atomic<int>> done(kPieces);
    std::atomic<std::size_t> allowed{ahead}, beyond{0};
    Background work(
        kPieces,
        [&](std::size_t piece) {
          if (piece >= allowed) ++beyond;
          ++done[piece];
        },
        thread, ahead);
    for (std::size_t end = 1; end <= kPieces; ++end) {
      allowed = end + ahead;
      if (end % 2 || !work.try_take_to(end)) work.take_to(end);
      CHECK(done[end - 1] == 1 && work.has_to(end));
      if (end % 7 == 0) std::this_thread::yield();
      if (end % 100 == 0)  // the thread stands still, and goes on
        while (!work.has_to(std::min(end + ahead / 2, kPieces))) std::this_thread::yield();
      work.take_to(end);
    }
    work.wait();
    CHECK(beyond == 0);
    for (const auto& times : done) CHECK(times == 1);
  }
}

// Work without a bound is done behind other such work; with one, together with that before it, no more than so many.
void check_line() {
  const auto thread = std::make_shared<BackgroundThread>();
  std::atomic<int> all{0}, some{0};
  Background first(5, [&](std::size_t) { ++all; }, thread);
  Background second(5, [&](std::size_t) { ++all; }, thread);
  while (all < 10) std::this_thread::yield();
  const auto other = std::make_shared<BackgroundThread>();
  Background third(6, [&](std::size_t) { ++some; }, other, 8);
  Background fourth(6, [&](std::size_t) { ++some; }, other, 8);
  for (std::size_t taken = 0; taken <= 4; taken += 2) {  // half of what may be done ahead is begun at once
    if (taken) third.take_to(taken);
    while (some < static_cast<int>(taken) + 5) std::this_thread::yield();
    CHECK(some <= static_cast<int>(taken) + 8);
  }
  fourth.wait();
  third.wait();
  CHECK(some == 12);
}

// A piece that takes the thread long is waited for.
void check_awaited() {
  const auto thread = std::make_shared<BackgroundThread>();
  std::atomic<bool> begun{false}, waits{false};
  std::atomic<int> over{0};
  Background work(
      2,
      [&](std::size_t piece) {
        if (!piece) {
          begun = true;
          while (!waits) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than who waits stays awake
        }
        ++over;
      },
      thread, 1);
  while (!begun) std::this_thread::yield();
  waits = true;
  work.take_to(1);
  CHECK(over >= 1);
  work.wait();
  CHECK(over == 2);
}

// What is let go of was never begun, or is over.
void check_let_go() {
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> begun{0}, over{0};
    auto thread = std::make_shared<BackgroundThread>();
    const auto work = [&](std::size_t) {
      ++begun;
      ++over;
    };
    std::optional<Background> first, second;
    first.emplace(3, work, thread, i % 3 ? 3 : 1);  // perhaps while the thread stands still in it
    second.emplace(3, work, thread);
    thread.reset();
    if (i % 2) second.reset();
    first.reset();
    second.reset();
    CHECK(begun == over);
  }
}

void check_fork() {
  const auto thread = std::make_shared<BackgroundThread>();
  std::atomic<bool> begun{false}, go{false};
  std::atomic<int> done{0}, over{0};
  Background ended(1, [&](std::size_t) { ++over; }, thread);
  ended.wait();
  Background work(
      2,
      [&](std::size_t) {
        begun = true;
        while (!go) std::this_thread::yield();
        ++done;
      },
      thread);
  std::optional<Background> other;
  other.emplace(1, [&](std::size_t) { ++done; }, thread);
  while (!begun) std::this_thread::yield();
  const pid_t child = fork();
  go = true;
  if (child == 0) {
    other.reset();  // the thread that it would wait for is the parent's
    work.wait();
    work.wait();
    ended.wait();
    Background another(1, [&](std::size_t) { ++done; }, thread);
    another.wait();
    _exit(done == 3 && over == 1 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main() {
  check_done();
  check_shared();
  check_ahead();
  check_line();
  check_awaited();
  check_let_go();
  check_fork();
}
