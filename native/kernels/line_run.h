// Lines of consecutive rows, copied from their file one piece at a time, so that each is in the nearest cache when
// used, without a lookup or copy of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/mapped.h"
#include "kernels/records.h"

namespace penstock {

// Some lines, without their ends, in memory that the next piece overwrites.
struct LinePiece {
  const Found* lines = nullptr;
  std::size_t count = 0;
  bool is_ascii = false;  // whether all bytes are ASCII
};

class LineRun {
 public:
  // Records `first` to `last` of `spans`, which has begins and ends, in `data` of its file_size bytes. The memory may
  // be mapped.
  LineRun(const unsigned char* data, const Spans& spans, std::int64_t first, std::int64_t last);

  // Copies the next lines: at least one, if any. kBadIndex and kTruncated name the line, counted from `first`.
  ReadOutcome next(LinePiece& piece);

 private:
  const unsigned char* data_;
  const Spans& spans_;
  const std::int64_t first_, last_;
  std::int64_t at_;
  std::size_t capacity_;
  std::unique_ptr<unsigned char[]> copied_;
  std::vector<Found> lines_;
};

// The lines at up to `count` rows from `row` on in one file, with its mapping.
struct OpenRun {
  std::shared_ptr<const MappedFile> file;
  std::size_t number;  // of the file
  const Spans* spans;
  std::int64_t first, last;
};

// Opens the file, and waits until the lines are in memory.
ReadOutcome open_run(RecordFiles& files, std::int64_t row, std::size_t count, OpenRun& run);

// Returns whether the rows are consecutive.
bool are_consecutive(const std::int64_t* rows, std::size_t count) noexcept;

}  // namespace penstock
