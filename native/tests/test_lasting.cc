// Mappings of files that are cut short: what is left is there, what is not is zeros, and who asks is told.
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/guard.h"
#include "kernels/lasting.h"
#include "tests/check.h"

using penstock::guarded;
using penstock::LastingMap;

namespace {

constexpr std::size_t kPage = 4096;

// A file of some pages, each full of its number, the first of which is 1.
struct File {
  explicit File(std::size_t pages) : descriptor(::memfd_create("lasting", 0)) {
    for (std::size_t i = 1; i <= pages; ++i) {
      const std::vector<unsigned char> page(kPage, static_cast<unsigned char>(i));
      CHECK(::write(descriptor, page.data(), kPage) == static_cast<ssize_t>(kPage));
    }
  }
  ~File() { ::close(descriptor); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }
  void cut(std::size_t size) const { CHECK(::ftruncate(descriptor, static_cast<off_t>(size)) == 0); }
  int descriptor;
};

unsigned char at(const LastingMap& map, std::size_t place) {
  return *static_cast<const volatile unsigned char*>(map.data() + place);
}

void check_whole() {
  const File file(3);
  const LastingMap map(file.path().c_str());
  CHECK(!map.error() && map.size() == 3 * static_cast<std::int64_t>(kPage) && at(map, 0) == 1 && !map.is_cut());
  file.cut(kPage + 1);  // nothing was touched yet
  CHECK(!map.is_cut() && at(map, kPage) == 2 && at(map, kPage + 1) == 0);
  CHECK(at(map, 0) == 1 && !map.is_cut());  // the rest of a page is zeros anyway
}

void check_cut() {
  const File file(5), other(5);
  const LastingMap map(file.path().c_str()), whole(other.path().c_str());
  const std::uint64_t before = LastingMap::cuts();
  file.cut(2 * kPage);
  CHECK(at(map, 3 * kPage + 7) == 0 && map.is_cut() && LastingMap::cuts() == before + 1);
  CHECK(at(map, 2 * kPage) == 0 && at(map, 5 * kPage - 1) == 0 && LastingMap::cuts() == before + 1);
  CHECK(at(map, 0) == 1 && at(map, 2 * kPage - 1) == 2);
  CHECK(LastingMap::is_in_cut(map.data()) && LastingMap::is_in_cut(map.data() + 5 * kPage - 1));
  CHECK(!LastingMap::is_in_cut(whole.data()) && !LastingMap::is_in_cut(&before));
  CHECK(!whole.is_cut() && at(whole, 5 * kPage - 1) == 5);
  const LastingMap again(file.path().c_str());
  CHECK(again.size() == 2 * static_cast<std::int64_t>(kPage) && !again.is_cut() && at(again, kPage) == 2);
}

struct Touch {
  const LastingMap& map;
  std::size_t place;
  volatile unsigned char found = 255;
};

// Where a body is guarded it is left, as ever.
void check_guarded() {
  const File file(2);
  const LastingMap map(file.path().c_str());
  file.cut(0);
  Touch touch{map, kPage};
  const auto body = [](void* context) {
    auto& work = *static_cast<Touch*>(context);
    work.found = at(work.map, work.place);
  };
  CHECK(!guarded(body, &touch) && touch.found == 255 && !map.is_cut());
  CHECK(at(map, 0) == 0 && map.is_cut());
  CHECK(guarded(body, &touch) && touch.found == 0);
}

void check_others() {
  CHECK(LastingMap("/proc/self/no such file").error() == ENOENT);
  const File file(0);
  const LastingMap empty(file.path().c_str());
  CHECK(!empty.error() && !empty.size() && !empty.is_cut());
}

// Many that come and go, side by side.
void check_threads() {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([] {
      for (std::size_t i = 0; i < 60; ++i) {
        const File file(3);
        const LastingMap map(file.path().c_str()), second(file.path().c_str());
        if (i % 2) file.cut(kPage);
        CHECK(at(map, 2 * kPage) == (i % 2 ? 0 : 3) && map.is_cut() == (i % 2 == 1) && !second.is_cut());
        CHECK(at(second, kPage) == (i % 2 ? 0 : 2) && second.is_cut() == (i % 2 == 1));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  check_whole();
  check_cut();
  check_guarded();
  check_others();
  check_threads();
}
