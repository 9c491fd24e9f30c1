// The places of values in rows of different lengths.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Writes a pair for each value: the number of its row and its place in that row; row i has the values from splits[i] to
// splits[i + 1]. Returns the length of the longest row, or -1 if splits do not begin with 0, decrease, or do not end
// with `count`, the number of pairs.
std::int64_t places_in_rows(const std::int64_t* splits, std::size_t rows, std::int64_t count, std::int64_t* pairs);

}  // namespace penstock
