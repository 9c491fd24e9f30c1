// Where the lines of a text begin. A line ends after '\n', or with the text; the '\r' of "\r\n" belongs to its end, and
// a '\r' alone is a character like any other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/mapped.h"
#include "kernels/records.h"

namespace penstock {

// Which lines count.
enum class LinesWanted : int {
  kAll,
  kNotEmpty,  // those with a byte before their end
  kNotBlank,  // those with another byte than space, tab and '\r' before their end
};

// What a scan is of, where it is, and what it has found. `position` is always where a line begins.
struct LineScan {
  const unsigned char* data;
  std::int64_t size;
  LinesWanted wanted;
  std::int64_t* begins;  // where lines begin, in order; ~ of it for one that is not wanted
  std::size_t capacity;
  std::int64_t position = 0;
  std::size_t count = 0;
  ScanOutcome::Status status = ScanOutcome::Status::kMore;
};

// Goes on from `position` until there is no more room, no more text (kEnd), or many megabytes have been seen (kMore).
void scan_lines(LineScan& scan) noexcept;

// The same, a byte at a time.
void scan_lines_portable(LineScan& scan) noexcept;

// The same over a file. One that shrinks meanwhile is kTruncated.
ScanOutcome scan_lines(const MappedFile& file, std::int64_t& position, std::int64_t* begins, std::size_t capacity,
                       LinesWanted wanted) noexcept;

}  // namespace penstock
