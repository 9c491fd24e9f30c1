// Rows of several files, one file after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// Returns the file of a row: `starts` has the first row of each file and, at its end, the total number, which is larger
// than `row`.
inline std::size_t file_of_row(const std::vector<std::int64_t>& starts, std::int64_t row) noexcept {
  // Binary search without a branch on the row, since rows come in any order.
  const std::int64_t* first = starts.data();
  for (std::size_t left = starts.size(); left > 1;) {
    const std::size_t half = left / 2;
    first = first[half] <= row ? first + half : first;
    left -= half;
  }
  return static_cast<std::size_t>(first - starts.data());
}

}  // namespace penstock
