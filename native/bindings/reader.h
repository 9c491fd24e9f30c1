// The reader of records, owned by Python, for bindings that read and process in one call.
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

// Located records, with their mappings, between the two calls that copy them into the caller's memory.
struct FoundHandle {
  Located located;
};

// The kernel's reader, with the index arrays that it points into.
class Reader {
 public:
  Reader(const nanobind::list& paths, const nanobind::list& begins, const nanobind::list& ends,
         const nanobind::list& sizes, const nanobind::list& times, int framing, bool verify, std::size_t most_open);

  // Returns the records as text in this encoding, or as bytes if None: in a list, or in a given array of objects. On
  // failure returns None with the outcome, or the invalid text's number with the exception.
  nanobind::tuple read(nanobind::handle rows_array, nanobind::handle encoding, const std::string& errors,
                       nanobind::handle out);
  // Finds the records at `rows` and writes the offsets of the joined records, and the end of the last.
  nanobind::tuple find(nanobind::handle rows_array, nanobind::handle splits_array);
  // Asks the system to begin to read the records at `rows`.
  void advise(nanobind::handle rows_array);
  // Copies located records one after another.
  nanobind::tuple join(const FoundHandle& found, nanobind::handle out_array);

  RecordFiles& files() { return *files_; }
  // Rows in the form for the kernel; raises an IndexError for a row outside the files.
  const std::int64_t* checked(const Buffer& rows) const;

 private:
  // Two arrays of offsets, or two ranges of one step.
  Spans spans_of(nanobind::handle begins, nanobind::handle ends, std::int64_t file_size);
  ReadOutcome locate(const Buffer& rows_buffer, Located& located);
  // Whether the call succeeded; otherwise `outcome` has the error, or `made` an invalid text.
  bool read_runs(const Buffer& rows, Objects& made, ReadOutcome& outcome);
  bool read_each(const Buffer& rows, Objects& made, ReadOutcome& outcome);

  std::vector<std::unique_ptr<Buffer>> held_;
  std::unique_ptr<RecordFiles> files_;
};

nanobind::tuple as_tuple(const ReadOutcome& outcome);

}  // namespace penstock::bindings
