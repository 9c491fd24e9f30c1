// Copies of large rows into batches that are too large to be read from a cache later: written past the caches, which
// saves fetching memory that is about to be overwritten, and leaves the caches to others.
#pragma once

#include <cstddef>

namespace penstock {

// A few batches of this many bytes, made ahead, are more than most processors' last cache holds.
inline constexpr std::size_t kStreamedBatch = std::size_t{8} << 20;
inline constexpr std::size_t kStreamedRow = std::size_t{4} << 10;

inline bool is_streamed(std::size_t row_bytes, std::size_t batch_bytes) {
  return row_bytes >= kStreamedRow && batch_bytes >= kStreamedBatch;
}

// std::memcpy past the caches, where the processor can do that. Other threads may read the result as any other.
void copy_streamed(char* out, const char* in, std::size_t size) noexcept;

}  // namespace penstock
