// Where the values of rows of different lengths are, row by row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Writes for each value the number of its row and its place in that row, a pair after another; row i has the values
// from splits[i] to splits[i + 1]. Returns the length of the longest row; -1 where splits do not begin with 0,
// decrease, or do not end with `count`, the pairs that there is room for.
std::int64_t places_in_rows(const std::int64_t* splits, std::size_t rows, std::int64_t count, std::int64_t* pairs);

}  // namespace penstock
