#include "kernels/gather_ahead.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "kernels/gather.h"

namespace penstock {

namespace {

constexpr std::size_t kPieceBytes = 128 << 10;  // some 10 microseconds of copying
constexpr std::size_t kAheadBytes = 2 << 20;    // batches that a consumer may take at once after a pause
constexpr std::size_t kLeastAhead = 2;          // batches
constexpr std::size_t kTaken = 2;               // held by the consumer
constexpr std::size_t kQuickBytes = 1 << 20;    // some 100 microseconds, of rows in memory
constexpr auto kSlow = std::chrono::milliseconds(2);

std::size_t width_of(const std::vector<RowSource>& sources) {
  std::size_t width = 1;
  for (const RowSource& source : sources) width += source.width;
  return width;
}

}  // namespace

GatherAhead::GatherAhead(std::vector<RowSource> sources, const std::int64_t* rows, std::size_t count, std::size_t batch,
                         std::shared_ptr<Pool> pool, std::shared_ptr<BackgroundThread> thread)
    : sources_(std::move(sources)),
      rows_(rows),
      batch_(batch),
      batches_(count / batch),
      pool_(std::move(pool)),
      blocks_(batches_ * sources_.size()),
      had_no_memory_(batches_) {
  const std::size_t bytes = batch * width_of(sources_);
  parts_ = std::clamp<std::size_t>(bytes / kPieceBytes, 1, batch);
  is_quick_ = bytes <= kQuickBytes;
  together_ = std::max<std::size_t>(kPieceBytes / bytes, 1);
  const std::size_t pieces = (batches_ + together_ - 1) / together_ * parts_;
  const std::size_t batches_ahead = std::max(kAheadBytes / bytes, kLeastAhead);
  most_ = std::min(batches_ahead, batches_) + kTaken;
  const std::size_t ahead = batches_ahead * parts_ / together_;
  background_ =
      std::make_unique<Background>(pieces, [this](std::size_t piece) { run(piece); }, std::move(thread), ahead);
}

GatherAhead::~GatherAhead() {
  background_.reset();
  for (const auto& block : blocks_) delete block.load();
}

bool GatherAhead::has_next() {
  if (background_->has_to(pieces_to_next())) return true;
  if (!is_quick_) return false;
  const auto begun = std::chrono::steady_clock::now();
  const bool has = background_->try_take_to(pieces_to_next());
  if (std::chrono::steady_clock::now() - begun > kSlow) is_quick_ = false;  // the rows are on a disk
  return has;
}

std::vector<std::unique_ptr<Block>> GatherAhead::take() {
  if (taken_ == batches_) throw std::out_of_range("all batches were taken");
  background_->take_to(pieces_to_next());
  if (had_no_memory_[taken_]) copy(taken_, 0, batch_);
  std::vector<std::unique_ptr<Block>> taken;
  taken.reserve(sources_.size());
  for (std::size_t source = 0; source < sources_.size(); ++source)
    taken.emplace_back(blocks_[taken_ * sources_.size() + source].exchange(nullptr));
  ++taken_;
  return taken;
}

// Fills the pool with the largest number of batches, in resident pages: otherwise the pool would grow with each longer
// delay of the consumer.
void GatherAhead::reserve() noexcept {
  std::size_t bytes = 0;
  for (const RowSource& source : sources_) bytes += batch_ * source.width;
  if (pool_->usage().peak >= most_ * bytes) return;
  try {
    std::vector<std::unique_ptr<Block>> held;
    for (std::size_t batch = 0; batch < most_; ++batch) {
      for (const RowSource& source : sources_) {
        held.push_back(std::make_unique<Block>(pool_, batch_ * source.width));
        std::memset(held.back()->data(), 0, held.back()->bytes());
      }
    }
  } catch (const std::bad_alloc&) {
    // the consumer gets the error
  }
}

void GatherAhead::run(std::size_t piece) {
  if (piece == 0) reserve();
  const std::size_t first = piece / parts_ * together_, part = piece % parts_;
  for (std::size_t batch = first; batch < std::min(first + together_, batches_); ++batch) {
    try {
      copy(batch, batch_ * part / parts_, batch_ * (part + 1) / parts_);
    } catch (const std::bad_alloc&) {
      had_no_memory_[batch] = true;  // memory may be available when the batch is taken
    }
  }
}

void GatherAhead::copy(std::size_t batch, std::size_t low, std::size_t high) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto [data, width] = sources_[i];
    char* out = static_cast<char*>(block(batch, i).data());
    gather(data, width, rows_ + batch * batch_ + low, high - low, out + low * width, batch_ * width);
  }
}

// Several threads may reach a batch first: all write to the block that one of them installs.
Block& GatherAhead::block(std::size_t batch, std::size_t source) {
  std::atomic<Block*>& place = blocks_[batch * sources_.size() + source];
  Block* there = place;
  if (there) return *there;
  auto block = std::make_unique<Block>(pool_, batch_ * sources_[source].width);
  return place.compare_exchange_strong(there, block.get()) ? *block.release() : *there;
}

}  // namespace penstock
