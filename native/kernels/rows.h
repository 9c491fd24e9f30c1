// Arithmetic on global rows: epochs, strides, and the rows of batches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// out[i] = epoch * input_stride + start + position * step with epoch, position = divmod(rows[i], length). Rows are not
// negative, length >= 1; false if a result leaves [0, 2^63), and then `out` is invalid.
bool stride_rows(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t length,
                 std::int64_t input_stride, std::int64_t start, std::int64_t step);

// The division of an input's epochs into batches of `size` elements.
struct Grouping {
  std::int64_t size;          // elements in a full batch
  std::int64_t batches;       // batches in an epoch
  std::int64_t length;        // elements in an epoch; the last batch may have fewer than `size`
  std::int64_t input_stride;  // the input's rows per epoch
};

// counts[i] = the size of batch rows[i]; returns their sum, or -1 if an element's row leaves [0, 2^63). Rows are not
// negative, all of `grouping` is positive.
std::int64_t count_grouped(const Grouping& grouping, const std::int64_t* rows, std::size_t count, std::int64_t* counts);

// The rows of the elements of all batches, one batch after another; count_grouped returns their number.
void fill_grouped(const Grouping& grouping, const std::int64_t* rows, std::size_t count, const std::int64_t* counts,
                  std::int64_t* elements);

}  // namespace penstock
