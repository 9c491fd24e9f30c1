// Memory that is used again: blocks go back to the pool that they came from, or to the system if it has enough.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace penstock {

// Free memory by size. Shared by the pool's owner and by every block still out, so that a block may outlive its pool.
//
// Who takes a block gets one that it took before, where there is one: that may still be in its core's cache, where one
// that another core wrote last has to be fetched from there.
//
// Sizes are rounded up to one of eight classes a doubling (at most an eighth is wasted), so that a steady run of
// similar batches always finds its memory again; where nothing of its class is free a block of up to twice the size
// serves, and the whole grows past its peak only while nothing is free. All methods may be called from any thread, and
// after a fork.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  // At most `idle_limit` bytes are kept for later.
  explicit Pool(std::size_t idle_limit) : idle_limit_(idle_limit) {}
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // The thread that took a block, as no other is named while it lives.
  using Home = const void*;

  // At least `bytes` bytes at an address divisible by 64, uninitialised; throws std::bad_alloc. `capacity` and `home`
  // are what to hand back.
  void* take(std::size_t bytes, std::size_t& capacity, Home& home);
  void give_back(void* memory, std::size_t capacity, Home home) noexcept;

  // Frees what is idle.
  void trim() noexcept;
  // Keeps nothing from now on: what is idle is freed now, what is out when it comes back.
  void close() noexcept;

  struct Usage {
    std::size_t live;  // bytes in blocks that are out
    std::size_t idle;  // bytes kept for later
    std::size_t peak;  // the most that live + idle has been
  };
  Usage usage() const;

 private:
  struct Idle {
    void* memory;
    Home home;
  };
  using Blocks = std::vector<Idle>;
  void* pop(std::size_t& capacity, Home home);
  void evict_idle(std::size_t most, Blocks& evicted, std::size_t last = 0);

  std::size_t idle_limit_;
  std::size_t live_ = 0, idle_ = 0, peak_ = 0;
  std::map<std::size_t, Blocks> free_;  // capacity -> blocks
};

// One block of a pool; hands its memory back when it dies.
class Block {
 public:
  Block(std::shared_ptr<Pool> pool, std::size_t bytes) : pool_(std::move(pool)), bytes_(bytes) {
    data_ = pool_->take(bytes, capacity_, home_);
  }
  ~Block() { pool_->give_back(data_, capacity_, home_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Pool> pool_;
  std::size_t bytes_, capacity_ = 0;
  Pool::Home home_ = nullptr;
  void* data_;
};

}  // namespace penstock
