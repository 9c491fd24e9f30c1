#include "kernels/rows.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "kernels/permute.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::uint64_t kRows = std::uint64_t{1} << 63;

void check_rows(const std::int64_t* rows, std::size_t count, std::int64_t length) {
  const std::size_t bad = first_outside(rows, count, kRows);
  if (bad != count) throw nb::value_error(("row " + std::to_string(rows[bad]) + " is negative").c_str());
  if (count && length < 1)
    throw nb::value_error(
        ("row " + std::to_string(rows[0]) + " of a dataset of length " + std::to_string(length)).c_str());
}

[[noreturn]] void throw_overflow() {
  throw std::overflow_error(
      "a row of the input is outside [0, 2**63): the dataset repeats more often than rows can be counted");
}

void stride(nb::handle rows_array, nb::handle out_array, std::int64_t length, std::int64_t input_stride,
            std::int64_t start, std::int64_t step) {
  const Buffer from(rows_array), to(out_array, true);
  const auto* rows = from.words<const std::int64_t>("rows");
  auto* out = to.words<std::int64_t>("out");
  if (from.rows() != to.rows()) throw nb::value_error("out must have the length of rows");
  check_rows(rows, from.rows(), length);
  if (!stride_rows(rows, out, from.rows(), length, input_stride, start, step)) throw_overflow();
}

Grouping checked(std::int64_t size, std::int64_t batches, std::int64_t length, std::int64_t input_stride) {
  if (size < 1 || batches < 0 || length < 0 || input_stride < 0)
    throw nb::value_error("size must be at least 1, and batches, length and input_stride at least 0");
  return {size, batches, length, input_stride};
}

std::int64_t group_counts(nb::handle rows_array, nb::handle counts_array, std::int64_t size, std::int64_t batches,
                          std::int64_t length, std::int64_t input_stride) {
  const Grouping grouping = checked(size, batches, length, input_stride);
  const Buffer from(rows_array), to(counts_array, true);
  const auto* rows = from.words<const std::int64_t>("rows");
  auto* counts = to.words<std::int64_t>("counts");
  if (from.rows() != to.rows()) throw nb::value_error("counts must have the length of rows");
  check_rows(rows, from.rows(), batches);
  const std::int64_t total = count_grouped(grouping, rows, from.rows(), counts);
  if (total < 0) throw_overflow();
  return total;
}

// Counts again, into memory of its own, which no other thread can change during the writing loop.
void group_elements(nb::handle rows_array, nb::handle elements_array, std::int64_t size, std::int64_t batches,
                    std::int64_t length, std::int64_t input_stride) {
  const Grouping grouping = checked(size, batches, length, input_stride);
  const Buffer from(rows_array), to(elements_array, true);
  const auto* rows = from.words<const std::int64_t>("rows");
  auto* elements = to.words<std::int64_t>("elements");
  check_rows(rows, from.rows(), batches);
  std::vector<std::int64_t> counts(from.rows());
  const std::int64_t total = count_grouped(grouping, rows, from.rows(), counts.data());
  if (total < 0) throw_overflow();
  if (static_cast<std::uint64_t>(total) != to.rows())
    throw nb::value_error("elements must have room for every element");
  fill_grouped(grouping, rows, from.rows(), counts.data(), elements);
}

}  // namespace

void bind_rows(nb::module_& module) {
  module.def("stride_rows", stride);
  module.def("group_counts", group_counts);
  module.def("group_elements", group_elements);
}

}  // namespace penstock::bindings
