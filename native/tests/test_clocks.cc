// Clocks go forward, and tell a thread that waits from one that works.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "kernels/clocks.h"
#include "tests/check.h"

using penstock::thread_times;
using penstock::ThreadTimes;

namespace {

int lowest_free_descriptor() {
  const int file = open("/dev/null", O_RDONLY);
  close(file);
  return file;
}

void check_sleep() {
  const ThreadTimes before = thread_times();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const ThreadTimes after = thread_times();
  CHECK(after.wall - before.wall >= 20'000'000);
  CHECK(after.cpu >= before.cpu);
  CHECK(after.cpu - before.cpu < after.wall - before.wall);
  CHECK(after.starved >= before.starved);
#ifdef __linux__
  CHECK(after.yields > before.yields);
#endif
}

void check_work() {
  const ThreadTimes before = thread_times();
  while (thread_times().cpu < before.cpu + 1'000'000) {
  }
  CHECK(thread_times().wall > before.wall);
}

void check_descriptors() {
  const int free = lowest_free_descriptor();
  for (int i = 0; i < 3; ++i) std::thread([] { thread_times(); }).join();
  CHECK(lowest_free_descriptor() == free);  // each thread shut what it had opened
}

void check_fork() {
  thread_times();
  const int free = lowest_free_descriptor();
  const pid_t child = fork();
  if (child == 0) {
    const ThreadTimes times = thread_times();
    const bool fine = lowest_free_descriptor() == free && times.cpu < 1'000'000'000;
    _exit(fine ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace

int main() {
  check_sleep();
  check_work();
  check_descriptors();
  check_fork();
  return 0;
}
