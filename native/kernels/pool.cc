#include "kernels/pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <new>

#include "kernels/fork_lock.h"

namespace penstock {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLargest = std::size_t{1} << 62;
constexpr std::size_t kLooked = 8;  // blocks, the last returned: others are no longer in any cache

thread_local char here;  // its address identifies the thread

// Returns the next of eight sizes per doubling, a multiple of the alignment.
std::size_t capacity_of(std::size_t bytes) {
  if (bytes > kLargest) throw std::bad_alloc();
  if (bytes <= 8 * kAlignment) return bytes ? (bytes + kAlignment - 1) / kAlignment * kAlignment : kAlignment;
  const std::size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

void* allocate(std::size_t capacity) {
  const bool huge = capacity >= kHugePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, huge ? kHugePage : kAlignment, capacity)) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (huge) madvise(memory, capacity, MADV_HUGEPAGE);  // advice only: fewer page faults when the memory is new
#endif
  return memory;
}

template <class Blocks>
void release(const Blocks& blocks) {
  for (const auto& block : blocks) std::free(block.memory);
}

}  // namespace

void* Pool::take(std::size_t bytes, std::size_t& capacity, Home& home) {
  capacity = capacity_of(bytes);
  home = &here;
  Blocks evicted;
  {
    const ForkLock<Pool> lock;
    if (void* memory = pop(capacity, home)) return memory;
    evict_idle(peak_ > live_ + capacity ? peak_ - live_ - capacity : 0, evicted);
  }
  release(evicted);
  void* memory = allocate(capacity);
  const ForkLock<Pool> lock;
  live_ += capacity;
  peak_ = std::max(peak_, live_ + idle_);
  return memory;
}

// Returns the smallest kept block of `capacity` up to twice as much, and updates `capacity`.
void* Pool::pop(std::size_t& capacity, Home home) {
  for (auto found = free_.lower_bound(capacity); found != free_.end() && found->first / 2 <= capacity; ++found) {
    Blocks& blocks = found->second;
    if (blocks.empty()) continue;
    const auto looked = blocks.rbegin() + static_cast<std::ptrdiff_t>(std::min(blocks.size(), kLooked));
    const auto own = std::find_if(blocks.rbegin(), looked, [&](const Idle& block) { return block.home == home; });
    const auto chosen = own == looked ? std::prev(blocks.end()) : std::prev(own.base());
    void* memory = chosen->memory;
    blocks.erase(chosen);
    capacity = found->first;
    idle_ -= capacity;
    live_ += capacity;
    return memory;
  }
  return nullptr;
}

void Pool::give_back(void* memory, std::size_t capacity, Home home) noexcept {
  Blocks evicted;
  {
    const ForkLock<Pool> lock;
    live_ -= capacity;
    try {
      if (capacity <= idle_limit_) {
        evict_idle(idle_limit_ - capacity, evicted, capacity);  // a block returned now matches current use
        free_[capacity].push_back({memory, home});
        idle_ += capacity;
        memory = nullptr;
      }
    } catch (const std::bad_alloc&) {
      // no memory for bookkeeping: the block is freed instead of kept
    }
  }
  std::free(memory);
  release(evicted);
}

// Frees blocks until at most `most` bytes are kept; those of `last` after all others.
void Pool::evict_idle(std::size_t most, Blocks& evicted, std::size_t last) {
  for (int own = 0; own < 2; ++own) {
    for (auto& [size, blocks] : free_) {
      while (idle_ > most && !blocks.empty() && (size == last) == static_cast<bool>(own)) {
        evicted.push_back(blocks.back());
        blocks.pop_back();
        idle_ -= size;
      }
    }
  }
}

void Pool::trim() noexcept {
  std::map<std::size_t, Blocks> freed;
  {
    const ForkLock<Pool> lock;
    freed.swap(free_);
    idle_ = 0;
  }
  for (const auto& [size, blocks] : freed) release(blocks);
}

void Pool::close() noexcept {
  {
    const ForkLock<Pool> lock;
    idle_limit_ = 0;
  }
  trim();
}

Pool::Usage Pool::usage() const {
  const ForkLock<Pool> lock;
  return {live_, idle_, peak_};
}

}  // namespace penstock
