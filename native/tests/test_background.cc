// Work in the background: done in order and once, or let go of; a forked child does it itself.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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
  std::vector<int> order;  // written by one thread
  {
    Background first([&] { order.push_back(1); }, thread), second([&] { order.push_back(2); }, thread);
    second.wait();
    CHECK((order == std::vector{1, 2}));
    first.wait();
    second.wait();
    CHECK(second.wait().wall >= 0);
  }
  Background after([&] { order.push_back(3); }, thread);
  after.wait();
  CHECK((order == std::vector{1, 2, 3}));
}

// What is let go of was never begun, or is over.
void check_let_go() {
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> begun{0}, over{0};
    auto thread = std::make_shared<BackgroundThread>();
    const auto work = [&] {
      ++begun;
      ++over;
    };
    std::optional<Background> first, second;
    first.emplace(work, thread);
    second.emplace(work, thread);
    thread.reset();
    if (i % 2) second.reset();
    first.reset();
    second.reset();
    CHECK(begun == over);
  }
}

void check_fork() {
  const auto thread = std::make_shared<BackgroundThread>();
  std::atomic<bool> go{false};
  std::atomic<int> done{0}, over{0};
  Background ended([&] { ++over; }, thread);
  ended.wait();
  Background work(
      [&] {
        while (!go) std::this_thread::yield();
        ++done;
      },
      thread);
  std::optional<Background> other;
  other.emplace([&] { ++done; }, thread);
  const pid_t child = fork();
  go = true;
  if (child == 0) {
    other.reset();  // the thread that it would wait for is the parent's
    work.wait();
    work.wait();
    ended.wait();
    Background another([&] { ++done; }, thread);
    another.wait();
    _exit(done == 2 && over == 1 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main() {
  check_done();
  check_let_go();
  check_fork();
}
