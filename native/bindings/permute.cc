#include "kernels/permute.h"

#include <limits>
#include <stdexcept>
#include <string>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "kernels/permute_buffer.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::size_t kLongCall = 1 << 14;  // rows; about 50 microseconds

void check_length(std::uint64_t length) {
  if (length > kMaxPermutationLength)
    throw nb::value_error(
        ("cannot permute " + std::to_string(length) + " positions: the largest length is 2**62").c_str());
}

// Rows that a kernel call reads and the memory it fills.
struct Call {
  Call(nb::handle rows_array, nb::handle out_array)
      : from(rows_array),
        to(out_array, true),
        rows(from.words<const std::int64_t>("rows")),
        out(to.words<std::int64_t>("out")),
        count(from.rows()) {
    if (to.rows() != count) throw nb::value_error("out must have the length of rows");
  }

  void check_inside(std::uint64_t length) const {
    const std::size_t bad = first_outside(rows, count, length);
    if (bad != count)
      throw nb::value_error(
          ("position " + std::to_string(rows[bad]) + " is outside [0, " + std::to_string(length) + ")").c_str());
  }

  // Rows are not negative, and the last row of their epoch can be counted.
  void check_rows(std::uint64_t length) const {
    if (count && !length)
      throw nb::value_error(("row " + std::to_string(rows[0]) + " of a dataset of length 0").c_str());
    for (std::size_t i = first_outside(rows, count, kMaxPermutationLength); i < count; ++i) {  // rarely entered
      if (rows[i] < 0) throw nb::value_error(("row " + std::to_string(rows[i]) + " is negative").c_str());
      const std::uint64_t row = static_cast<std::uint64_t>(rows[i]);
      if (row - row % length + length - 1 > std::numeric_limits<std::int64_t>::max())
        throw std::overflow_error("the epoch of row " + std::to_string(rows[i]) + " ends beyond 2**63 - 1");
    }
  }

  Buffer from, to;
  const std::int64_t* rows;
  std::int64_t* out;
  std::size_t count;
};

template <Direction kDirection>
void permute(nb::handle positions, nb::handle out, std::uint64_t length, std::uint64_t key) {
  check_length(length);
  const Call call(positions, out);
  call.check_inside(length);
  run_freely(call.count > kLongCall,
             [&] { Permutation(kDirection, length, key).apply(call.rows, call.out, call.count, 0); });
}

template <Direction kDirection>
void permute_all_rows(nb::handle rows, nb::handle out, std::uint64_t length, std::uint64_t key, bool reshuffle) {
  check_length(length);
  const Call call(rows, out);
  call.check_rows(length);
  run_freely(call.count > kLongCall,
             [&] { permute_rows(kDirection, call.rows, call.out, call.count, length, key, reshuffle); });
}

std::uint64_t checked_window(std::uint64_t window) {
  if (!window) throw nb::value_error("window must be at least 1");
  return window;
}

void permute_window(nb::handle positions, nb::handle out, std::uint64_t length, std::uint64_t window,
                    std::uint64_t key) {
  check_length(length);
  checked_window(window);
  const Call call(positions, out);
  call.check_inside(length);
  run_freely(call.count > kLongCall, [&] { permute_within(call.rows, call.out, call.count, length, window, key); });
}

void permute_rows_window(nb::handle rows, nb::handle out, std::uint64_t length, std::uint64_t window, std::uint64_t key,
                         bool reshuffle) {
  check_length(length);
  checked_window(window);
  const Call call(rows, out);
  call.check_rows(length);
  run_freely(call.count > kLongCall,
             [&] { permute_rows_within(call.rows, call.out, call.count, length, window, key, reshuffle); });
}

}  // namespace

void bind_permute(nb::module_& module) {
  constexpr auto kForward = Direction::kForward;
  constexpr auto kInverse = Direction::kInverse;
  module.def("permute", permute<kForward>);
  module.def("unpermute", permute<kInverse>);
  module.def("permute_rows", permute_all_rows<kForward>);
  module.def("unpermute_rows", permute_all_rows<kInverse>);
  module.def("permute_within", permute_window);
  module.def("permute_rows_within", permute_rows_window);
}

}  // namespace penstock::bindings
