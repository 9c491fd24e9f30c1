// Batches of gathered rows, made ahead of demand.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/background.h"
#include "kernels/pool.h"

namespace penstock {

// The source of rows of `width` bytes.
struct RowSource {
  const char* data;
  std::size_t width;
};

// Batches of rows of several sources, one batch after another. Each has memory of its own, allocated when the batch
// begins: if batches are taken as they are made, released memory is reused while in a core's cache.
//
// One thread at a time takes batches. The caller owns sources and rows, and every row is in all sources.
class GatherAhead {
 public:
  GatherAhead(std::vector<RowSource> sources, const std::int64_t* rows, std::size_t count, std::size_t batch,
              std::shared_ptr<Pool> pool, std::shared_ptr<BackgroundThread> thread);
  ~GatherAhead();

  // Returns whether the next batch is ready; waits for one that is almost done.
  bool has_next();
  // Waits for and returns the next batch, a block for each source. Throws std::bad_alloc, after which a retry is
  // possible, and std::out_of_range after the last.
  std::vector<std::unique_ptr<Block>> take();
  // The time of making batches.
  Took took() const { return background_->took(); }

 private:
  std::size_t pieces_to_next() const { return (taken_ / together_ + 1) * parts_; }
  void reserve() noexcept;
  void run(std::size_t piece);
  void copy(std::size_t batch, std::size_t low, std::size_t high);
  Block& block(std::size_t batch, std::size_t source);

  const std::vector<RowSource> sources_;
  const std::int64_t* const rows_;
  const std::size_t batch_, batches_;     // rows per batch, and number of batches
  std::size_t parts_ = 1, together_ = 1;  // pieces per large batch, small batches per piece
  std::size_t most_ = 0;                  // largest number of batches at a time
  bool is_quick_ = true;
  const std::shared_ptr<Pool> pool_;
  std::size_t taken_ = 0;
  std::vector<std::atomic<Block*>> blocks_;       // for each batch one per source
  std::vector<std::atomic<bool>> had_no_memory_;  // batches
  std::unique_ptr<Background> background_;        // constructed last, destroyed first
};

}  // namespace penstock
