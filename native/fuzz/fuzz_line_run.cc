// Runs of lines, whatever an index says of where they lie: each is what lies there, without its end, or is refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/ascii.h"
#include "kernels/line_run.h"
#include "kernels/lines.h"

using penstock::LinePiece;
using penstock::LineRun;
using penstock::LineScan;
using penstock::LinesWanted;
using penstock::Spans;
using Offsets = std::vector<int64_t>;
using Status = penstock::ReadOutcome::Status;

namespace {

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool plainly_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

std::string_view without_end(std::string_view line) {
  while (line.ends_with('\n')) {
    line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return line;
}

// Where the lines begin that are wanted, and where the last ends.
Offsets scanned(const uint8_t* data, size_t size, LinesWanted wanted) {
  Offsets begins(size + 1);
  LineScan scan{data, static_cast<int64_t>(size), wanted, begins.data(), begins.size()};
  while (scan.status == penstock::ScanOutcome::Status::kMore) penstock::scan_lines(scan);
  begins.resize(scan.count);
  std::erase_if(begins, [](int64_t begin) { return begin < 0; });
  begins.push_back(static_cast<int64_t>(size));
  return begins;
}

// Offsets of the data's own choice, most of them close to it.
Offsets told(const uint8_t* data, size_t size) {
  Offsets offsets;
  for (size_t at = 0; at + 2 <= size && offsets.size() < 600; at += 2) {
    const int64_t near = data[at] | data[at + 1] << 8;
    offsets.push_back(data[at] == 0xFF ? (near << 47) * (data[at + 1] % 2 ? -1 : 1) : near % 97 ? near : near - 400);
  }
  if (size % 3) std::sort(offsets.begin(), offsets.end());
  offsets.push_back(static_cast<int64_t>(size));
  return offsets;
}

void check_run(const uint8_t* data, size_t size, const Offsets& offsets, size_t first, size_t last) {
  const Offsets begins(offsets.begin(), offsets.end() - 1), ends(offsets.begin() + 1, offsets.end());
  const Spans spans{begins.data(), ends.data(), static_cast<int64_t>(begins.size()), static_cast<int64_t>(size)};
  LineRun run(data, spans, static_cast<int64_t>(first), static_cast<int64_t>(last));
  for (size_t line = first;;) {
    LinePiece piece;
    const auto outcome = run.next(piece);
    const bool at_end = line == last;
    const bool is_bad =
        !at_end && !(0 <= begins[line] && begins[line] <= ends[line] && ends[line] <= static_cast<int64_t>(size));
    demand(outcome.status == (is_bad ? Status::kBadIndex : Status::kOk), "a bad place taken, or a good one refused");
    demand(!is_bad || outcome.failed == line - first, "another line is blamed");
    demand((piece.count > 0) == (!is_bad && !at_end) && piece.count <= last - line, "lines lost or made up");
    if (!piece.count) return;
    bool all_ascii = true;
    for (size_t i = 0; i < piece.count; ++i, ++line) {
      const std::string_view whole(reinterpret_cast<const char*>(data) + begins[line],
                                   static_cast<size_t>(ends[line] - begins[line]));
      const std::string_view found(reinterpret_cast<const char*>(piece.lines[i].data),
                                   static_cast<size_t>(piece.lines[i].size));
      demand(found == without_end(whole), "another line");
      demand(penstock::is_ascii(piece.lines[i].data, found.size()) == plainly_ascii(found), "ASCII or not");
      all_ascii = all_ascii && plainly_ascii(whole);
    }
    demand(piece.is_ascii == all_ascii, "the piece is ASCII or not");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const size_t choice = size ? data[size / 2] : 0;
  for (const auto wanted : {LinesWanted::kAll, LinesWanted::kNotEmpty, LinesWanted::kNotBlank}) {
    const Offsets offsets = scanned(data, size, wanted);
    const size_t count = offsets.size() - 1, first = count ? choice % count : 0;
    check_run(data, size, offsets, 0, count);
    check_run(data, size, offsets, first, first + (count - first) / 2);
  }
  const Offsets offsets = told(data, size);
  check_run(data, size, offsets, 0, offsets.size() - 1);
  return 0;
}
