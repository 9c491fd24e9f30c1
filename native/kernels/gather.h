// Gather: copies of chosen rows, one after another or to chosen places.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// out[i] = source[rows[i]] for rows of `width` bytes, every row in [0, length); `out` must not overlap `source`. If
// these rows are a part of a batch, `batch_bytes` are those of the batch.
void gather(const char* source, std::size_t width, const std::int64_t* rows, std::size_t count, char* out,
            std::size_t batch_bytes = 0);

// out[places[i]] = sources[owners[i]][rows[i]], all rows of `width` bytes and all indices in range; no place twice.
void gather_several(const char* const* sources, std::size_t width, const std::int64_t* owners, const std::int64_t* rows,
                    const std::int64_t* places, std::size_t count, char* out);

}  // namespace penstock
