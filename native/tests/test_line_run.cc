// Runs of lines: pieces hold the lines that a look at each finds, long ones too; what is wrong is told of the line.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ascii.h"
#include "kernels/line_run.h"
#include "tests/check.h"

using penstock::Framing;
using penstock::LinePiece;
using penstock::LineRun;
using penstock::OpenRun;
using penstock::RecordFiles;
using penstock::Spans;
using Status = penstock::ReadOutcome::Status;

namespace {

struct Text {
  std::string bytes;
  std::vector<std::int64_t> begins, ends;
  std::vector<std::string> lines;

  void add(const std::string& line, const std::string& end) {
    begins.push_back(static_cast<std::int64_t>(bytes.size()));
    bytes += line + end;
    ends.push_back(static_cast<std::int64_t>(bytes.size()));
    lines.push_back(line);
  }
  Spans spans() const {
    return {begins.data(), ends.data(), static_cast<std::int64_t>(begins.size()),
            static_cast<std::int64_t>(bytes.size())};
  }
};

Text text_of(std::size_t count, std::size_t longest) {
  Text text;
  for (std::size_t i = 0; i < count; ++i)
    text.add(std::string(i * 7919 % longest, static_cast<char>('a' + i % 26)), i % 3 ? "\n" : "\r\n");
  return text;
}

void check_lines(const Text& text, std::size_t first, std::size_t last, bool is_ascii) {
  const Spans spans = text.spans();
  const std::unique_ptr<unsigned char[]> exact(new unsigned char[text.bytes.size()]);
  std::memcpy(exact.get(), text.bytes.data(), text.bytes.size());
  LineRun run(exact.get(), spans, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last));
  LinePiece piece;
  std::size_t line = first;
  bool all_ascii = true;
  while (run.next(piece).status == Status::kOk && piece.count) {
    all_ascii = all_ascii && piece.is_ascii;
    for (std::size_t i = 0; i < piece.count; ++i) {
      const penstock::Found& found = piece.lines[i];
      CHECK(std::string(reinterpret_cast<const char*>(found.data), static_cast<std::size_t>(found.size)) ==
            text.lines[line++]);
    }
  }
  CHECK(line == last && all_ascii == is_ascii);
}

void check_pieces() {
  for (const std::size_t longest : {1, 2, 100, 5000})
    for (const std::size_t count : {0, 1, 2, 511, 512, 513, 2000}) check_lines(text_of(count, longest), 0, count, true);
  check_lines(text_of(1000, 100), 17, 900, true);
  for (const std::size_t size : {(32 << 10) - 2, (32 << 10) - 1, 32 << 10, 1 << 20}) {
    Text text = text_of(3, 10);
    text.add(std::string(size, 'x'), "\n");
    text.add("", "\n\r\n\n");  // with empty lines after it that are not wanted
    text.add("caf\xc3\xa9", "");
    check_lines(text, 0, 6, false);
    check_lines(text, 0, 5, true);
  }
  Text parted = text_of(2, 10);
  parted.bytes += "left out\n";
  parted.add("after it", "\n");
  check_lines(parted, 0, 3, true);
}

void check_bad_index() {
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{-1, 5}, {5, 4}, {0, 1 << 20}, {-5, -1}}) {
    Text text = text_of(5, 10);
    text.begins[3] = begin;
    text.ends[3] = end;
    const Spans spans = text.spans();
    LineRun run(reinterpret_cast<const unsigned char*>(text.bytes.data()), spans, 1, 5);
    LinePiece piece;
    CHECK(run.next(piece).status == Status::kOk && piece.count == 2);
    const auto outcome = run.next(piece);
    CHECK(outcome.status == Status::kBadIndex && outcome.failed == 2 && piece.count == 0);
  }
}

void check_files() {
  const Text text = text_of(3000, 50);
  char path[] = "runs-XXXXXX";
  const int descriptor = ::mkstemp(path);
  CHECK(::write(descriptor, text.bytes.data(), text.bytes.size()) == static_cast<ssize_t>(text.bytes.size()));
  RecordFiles files({path, path}, {text.spans(), text.spans()}, Framing::kLine, false, 8);
  OpenRun opened;
  CHECK(penstock::open_run(files, 2990, 100, opened).status == Status::kOk);
  CHECK(opened.first == 2990 && opened.last == 3000);
  CHECK(penstock::open_run(files, 3000, 100, opened).status == Status::kOk);
  CHECK(opened.first == 0 && opened.last == 100);
  CHECK(opened.file->are_resident(0, opened.file->size()));

  CHECK(penstock::open_run(files, 0, 3000, opened).status == Status::kOk);
  CHECK(::ftruncate(descriptor, 8192) == 0);  // two pages are left
  LineRun run(opened.file->data(), *opened.spans, opened.first, opened.last);
  LinePiece piece;
  std::size_t whole = 0;
  penstock::ReadOutcome outcome;
  while ((outcome = run.next(piece)).status == Status::kOk) whole += piece.count;
  CHECK(outcome.status == Status::kTruncated && outcome.failed == whole);
  CHECK(text.ends[whole] > 8192 && text.ends[whole - 1] <= 8192);
  ::unlink(path);
  RecordFiles others({path}, {text.spans()}, Framing::kLine, false, 8);
  CHECK(penstock::open_run(others, 0, 10, opened).status == Status::kCannotOpen);
  ::close(descriptor);
}

void check_ascii() {
  for (const std::size_t size : {0, 1, 7, 8, 9, 63, 64, 65, 72, 100, 127, 128, 129}) {
    std::vector<unsigned char> bytes(size, 0x7F);
    CHECK(penstock::is_ascii(bytes.data(), size));
    for (std::size_t i = 0; i < size; ++i) {
      bytes[i] = 0x80;
      CHECK(!penstock::is_ascii(bytes.data(), size));
      bytes[i] = 0;
    }
    CHECK(penstock::is_ascii(bytes.data(), size));
  }
}

void check_consecutive() {
  const std::vector<std::int64_t> rows{3, 4, 5, 7, INT64_MAX, INT64_MIN};
  for (const std::size_t count : {0, 1, 3}) CHECK(penstock::are_consecutive(rows.data(), count));
  CHECK(!penstock::are_consecutive(rows.data(), 4));
  const std::vector<std::int64_t> undone{3, 5, 5}, back{3, 2};
  CHECK(!penstock::are_consecutive(undone.data(), 3) && !penstock::are_consecutive(back.data(), 2));
}

}  // namespace

int main() {
  check_ascii();
  check_consecutive();
  check_pieces();
  check_bad_index();
  check_files();
}
