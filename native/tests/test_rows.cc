// Row arithmetic: overflow is seen, never computed with.
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/rows.h"
#include "tests/check.h"

using penstock::Grouping;
using Rows = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

void check_strides() {
  const Rows rows = {0, 1, 2, 3, 7};
  Rows out(rows.size());
  CHECK(penstock::stride_rows(rows.data(), out.data(), rows.size(), 3, 10, 1, 3));
  CHECK((out == Rows{1, 4, 7, 11, 24}));
  const Rows last = {kLast};
  CHECK(penstock::stride_rows(last.data(), out.data(), 1, 1, 1, 0, 1));
  CHECK(out[0] == kLast);
  CHECK(!penstock::stride_rows(last.data(), out.data(), 1, 1, 2, 0, 1));
  CHECK(!penstock::stride_rows(last.data(), out.data(), 1, 1, 1, 1, 1));
  const Rows late = {kLast - 1};
  CHECK(!penstock::stride_rows(late.data(), out.data(), 1, kLast, 0, 0, kLast));
  CHECK(!penstock::stride_rows(rows.data(), out.data(), 2, 3, 10, 0, -1));
}

void check_groups() {
  const Rows rows = {1, 0, 3};
  Rows counts(rows.size()), elements(8);
  const Grouping grouping{3, 2, 5, 7};
  CHECK(penstock::count_grouped(grouping, rows.data(), rows.size(), counts.data()) == 7);
  CHECK((counts == Rows{2, 3, 2}));
  elements.resize(7);
  penstock::fill_grouped(grouping, rows.data(), rows.size(), counts.data(), elements.data());
  CHECK((elements == Rows{3, 4, 0, 1, 2, 10, 11}));
  const Rows last = {kLast};
  CHECK(penstock::count_grouped({1, 1, 1, kLast}, last.data(), 1, counts.data()) == -1);
  CHECK(penstock::count_grouped({kLast, kLast, kLast, kLast}, rows.data() + 2, 1, counts.data()) == -1);
  CHECK(penstock::count_grouped({kLast, 1, kLast, 0}, rows.data(), 3, counts.data()) == -1);
}

}  // namespace

int main() {
  check_strides();
  check_groups();
}
