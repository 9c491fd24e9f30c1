// Copies past the caches: of any size, from and to any alignment, and not a byte beside them.
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/gather.h"
#include "kernels/streamed.h"
#include "tests/check.h"

using namespace penstock;

namespace {

constexpr std::size_t kBeside = 64;  // bytes before and after that stay as they are

void copies(std::size_t size, std::size_t from, std::size_t to) {
  std::vector<char> in(from + size), out(2 * kBeside + to + size, 99);
  for (std::size_t i = 0; i < size; ++i) in[from + i] = static_cast<char>(i * 31 + i / 251);
  char* const at = out.data() + kBeside + to;
  copy_streamed(at, in.data() + from, size);
  CHECK(!size || !std::memcmp(at, in.data() + from, size));
  for (const char* beside = out.data(); beside < at; ++beside) CHECK(*beside == 99);
  for (const char* beside = at + size; beside < out.data() + out.size(); ++beside) CHECK(*beside == 99);
}

// Rows of a batch that is just large enough are those of a small one.
void gathers() {
  constexpr std::size_t kWidth = kStreamedRow + 24, kCount = kStreamedBatch / kWidth + 1;
  std::vector<char> source(50 * kWidth), out(kCount * kWidth);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i * 31 + i / 251);
  std::vector<std::int64_t> rows(kCount);
  for (std::size_t i = 0; i < kCount; ++i) rows[i] = static_cast<std::int64_t>((i * 37 + 49) % 50);
  gather(source.data(), kWidth, rows.data(), kCount, out.data());
  for (std::size_t i = 0; i < kCount; ++i)
    CHECK(!std::memcmp(&out[i * kWidth], &source[static_cast<std::size_t>(rows[i]) * kWidth], kWidth));
  std::vector<char> part(2 * kWidth);
  gather(source.data(), kWidth, rows.data(), 2, part.data(), kStreamedBatch);
  CHECK(!std::memcmp(part.data(), out.data(), part.size()));
}

}  // namespace

int main() {
  CHECK(is_streamed(kStreamedRow, kStreamedBatch) && !is_streamed(kStreamedRow - 1, kStreamedBatch));
  CHECK(!is_streamed(kStreamedRow, kStreamedBatch - 1));
  for (const std::size_t size : {0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 200, 5000})
    for (const std::size_t from : {0, 1, 16, 33})
      for (const std::size_t to : {0, 1, 8, 16, 63}) copies(size, from, to);
  gathers();
}
