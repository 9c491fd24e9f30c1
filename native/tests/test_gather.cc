// Gather: every width, at the very ends of memory that holds not a byte more.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/gather.h"
#include "tests/check.h"

namespace {

void check(std::size_t width, const std::vector<std::int64_t>& rows, std::size_t length) {
  const auto source = std::make_unique<char[]>(length * width);
  for (std::size_t i = 0; i < length * width; ++i) source[i] = static_cast<char>(i * 31 + i / 251);
  const auto out = std::make_unique<char[]>(rows.size() * width);
  penstock::gather(source.get(), width, rows.data(), rows.size(), out.get());
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(!std::memcmp(out.get() + i * width, source.get() + static_cast<std::size_t>(rows[i]) * width, width));
}

// Rows of two sources, in turns, to places from the last to the first.
void check_several(std::size_t width, std::size_t count) {
  std::vector<std::unique_ptr<char[]>> sources;
  std::vector<const char*> starts;
  for (const std::size_t length : {3, 50}) {
    sources.push_back(std::make_unique<char[]>(length * width));
    for (std::size_t i = 0; i < length * width; ++i) sources.back()[i] = static_cast<char>(i * 31 + i / 251 + length);
    starts.push_back(sources.back().get());
  }
  std::vector<std::int64_t> owners, rows, places;
  for (std::size_t i = 0; i < count; ++i) {
    owners.push_back(static_cast<std::int64_t>(i % 2));
    rows.push_back(static_cast<std::int64_t>((i * 37 + 49) % (i % 2 ? 50 : 3)));
    places.push_back(static_cast<std::int64_t>(count - 1 - i));
  }
  const auto out = std::make_unique<char[]>(count * width);
  penstock::gather_several(starts.data(), width, owners.data(), rows.data(), places.data(), count, out.get());
  for (std::size_t i = 0; i < count; ++i)
    CHECK(!std::memcmp(out.get() + (count - 1 - i) * width, starts[i % 2] + static_cast<std::size_t>(rows[i]) * width,
                       width));
}

}  // namespace

int main() {
  std::vector<std::int64_t> rows;
  for (const std::size_t count : {0, 1, 7, 8, 9, 16, 17, 100}) {
    rows.clear();
    for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<std::int64_t>((i * 37 + 49) % 50));
    for (const std::size_t width : {0, 1, 2, 3, 4, 5, 8, 12, 16, 17, 63, 64, 65, 784, 1024, 5000}) {
      check(width, rows, 50);
      check_several(width, count);
    }
  }
}
