// Gather: copies of chosen rows, one after another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// out[i] = source[rows[i]] for rows of `width` bytes, every row in [0, length); `out` must not overlap `source`. If
// these rows are a part of a batch, `batch_bytes` are those of the batch.
void gather(const char* source, std::size_t width, const std::int64_t* rows, std::size_t count, char* out,
            std::size_t batch_bytes = 0);

}  // namespace penstock
