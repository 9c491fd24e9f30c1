// Arithmetic on global rows: which epoch they lie in, strides, and the rows of batches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// out[i] = epoch * input_stride + start + position * step with epoch, position = divmod(rows[i], length).
// Rows are not negative, length >= 1; false if a result leaves [0, 2^63), and then `out` is not to be used.
bool stride_rows(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t length,
                 std::int64_t input_stride, std::int64_t start, std::int64_t step);

// How batches of `size` elements cut the epochs of an input.
struct Grouping {
  std::int64_t size;          // elements in a full batch
  std::int64_t batches;       // batches in an epoch
  std::int64_t length;        // elements in an epoch, of which the last batch may find fewer than `size` left
  std::int64_t input_stride;  // rows that the input counts to an epoch
};

// counts[i] = how many elements batch rows[i] has; returns their sum, or -1 if an element's row leaves [0, 2^63).
// Rows are not negative, all of `grouping` is positive.
std::int64_t count_grouped(const Grouping& grouping, const std::int64_t* rows, std::size_t count, std::int64_t* counts);

// The rows of the elements of all batches, one batch after another; count_grouped has said how many.
void fill_grouped(const Grouping& grouping, const std::int64_t* rows, std::size_t count, const std::int64_t* counts,
                  std::int64_t* elements);

}  // namespace penstock
