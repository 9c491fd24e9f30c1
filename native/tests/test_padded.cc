// Copies into a corner of a larger array: every item lands at its place, and no other byte changes.
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/padded.h"
#include "tests/check.h"

namespace {

using Sizes = std::vector<std::ptrdiff_t>;

std::size_t items_of(const Sizes& sizes) {
  std::size_t items = 1;
  for (const std::ptrdiff_t size : sizes) items *= static_cast<std::size_t>(size);
  return items;
}

void check_corner(const Sizes& whole, const Sizes& sizes) {
  std::vector<std::int32_t> from(items_of(sizes)), to(items_of(whole), -1), expected = to;
  std::iota(from.begin(), from.end(), 7);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t rest = i, place = 0, stride = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      place += rest % static_cast<std::size_t>(sizes[d]) * stride;
      rest /= static_cast<std::size_t>(sizes[d]);
      stride *= static_cast<std::size_t>(whole[d]);
    }
    expected[place] = from[i];
  }
  penstock::copy_into_corner(reinterpret_cast<char*>(to.data()), whole.data(),
                             reinterpret_cast<const char*>(from.data()), sizes.data(), sizes.size(), sizeof(int));
  CHECK(to == expected);
}

}  // namespace

int main() {
  check_corner({}, {});
  for (const std::ptrdiff_t size : {0, 1, 4, 5}) check_corner({5}, {size});
  for (const std::ptrdiff_t rows : {0, 1, 3})
    for (const std::ptrdiff_t columns : {0, 1, 4})
      for (const std::ptrdiff_t deep : {0, 1, 2}) {
        check_corner({3, 4}, {rows, columns});
        check_corner({3, 4, 2}, {rows, columns, deep});
        check_corner({1, 3, 4, 2}, {1, rows, columns, deep});
      }
}
