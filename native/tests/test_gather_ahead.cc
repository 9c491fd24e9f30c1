// Batches made ahead: the rows wanted, each in memory of its own, small batches, large ones and several sources;
// without memory, let go of half-way, and in a forked child.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "kernels/gather_ahead.h"
#include "tests/check.h"

using penstock::BackgroundThread;
using penstock::Block;
using penstock::GatherAhead;
using penstock::Pool;
using penstock::RowSource;

namespace {

// So many rows of each width, whose bytes tell the row and the source; and what to take of them.
struct Data {
  Data(std::size_t length, std::size_t count, const std::vector<std::size_t>& widths) : rows(count) {
    std::mt19937_64 random(length + count);
    for (auto& row : rows) row = static_cast<std::int64_t>(random() % length);
    for (const std::size_t width : widths) {
      auto& bytes = memory.emplace_back(length * width);
      for (auto& byte : bytes) byte = static_cast<char>(random());
      sources.push_back({bytes.data(), width});
    }
  }

  GatherAhead begin(std::size_t batch, const std::shared_ptr<Pool>& pool,
                    const std::shared_ptr<BackgroundThread>& thread) const {
    return {sources, rows.data(), rows.size(), batch, pool, thread};
  }

  bool is_batch(const std::vector<std::unique_ptr<Block>>& blocks, std::size_t number, std::size_t batch) const {
    if (blocks.size() != sources.size()) return false;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto [data, width] = sources[i];
      if (blocks[i]->bytes() != batch * width) return false;
      for (std::size_t at = 0; at < batch; ++at) {
        const auto row = static_cast<std::size_t>(rows[number * batch + at]);
        if (width && std::memcmp(static_cast<char*>(blocks[i]->data()) + at * width, data + row * width, width))
          return false;
      }
    }
    return true;
  }

  std::vector<std::int64_t> rows;
  std::vector<std::vector<char>> memory;
  std::vector<RowSource> sources;
};

void check_rows() {
  struct Case {
    std::size_t length, batches, batch;
    std::vector<std::size_t> widths;
  };
  const Case cases[] = {
      {100, 300, 7, {24, 4}},       // many batches to a piece
      {1000, 40, 128, {1024}},      // one
      {300, 6, 900, {1000, 0, 8}},  // several pieces to a batch
      {3, 5, 2, {std::size_t{1} << 20}},
      {5, 0, 4, {8}},
      {50, 9, 1, {}},
  };
  const auto thread = std::make_shared<BackgroundThread>();
  const auto pool = std::make_shared<Pool>(std::size_t{64} << 20);
  for (const auto& [length, batches, batch, widths] : cases) {
    const Data data(length, batches * batch, widths);
    GatherAhead ahead = data.begin(batch, pool, thread);
    std::vector<std::vector<std::unique_ptr<Block>>> kept;
    std::set<const void*> places;
    for (std::size_t number = 0; number < batches; ++number) {
      auto taken = ahead.take();
      CHECK(data.is_batch(taken, number, batch));
      if (number % 3 == 0) {
        for (const auto& block : taken) CHECK(places.insert(block->data()).second);
        kept.push_back(std::move(taken));
      }
    }
    for (std::size_t i = 0; i < kept.size(); ++i) CHECK(data.is_batch(kept[i], 3 * i, batch));  // nobody wrote there
    CHECK(ahead.took().wall >= 0);
    bool ended = false;
    try {
      ahead.take();
    } catch (const std::out_of_range&) {
      ended = true;
    }
    CHECK(ended);
  }
  CHECK(pool->usage().live == 0);
}

void check_let_go() {
  const Data data(1000, 128 * 60, {1024});
  const auto pool = std::make_shared<Pool>(std::size_t{64} << 20);
  for (int taken = 0; taken < 60; taken += 3) {
    auto thread = std::make_shared<BackgroundThread>();
    GatherAhead ahead = data.begin(128, pool, thread);
    const GatherAhead behind = data.begin(128, pool, thread);
    thread.reset();
    for (int number = 0; number < taken; ++number) CHECK(data.is_batch(ahead.take(), number, 128));
  }
  CHECK(pool->usage().live == 0);
}

// Where there is no memory for a batch, whoever takes it is told, and may ask again.
void check_no_memory() {
  constexpr std::size_t kTooMuch = (std::size_t{1} << 62) + 1;
  const std::vector<std::int64_t> rows{0, 0};
  const auto pool = std::make_shared<Pool>(0);
  GatherAhead ahead({{nullptr, kTooMuch}}, rows.data(), rows.size(), 1, pool, std::make_shared<BackgroundThread>());
  for (int again = 0; again < 3; ++again) {
    bool refused = false;
    try {
      ahead.take();
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    CHECK(refused);
  }
}

void check_fork() {
  const Data data(1000, 128 * 200, {1024, 8});
  const auto thread = std::make_shared<BackgroundThread>();
  const auto pool = std::make_shared<Pool>(std::size_t{64} << 20);
  for (int before = 0; before < 20; ++before) {
    GatherAhead ahead = data.begin(128, pool, thread);
    const auto rest_is_right = [&] {
      for (int number = before; number < 200; ++number)
        if (!data.is_batch(ahead.take(), number, 128)) return false;
      return true;
    };
    for (int number = 0; number < before; ++number) CHECK(data.is_batch(ahead.take(), number, 128));
    const pid_t child = fork();
    if (child == 0) _exit(rest_is_right() ? 0 : 1);
    CHECK(rest_is_right());
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

}  // namespace

int main() {
  check_rows();
  check_let_go();
  check_no_memory();
  check_fork();
}
