// Mapped files: as many as may be at a time, opened again when they are wanted, and at hand in the child of a fork.
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "kernels/mapped.h"
#include "tests/check.h"

using penstock::MappedFile;
using penstock::MappedFiles;

namespace {

constexpr std::size_t kCount = 8;

// Files of one page each, which begin with their number.
struct Files {
  Files() {
    for (std::size_t i = 0; i < kCount; ++i) {
      descriptors.push_back(::memfd_create("mapped", 0));
      std::vector<unsigned char> page(4096, static_cast<unsigned char>(i));
      CHECK(::write(descriptors[i], page.data(), page.size()) == 4096);
      paths.push_back("/proc/self/fd/" + std::to_string(descriptors[i]));
    }
  }
  ~Files() {
    for (const int descriptor : descriptors) ::close(descriptor);
  }
  std::vector<int> descriptors;
  std::vector<std::string> paths;
};

bool is_whole(const MappedFile& file, std::size_t number) {
  return !file.error() && file.size() == 4096 && file.data()[4095] == number;
}

void check_bounds() {
  const Files files;
  MappedFiles mapped(files.paths, 3);
  std::vector<std::weak_ptr<const MappedFile>> seen(kCount);
  for (std::size_t turn = 0; turn < 100; ++turn) {
    const std::size_t number = turn * 5 % kCount;
    seen[number] = mapped.open(number);
    std::size_t alive = 0;
    for (const auto& each : seen) alive += !each.expired();
    CHECK(alive <= 3 && is_whole(*mapped.open(number), number));
    CHECK(mapped.open(number) == mapped.open(number));
  }
  const auto held = mapped.open(1);  // what is held stays
  for (std::size_t i = 2; i < kCount; ++i) CHECK(is_whole(*mapped.open(i), i));
  CHECK(is_whole(*held, 1));
}

void check_errors() {
  MappedFiles mapped({"/proc/self/no such file", "/proc/self"}, 1);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(mapped.open(0)->error() == ENOENT && !mapped.open(0)->data());
    CHECK(mapped.open(1)->error() == EISDIR);
  }
}

void check_threads() {
  const Files files;
  MappedFiles mapped(files.paths, 2);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < 2000; ++i) {
        const std::size_t number = (i * 7 + thread) % kCount;
        CHECK(is_whole(*mapped.open(number), number));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Children of forks while threads open and let go: each child does the same, and would wait for ever for a lock that
// a thread of the parent held, or find what it was about to change.
void check_forks(std::size_t most) {
  const Files files;
  MappedFiles mapped(files.paths, most);
  for (std::size_t i = 0; i < kCount; ++i) (void)mapped.open(i);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 2; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; !over; ++i) CHECK(is_whole(*mapped.open(i % kCount), i % kCount));
    });
  for (int turn = 0; turn < 200; ++turn) {
    const pid_t child = ::fork();
    CHECK(child >= 0);
    if (child == 0) {
      ::alarm(20);  // ends a child that waits for ever
      for (std::size_t i = 0; i < 3 * kCount; ++i)
        if (!is_whole(*mapped.open(i % kCount), i % kCount)) ::_exit(1);
      ::_exit(0);
    }
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  check_bounds();
  check_errors();
  check_threads();
  check_forks(kCount);
#ifndef __SANITIZE_ADDRESS__  // whose own allocator a child may find locked
  check_forks(2);
#endif
}
