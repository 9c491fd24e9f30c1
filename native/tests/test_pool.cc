// The pool: its books balance, its blocks never overlap, its limit holds.
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "kernels/pool.h"
#include "tests/check.h"

using penstock::Block;
using penstock::Pool;

namespace {

void check_reuse() {
  const auto pool = std::make_shared<Pool>(std::size_t{1} << 20);
  const void* first;
  {
    const Block block(pool, 1000);
    first = block.data();
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    std::memset(block.data(), 1, block.bytes());
    CHECK(pool->usage().live == 1024 && pool->usage().idle == 0);
  }
  CHECK(pool->usage().live == 0 && pool->usage().idle == 1024);
  CHECK(Block(pool, 1024).data() == first);
  pool->trim();
  CHECK(pool->usage().idle == 0 && pool->usage().peak == 1024);
}

void check_sizes() {
  const auto pool = std::make_shared<Pool>(0);
  for (std::size_t bytes = 0; bytes < 5000; ++bytes) {
    const Block block(pool, bytes);
    std::memset(block.data(), 1, bytes);
    const std::size_t capacity = pool->usage().live;
    CHECK(capacity >= bytes && capacity % 64 == 0 && capacity <= bytes + bytes / 8 + 64);
  }
  for (const std::size_t bytes : {std::size_t{3} << 20, (std::size_t{5} << 20) + 1}) {
    const Block block(pool, bytes);
    std::memset(block.data(), 1, bytes);
  }
  CHECK(pool->usage().live == 0 && pool->usage().idle == 0);
}

void check_limit() {
  const auto pool = std::make_shared<Pool>(4096);
  {
    std::vector<std::unique_ptr<Block>> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(std::make_unique<Block>(pool, 1024));
  }
  CHECK(pool->usage().idle == 4096);
  {
    const Block other(pool, 2048);
  }
  CHECK(pool->usage().idle == 4096);  // two of the small ones made room
  pool->close();
  {
    const Block after(pool, 100);
  }
  CHECK(pool->usage().idle == 0 && pool->usage().live == 0);
}

void check_too_large() {
  const auto pool = std::make_shared<Pool>(4096);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, (std::size_t{1} << 62) + 1}) {
    bool refused = false;
    try {
      const Block block(pool, bytes);
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    CHECK(refused);
  }
  CHECK(pool->usage().live == 0 && pool->usage().peak == 0);
}

void check_threads() {
  const auto pool = std::make_shared<Pool>(std::size_t{1} << 16);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([pool, number] {
      for (int i = 0; i < 3000; ++i) {
        const Block block(pool, static_cast<std::size_t>(64 + i % 5 * 64));
        std::memset(block.data(), number, block.bytes());
        for (std::size_t j = 0; j < block.bytes(); ++j) CHECK(static_cast<char*>(block.data())[j] == number);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(pool->usage().live == 0 && pool->usage().idle <= (std::size_t{1} << 16));
}

}  // namespace

int main() {
  check_reuse();
  check_sizes();
  check_limit();
  check_too_large();
  check_threads();
}
