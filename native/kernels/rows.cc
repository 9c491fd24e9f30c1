#include "kernels/rows.h"

#include <algorithm>

namespace penstock {

namespace {

// Divides rows by a length, rarely with a division: neighboring rows lie in one epoch.
class Epochs {
 public:
  explicit Epochs(std::int64_t length) : length_(length) {}

  // Sets `epoch`, and `start`, its first row, for `row`.
  void find(std::int64_t row) {
    if (static_cast<std::uint64_t>(row - start) < static_cast<std::uint64_t>(length_)) return;
    epoch = row / length_;
    start = epoch * length_;
  }

  std::int64_t epoch = 0, start = 0;

 private:
  std::int64_t length_;
};

// a * b + c; sets `overflow` if it does not fit.
std::int64_t multiply_add(std::int64_t a, std::int64_t b, std::int64_t c, bool& overflow) {
  std::int64_t product, sum;
  overflow |= __builtin_mul_overflow(a, b, &product);
  overflow |= __builtin_add_overflow(product, c, &sum);
  return sum;
}

}  // namespace

bool stride_rows(const std::int64_t* rows, std::int64_t* out, std::size_t count, std::int64_t length,
                 std::int64_t input_stride, std::int64_t start, std::int64_t step) {
  Epochs epochs(length);
  bool bad = false;
  for (std::size_t i = 0; i < count; ++i) {
    epochs.find(rows[i]);
    const std::int64_t base = multiply_add(epochs.epoch, input_stride, start, bad);
    out[i] = multiply_add(rows[i] - epochs.start, step, base, bad);
    bad |= out[i] < 0;
  }
  return !bad;
}

std::int64_t count_grouped(const Grouping& grouping, const std::int64_t* rows, std::size_t count,
                           std::int64_t* counts) {
  Epochs epochs(grouping.batches);
  bool bad = false;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    epochs.find(rows[i]);
    const std::int64_t first = multiply_add(rows[i] - epochs.start, grouping.size, 0, bad);
    counts[i] = std::clamp<std::int64_t>(grouping.length - first, 0, grouping.size);
    multiply_add(epochs.epoch, grouping.input_stride, multiply_add(1, first, counts[i], bad), bad);
    bad |= __builtin_add_overflow(total, counts[i], &total);
  }
  return bad ? -1 : total;
}

void fill_grouped(const Grouping& grouping, const std::int64_t* rows, std::size_t count, const std::int64_t* counts,
                  std::int64_t* elements) {
  Epochs epochs(grouping.batches);
  for (std::size_t i = 0; i < count; ++i) {
    epochs.find(rows[i]);
    const std::int64_t first = epochs.epoch * grouping.input_stride + (rows[i] - epochs.start) * grouping.size;
    for (std::int64_t j = 0; j < counts[i]; ++j) elements[j] = first + j;
    elements += counts[i];
  }
}

}  // namespace penstock
