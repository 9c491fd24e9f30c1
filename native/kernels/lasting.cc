#include "kernels/lasting.h"

#include <sys/mman.h>
#include <unistd.h>

#include "kernels/fork_lock.h"
#include "kernels/guard.h"

namespace penstock {

namespace {

std::atomic<std::uint64_t> cut_so_far{0};
const std::uintptr_t kPage = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace

std::atomic<LastingMap::Region*> LastingMap::regions_{nullptr};
LastingMap::Region* LastingMap::free_ = nullptr;

LastingMap::LastingMap(const char* path) : file_(path) {
  if (!file_.data()) return;
  watch_bus_errors();
  const ForkLock<LastingMap> lock;
  region_ = free_;
  if (region_) {
    free_ = region_->next_free;
  } else {
    region_ = new Region;
    region_->next = regions_;
    regions_ = region_;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(file_.data());
  region_->is_cut = false;
  region_->begin = begin;
  region_->end =
      begin + static_cast<std::uintptr_t>(file_.size());  // last: until then the handler does not see the mapping
}

LastingMap::~LastingMap() {
  if (!region_) return;
  const ForkLock<LastingMap> lock;
  region_->end = 0;
  region_->next_free = free_;
  free_ = region_;
}

std::uint64_t LastingMap::cuts() noexcept { return cut_so_far; }

bool LastingMap::is_in_cut(const void* at) noexcept {
  if (!cut_so_far) return false;
  const auto place = reinterpret_cast<std::uintptr_t>(at);
  for (const Region* region = regions_; region; region = region->next)
    if (place >= region->begin && place < region->end) return region->is_cut;
  return false;
}

bool mend_mapping(const void* at) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(at);
  for (LastingMap::Region* region = LastingMap::regions_; region; region = region->next) {
    const std::uintptr_t end = region->end, begin = region->begin, page = place / kPage * kPage;
    if (place < begin || place >= end || region->end != end) continue;
    void* const zeros = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) return false;
    if (!region->is_cut.exchange(true)) {
      ++cut_so_far;
      static constexpr char kTold[] =
          "penstock: a file was cut short while it was mapped: reads beyond its end return zeros\n";
      const ssize_t written = ::write(STDERR_FILENO, kTold, sizeof kTold - 1);
      (void)written;
    }
    return true;
  }
  return false;
}

}  // namespace penstock
