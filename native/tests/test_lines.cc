// Lines: blocks and bytes find the same ones, wherever the room for them ends; a file that shrinks is an outcome.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/lines.h"
#include "tests/check.h"

using penstock::LineScan;
using penstock::LinesWanted;
using Begins = std::vector<std::int64_t>;
using Status = penstock::ScanOutcome::Status;

namespace {

// All the lines of a text, by scans with room for `capacity` of them; the text lies in memory that holds not a byte
// more.
template <class Scan>
Begins scanned(Scan scan, const std::string& text, LinesWanted wanted, std::size_t capacity) {
  const std::unique_ptr<unsigned char[]> data(new unsigned char[text.size()]);
  std::memcpy(data.get(), text.data(), text.size());
  Begins found;
  std::int64_t position = 0;
  for (Status status = Status::kMore; status == Status::kMore;) {
    const std::unique_ptr<std::int64_t[]> begins(new std::int64_t[capacity]);
    LineScan work{data.get(), static_cast<std::int64_t>(text.size()), wanted, begins.get(), capacity, position};
    scan(work);
    CHECK(work.count <= capacity && work.position >= position);
    found.insert(found.end(), begins.get(), begins.get() + work.count);
    position = work.position;
    status = work.status;
  }
  CHECK(position == static_cast<std::int64_t>(text.size()));
  return found;
}

Begins by_blocks(const std::string& text, LinesWanted wanted, std::size_t capacity) {
  return scanned([](LineScan& work) { penstock::scan_lines(work); }, text, wanted, capacity);
}

Begins by_bytes(const std::string& text, LinesWanted wanted) {
  return scanned([](LineScan& work) { penstock::scan_lines_portable(work); }, text, wanted, 1000);
}

void check_rules() {
  const std::string text = "one\ntwo\r\n\r\n \t\r\n\nfive";
  CHECK((by_bytes(text, LinesWanted::kAll) == Begins{0, 4, 9, 11, 15, 16}));
  CHECK((by_bytes(text, LinesWanted::kNotEmpty) == Begins{0, 4, ~9, 11, ~15, 16}));
  CHECK((by_bytes(text, LinesWanted::kNotBlank) == Begins{0, 4, ~9, ~11, ~15, 16}));
  CHECK((by_bytes("\r", LinesWanted::kNotEmpty) == Begins{0}));
  CHECK((by_bytes("\r", LinesWanted::kNotBlank) == Begins{~0}));
  CHECK((by_bytes("a\rb\n", LinesWanted::kAll) == Begins{0}));
  CHECK(by_bytes("", LinesWanted::kAll).empty());
}

void check_random() {
  std::mt19937_64 random(1);
  for (const std::size_t size : {0, 1, 2, 63, 64, 65, 127, 128, 129, 1000})
    for (const char* const letters : {"\n", "a\n", "ab\n\r", " \t\r\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"})
      for (const auto wanted : {LinesWanted::kAll, LinesWanted::kNotEmpty, LinesWanted::kNotBlank}) {
        std::string text;
        while (text.size() < size) text += letters[random() % std::strlen(letters)];
        const Begins expected = by_bytes(text, wanted);
        for (const std::size_t capacity : {1, 2, 63, 64, 65, 100, 5000})
          CHECK(by_blocks(text, wanted, capacity) == expected);
      }
}

void check_shrinking() {
  char path[] = "lines-XXXXXX";
  const int descriptor = ::mkstemp(path);
  const std::string text(1 << 20, 'x');
  CHECK(::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  const penstock::MappedFile file(path);
  CHECK(::ftruncate(descriptor, 1) == 0);
  std::int64_t position = 0, begins[4];
  const auto outcome = penstock::scan_lines(file, position, begins, 4, LinesWanted::kAll);
  CHECK(outcome.status == Status::kTruncated && position == 0);
  ::close(descriptor);
  ::unlink(path);
}

}  // namespace

int main() {
  check_rules();
  check_random();
  check_shrinking();
}
