// Mapped memory whose file has shrunk: the body is left, as often as it happens, in any thread, and nothing else is.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "kernels/guard.h"
#include "tests/check.h"

using penstock::guarded;

namespace {

constexpr std::size_t kPages = 4, kPage = 4096;

// A mapping of four pages of which the file has `left`.
struct Mapped {
  explicit Mapped(std::size_t left) {
    const int descriptor = ::memfd_create("guard", 0);
    CHECK(descriptor >= 0 && ::ftruncate(descriptor, kPages * kPage) == 0);
    memory = static_cast<unsigned char*>(::mmap(nullptr, kPages * kPage, PROT_READ, MAP_SHARED, descriptor, 0));
    CHECK(memory != MAP_FAILED);
    CHECK(::ftruncate(descriptor, static_cast<off_t>(left * kPage)) == 0);
    ::close(descriptor);
  }
  ~Mapped() { ::munmap(memory, kPages * kPage); }
  unsigned char* memory;
};

struct Walk {
  const unsigned char* memory;
  volatile std::size_t at = 0;
};

void walk(void* context) {
  auto& work = *static_cast<Walk*>(context);
  unsigned sum = 0;
  for (std::size_t page = 0; page < kPages; ++page) {
    work.at = page;
    sum += *static_cast<const volatile unsigned char*>(work.memory + page * kPage);
  }
  work.at = kPages + sum;  // the memory is zeros
}

struct Nested {
  const unsigned char* good;
  const unsigned char* bad;
  volatile bool inner = true, after = false;
};

void nested(void* context) {
  auto& work = *static_cast<Nested*>(context);
  Walk inner{work.bad};
  work.inner = guarded(walk, &inner);
  Walk outer{work.good};
  walk(&outer);
  work.after = true;
}

void check_all() {
  const Mapped whole(kPages), half(2);
  for (int round = 0; round < 100; ++round) {
    Walk good{whole.memory}, bad{half.memory};
    CHECK(guarded(walk, &good) && good.at == kPages);
    CHECK(!guarded(walk, &bad) && bad.at == 2);
    Nested both{whole.memory, half.memory};
    CHECK(guarded(nested, &both) && !both.inner && both.after);
    Nested swapped{half.memory, whole.memory};
    CHECK(!guarded(nested, &swapped) && swapped.inner && !swapped.after);
  }
}

}  // namespace

int main() {
  check_all();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(check_all);
  for (std::thread& thread : threads) thread.join();
}
