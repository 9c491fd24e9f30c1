// Batches of gathered rows, made ahead of whoever takes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/background.h"
#include "kernels/pool.h"

namespace penstock {

// What rows are copied from: `width` bytes each.
struct RowSource {
  const char* data;
  std::size_t width;
};

// So many rows of several sources to a batch, one batch after another. Each is in memory of its own, taken when the
// batch is begun: as long as they are taken as they are made, what is let go of is written again while it is in a
// core's cache.
//
// One thread at a time takes them. Sources and rows are the caller's, and every row is in all sources.
class GatherAhead {
 public:
  GatherAhead(std::vector<RowSource> sources, const std::int64_t* rows, std::size_t count, std::size_t batch,
              std::shared_ptr<Pool> pool, std::shared_ptr<BackgroundThread> thread);
  ~GatherAhead();

  // Whether the next batch is there; one that is made in a moment is made.
  bool has_next();
  // The next batch, a block for each source, waited for. Throws std::bad_alloc, and may then be asked for again, and
  // std::out_of_range after the last.
  std::vector<std::unique_ptr<Block>> take();
  // What making them took.
  Took took() const { return background_->took(); }

 private:
  std::size_t pieces_to_next() const { return (taken_ / together_ + 1) * parts_; }
  void reserve() noexcept;
  void run(std::size_t piece);
  void copy(std::size_t batch, std::size_t low, std::size_t high);
  Block& block(std::size_t batch, std::size_t source);

  const std::vector<RowSource> sources_;
  const std::int64_t* const rows_;
  const std::size_t batch_, batches_;     // rows to a batch, and how many of these
  std::size_t parts_ = 1, together_ = 1;  // pieces to a large batch, small batches to a piece
  std::size_t most_ = 0;                  // batches that there are at a time
  bool is_quick_ = true;
  const std::shared_ptr<Pool> pool_;
  std::size_t taken_ = 0;
  std::vector<std::atomic<Block*>> blocks_;       // of each batch one a source
  std::vector<std::atomic<bool>> had_no_memory_;  // batches
  std::unique_ptr<Background> background_;        // the last to come and the first to go
};

}  // namespace penstock
