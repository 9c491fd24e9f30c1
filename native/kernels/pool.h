// Recycled memory: blocks return to their pool, or to the system if the pool has enough.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace penstock {

// Free memory by size. Shared by the pool's owner and by every block in use, so that a block may outlive its pool.
//
// A thread preferably gets a block that it had before, which may still be in its core's cache; a block that another
// core wrote last has to be fetched from there.
//
// Sizes are rounded up to one of eight classes per doubling (at most an eighth is wasted), so that a steady run of
// similar batches always finds free memory; if nothing of its class is free, a block of up to twice the size serves,
// and the total grows past its peak only while nothing is free. All methods may be called from any thread, and after a
// fork.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  // At most `idle_limit` bytes are kept for later.
  explicit Pool(std::size_t idle_limit) : idle_limit_(idle_limit) {}
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // The identity of the thread that took a block, unique among living threads.
  using Home = const void*;

  // At least `bytes` bytes at an address divisible by 64, uninitialized; throws std::bad_alloc. Return the block with
  // its `capacity` and `home`.
  void* take(std::size_t bytes, std::size_t& capacity, Home& home);
  void give_back(void* memory, std::size_t capacity, Home home) noexcept;

  // Frees idle memory.
  void trim() noexcept;
  // Stops recycling: frees idle memory now, and blocks in use when they return.
  void close() noexcept;

  struct Usage {
    std::size_t live;  // bytes of blocks in use
    std::size_t idle;  // bytes kept for later
    std::size_t peak;  // the largest sum of live and idle
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

// One block of a pool; the destructor returns its memory.
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
