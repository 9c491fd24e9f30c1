// Records of files by number, located by an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/mapped.h"
#include "kernels/starts.h"

namespace penstock {

// The form of a record between its two offsets in the index.
enum class Framing : int {
  kPlain,     // all bytes
  kTfRecord,  // length and its checksum before it, its own checksum after it
  kLine,      // a line: without the \n or \r\n at its end, and without empty lines after it
};

// The places of a file's records: record i from begins[i] to ends[i]; or, if these are null and all have one length,
// `length` bytes from first + i * step.
struct Spans {
  const std::int64_t* begins;
  const std::int64_t* ends;
  std::int64_t count;
  std::int64_t file_size;  // when the index was made
  std::int64_t first = 0, step = 0, length = 0;
  std::int64_t file_mtime = kAnyTime;  // when the index was made, in ns

  static constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::min();

  std::int64_t begin(std::int64_t record) const { return begins ? begins[record] : first + record * step; }
  std::int64_t end(std::int64_t record) const { return ends ? ends[record] : first + record * step + length; }
};

// Returns whether an index was truncated while mapped: its values may be zeros.
bool are_cut(const Spans& spans);

// The outcome of one call: success, or the error and the requested row that failed.
struct ReadOutcome {
  enum class Status : int {
    kOk,
    kCannotOpen,   // `detail`: errno
    kOtherSize,    // the size of the file has changed since indexing; `detail`: its size now
    kBadIndex,     // the index points outside the file
    kTruncated,    // the file shrank while it was read
    kBadLength,    // TFRecord: length and index differ, or the length's checksum is wrong
    kBadChecksum,  // TFRecord: the record's checksum is wrong
    kRewritten,    // the file was changed since it was indexed
  };
  Status status = Status::kOk;
  std::size_t failed = 0;  // which of the rows
  std::int64_t detail = 0;
};

// The place of one requested record, in memory mapped while the `Located` of its call lives.
struct Found {
  const unsigned char* data;  // of the payload
  std::int64_t size;          // bytes of it
};

// A file with requested records: its mapping, its number, and the first requested row in it.
struct InFile {
  std::shared_ptr<const MappedFile> mapped;
  std::size_t number, asked;
};

// The located records of some rows, with the files' mappings.
struct Located {
  std::vector<Found> records;
  std::vector<InFile> files;
};

class RecordFiles {
 public:
  // The caller owns the memory of `spans`, which must stay.
  RecordFiles(std::vector<std::string> paths, std::vector<Spans> spans, Framing framing, bool verify,
              std::size_t most_open);

  std::int64_t count() const { return starts_.back(); }
  const std::string& path(std::size_t file) const { return files_.path(file); }
  // The file of row `row`, 0 <= row < count().
  std::size_t file_of(std::int64_t row) const noexcept { return file_of_row(starts_, row); }
  std::int64_t start(std::size_t file) const { return starts_[file]; }  // its first row
  const Spans& spans(std::size_t file) const { return spans_[file]; }
  Framing framing() const { return framing_; }
  // The mapping of an unchanged file, or its error for the requested record `asked`.
  ReadOutcome open(std::size_t file, std::size_t asked, std::shared_ptr<const MappedFile>& mapped);
  // The outcome of a call after copying records from these files: `outcome`, or the error of a file changed meanwhile.
  ReadOutcome settled(const std::vector<InFile>& from, ReadOutcome outcome) noexcept;

  // Finds the records at `rows`, 0 <= row < count(), and asks the system to begin to read those not in memory.
  ReadOutcome locate(const std::int64_t* rows, std::size_t count, Located& located);
  // Asks the system to begin to read the records at `rows`, 0 <= row < count(), that are not in memory; errors are left
  // to the reader.
  void advise(const std::int64_t* rows, std::size_t count);
  // Copies each record to `into[i]`, which has room for its size; checks it if requested.
  ReadOutcome copy(const Located& located, unsigned char* const* into) noexcept;
  // Copies one record after another to `into`, end to end or each over the one before, checks it, and passes it to
  // `take` while in the cache, until `take` refuses one: kOk with that one as `failed`, or with their number. `into`
  // has room for all, or for the longest. `take` must own nothing, see `guarded`.
  enum class Placing { kEndToEnd, kInOnePlace };
  using Take = bool (*)(void* taker, std::size_t number, const unsigned char* begin, const unsigned char* end);
  ReadOutcome each(const Located& located, unsigned char* into, Placing placing, Take take, void* taker) noexcept;

 private:
  ReadOutcome find(const std::int64_t* rows, std::size_t count, Located& located, std::vector<std::uint32_t>& file_of);
  void read_ahead(const Located& located, const std::vector<std::uint32_t>& file_of) const;
  bool checks() const { return verify_ && framing_ == Framing::kTfRecord; }

  MappedFiles files_;
  std::vector<Spans> spans_;
  std::vector<std::int64_t> starts_;  // the first row of each file, and the total number
  Framing framing_;
  bool verify_;
};

// Scans of whole files that make an index. Each writes up to `capacity` offsets and continues from `position`, which it
// advances.
struct ScanOutcome {
  enum class Status : int { kMore, kEnd, kTruncated, kShort, kBadLength, kBadChecksum };
  Status status = Status::kMore;
  std::size_t count = 0;  // offsets written
};

// The beginning of each TFRecord; the checksum of each length is checked, and with `verify` that of each record.
// kShort: the file ends inside the record at `position`.
ScanOutcome scan_tfrecords(const MappedFile& file, std::int64_t& position, std::int64_t* offsets, std::size_t capacity,
                           bool verify) noexcept;
// The same for memory with a beginning of a file: kShort then means that more must follow.
ScanOutcome scan_tfrecords(const unsigned char* data, std::int64_t size, std::int64_t& position, std::int64_t* offsets,
                           std::size_t capacity, bool verify) noexcept;

}  // namespace penstock
