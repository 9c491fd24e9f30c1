// The begins of the lines of a text. A line ends after '\n', or with the text; the '\r' of "\r\n" belongs to its end,
// and a '\r' alone is a character like any other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/mapped.h"
#include "kernels/records.h"

namespace penstock {

// The kinds of lines that count.
enum class LinesWanted : int {
  kAll,
  kNotEmpty,  // lines with a byte before their end
  kNotBlank,  // lines with a byte other than space, tab and '\r' before their end
};

// The text, position and results of a scan. `position` is always the begin of a line.
struct LineScan {
  const unsigned char* data;
  std::int64_t size;
  LinesWanted wanted;
  std::int64_t* begins;  // begins of lines, in order; its complement (~) for an excluded line
  std::size_t capacity;
  std::int64_t position = 0;
  std::size_t count = 0;
  ScanOutcome::Status status = ScanOutcome::Status::kMore;
};

// Continues from `position` until there is no more room, no more text (kEnd), or many megabytes were scanned (kMore).
void scan_lines(LineScan& scan) noexcept;

// The same, one byte at a time.
void scan_lines_portable(LineScan& scan) noexcept;

// The same for a file. The result is kTruncated if the file shrinks meanwhile.
ScanOutcome scan_lines(const MappedFile& file, std::int64_t& position, std::int64_t* begins, std::size_t capacity,
                       LinesWanted wanted) noexcept;

}  // namespace penstock
