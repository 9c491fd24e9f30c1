// Orders: bijections of their range, for lengths where widths change, in blocks of every kind.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/permute.h"
#include "kernels/permute_buffer.h"
#include "kernels/random.h"
#include "tests/check.h"

using penstock::Direction;
using penstock::Permutation;
using Rows = std::vector<std::int64_t>;

namespace {

Rows counted(std::size_t count) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Rows permuted(Direction direction, const Rows& rows, std::uint64_t length, std::uint64_t key, std::int64_t start = 0) {
  Rows out(rows.size());
  Permutation(direction, length, key).apply(rows.data(), out.data(), rows.size(), start);
  return out;
}

void check_bijection(std::uint64_t length, std::uint64_t key) {
  const Rows rows = counted(length), order = permuted(Direction::kForward, rows, length, key);
  CHECK(permuted(Direction::kInverse, order, length, key) == rows);
  Rows sorted = order;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == rows);
  const Permutation one(Direction::kForward, length, key);
  for (std::size_t i = 0; i < length; i += 1 + length / 50) CHECK(one.at(i) == static_cast<std::uint64_t>(order[i]));
}

void check_large(std::uint64_t length) {
  std::mt19937_64 random(length);
  Rows rows(1000);
  for (auto& row : rows) row = static_cast<std::int64_t>(random() % length);
  const Rows order = permuted(Direction::kForward, rows, length, 5);
  for (const std::int64_t row : order) CHECK(row >= 0 && static_cast<std::uint64_t>(row) < length);
  CHECK(permuted(Direction::kInverse, order, length, 5) == rows);
}

void check_window(std::uint64_t length, std::uint64_t window) {
  const Rows rows = counted(length);
  Rows order(length), sorted;
  penstock::permute_within(rows.data(), order.data(), length, length, window, window + 3);
  sorted = order;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == rows);
  for (std::size_t i = 0; i < length; ++i) CHECK(order[i] - rows[i] <= static_cast<std::int64_t>(window + window / 2));
}

void check_rows(std::uint64_t length, std::uint64_t window) {
  std::mt19937_64 random(length + window);
  Rows rows(700), moved(rows.size());
  for (auto& row : rows) row = static_cast<std::int64_t>(random() % (5 * length));
  for (const bool reshuffle : {false, true}) {
    penstock::permute_rows_within(rows.data(), moved.data(), rows.size(), length, window, 3, reshuffle);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(moved[i] / static_cast<std::int64_t>(length) == rows[i] / static_cast<std::int64_t>(length));
      std::int64_t alone = rows[i];
      penstock::permute_rows_within(&alone, &alone, 1, length, window, 3, reshuffle);
      CHECK(alone == moved[i]);
    }
  }
}

void check_delays(std::uint64_t buffer) {
  const penstock::Delays delays(buffer);
  CHECK(delays.held + delays.round <= buffer + buffer / 2);
  CHECK(delays.before[delays.pooled] + 1 >= buffer);
  CHECK(delays.count > 0 && delays.count <= penstock::Delays::kMostDelays);
  CHECK(delays.of(delays.round - 1) == 0 && delays.of(0) == delays.count);
}

void check_in_place() {
  Rows rows = counted(1000);
  const Rows order = permuted(Direction::kForward, rows, 1000, 1);
  Permutation(Direction::kForward, 1000, 1).apply(rows.data(), rows.data(), rows.size(), 0);
  CHECK(rows == order);
}

void check_outside() {
  const Rows rows = {0, 5, 9, 10, -1};
  CHECK(penstock::first_outside(rows.data(), rows.size(), 10) == 3);
  CHECK(penstock::first_outside(rows.data(), rows.size(), 11) == 4);
  CHECK(penstock::first_outside(rows.data(), 3, 10) == 3);
  CHECK(penstock::first_outside(rows.data(), 1, 0) == 0);
  CHECK(penstock::first_outside(rows.data(), 0, 0) == 0);
}

}  // namespace

int main() {
  for (std::uint64_t length = 0; length < 600; ++length) check_bijection(length, length * 3);
  for (int k = 10; k < 18; ++k)
    for (const int d : {-1, 0, 1}) check_bijection((std::uint64_t{1} << k) + static_cast<std::uint64_t>(d), 7);
  for (int k = 31; k < 62; k += 5)
    for (const int d : {-1, 0, 1}) check_large((std::uint64_t{1} << k) + static_cast<std::uint64_t>(d));
  check_large(penstock::kMaxPermutationLength);
  for (const std::uint64_t length : {1, 2, 17, 100, 5000})
    for (const std::uint64_t window : {1, 2, 3, 10, 64, 1000, 5000}) {
      check_rows(length, window);
      check_window(length, window);
    }
  for (std::uint64_t buffer = 2; buffer < 5000; ++buffer) check_delays(buffer);
  for (int k = 13; k < 62; ++k)
    for (const int d : {-1, 0, 1}) check_delays((std::uint64_t{1} << k) + static_cast<std::uint64_t>(d));
  check_window(60'000, 10'000);  // lanes in groups
  check_in_place();
  check_outside();
}
