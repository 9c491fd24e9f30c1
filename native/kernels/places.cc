#include "kernels/places.h"

#include <algorithm>

namespace penstock {

std::int64_t places_in_rows(const std::int64_t* splits, std::size_t rows, std::int64_t count, std::int64_t* pairs) {
  if (splits[0] != 0 || splits[rows] != count) return -1;
  std::int64_t longest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (splits[row + 1] < splits[row] || splits[row + 1] > count) return -1;
    const std::int64_t length = splits[row + 1] - splits[row];
    longest = std::max(longest, length);
    std::int64_t* const pair = pairs + 2 * splits[row];
    for (std::int64_t place = 0; place < length; ++place) {
      pair[2 * place] = static_cast<std::int64_t>(row);
      pair[2 * place + 1] = place;
    }
  }
  return longest;
}

}  // namespace penstock
