// Work in the background: it is done when it is awaited or let go of, once, and a forked child does it itself.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>

#include "kernels/background.h"
#include "tests/check.h"

using penstock::Background;

namespace {

void check_done() {
  std::atomic<int> done{0};
  {
    Background one([&] { ++done; });
    one.wait();
    CHECK(done == 1);
    one.wait();
  }
  {
    const Background dropped([&] { ++done; });
  }
  CHECK(done == 2);
}

void check_fork() {
  std::atomic<bool> go{false};
  std::atomic<int> done{0}, ended{0};
  Background work([&] {
    while (!go) std::this_thread::yield();
    ++done;
  });
  std::optional<Background> other;
  other.emplace([&] {
    while (!go) std::this_thread::yield();
  });
  Background over([&] { ++ended; });
  while (!ended) std::this_thread::yield();
  const pid_t child = fork();
  go = true;
  if (child == 0) {
    other.reset();  // the thread that it would wait for is the parent's
    work.wait();
    work.wait();
    over.wait();
    _exit(done == 1 && ended == 2 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main() {
  check_done();
  check_fork();
}
