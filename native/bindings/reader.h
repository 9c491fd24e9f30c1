// The reader of records as Python owns it, for the bindings of what reads and does more in one go.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/buffers.h"
#include "kernels/records.h"

namespace penstock::bindings {

class Objects;

// Records found, and their mappings, between the two calls that copy them into memory of the caller's.
struct FoundHandle {
  Located located;
};

// The kernel's reader, and the index arrays that it points into.
class Reader {
 public:
  Reader(const nanobind::list& paths, const nanobind::list& begins, const nanobind::list& ends,
         const nanobind::list& sizes, const nanobind::list& times, int framing, bool verify, std::size_t most_open);

  // The records as text in this encoding, or as bytes where it is None: in a list, or in an array of objects that is
  // given; or None and what is wrong, or which of them is no text in that encoding and the exception.
  nanobind::tuple read(nanobind::handle rows_array, nanobind::handle encoding, const std::string& errors,
                       nanobind::handle out);
  // Finds the records at `rows` and writes where each would begin if they lay one after another, and the end of the
  // last.
  nanobind::tuple find(nanobind::handle rows_array, nanobind::handle splits_array);
  // Has the system begin to read the records at `rows`.
  void advise(nanobind::handle rows_array);
  // Copies records that were found one after another.
  nanobind::tuple join(const FoundHandle& found, nanobind::handle out_array);

  RecordFiles& files() { return *files_; }
  // Rows as the kernel takes them: an IndexError where one is outside of the files.
  const std::int64_t* checked(const Buffer& rows) const;

 private:
  // Two arrays of offsets, or two ranges of one step.
  Spans spans_of(nanobind::handle begins, nanobind::handle ends, std::int64_t file_size);
  ReadOutcome locate(const Buffer& rows_buffer, Located& located);
  // Whether all went well; else `outcome` says what did not, or `made` that a text is none.
  bool read_runs(const Buffer& rows, Objects& made, ReadOutcome& outcome);
  bool read_each(const Buffer& rows, Objects& made, ReadOutcome& outcome);

  std::vector<std::unique_ptr<Buffer>> held_;
  std::unique_ptr<RecordFiles> files_;
};

nanobind::tuple as_tuple(const ReadOutcome& outcome);

}  // namespace penstock::bindings
