// Records of files by their number, from where an index says that they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/mapped.h"

namespace penstock {

// How a record lies between the two offsets that the index has for it.
enum class Framing : int {
  kPlain,     // it is all of them
  kTfRecord,  // length and its checksum before it, its own checksum after it
  kLine,      // a line: without the \n or \r\n at its end, and without empty lines after it
};

// Where the records of a file lie: record i from begins[i] to ends[i]; or, where they are null and all are of one
// length, from first + i * step, `length` bytes.
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

// Whether their index was cut short while it was mapped: what was found in it may be zeros.
bool are_cut(const Spans& spans);

// What became of one call: all went well, or what is wrong with which of the rows that were asked for.
struct ReadOutcome {
  enum class Status : int {
    kOk,
    kCannotOpen,   // `detail`: errno
    kOtherSize,    // the file is not as large as when it was indexed; `detail`: its size now
    kBadIndex,     // the index points outside of the file
    kTruncated,    // the file has shrunk while it was read
    kBadLength,    // TFRecord: length and index differ, or the length's checksum is wrong
    kBadChecksum,  // TFRecord: the record's checksum is wrong
    kRewritten,    // the file was written to since it was indexed
  };
  Status status = Status::kOk;
  std::size_t failed = 0;  // which of the rows
  std::int64_t detail = 0;
};

// Where one record that was asked for is, in memory that is mapped while the `Located` of its call lives.
struct Found {
  const unsigned char* data;  // of the payload
  std::int64_t size;          // bytes of it
};

// A file that records lie in: its mapping, its number, and the first of the rows asked for that lies in it.
struct InFile {
  std::shared_ptr<const MappedFile> mapped;
  std::size_t number, asked;
};

// The records of some rows, found; holds the files' mappings.
struct Located {
  std::vector<Found> records;
  std::vector<InFile> files;
};

class RecordFiles {
 public:
  // The memory of `spans` is the caller's, and stays.
  RecordFiles(std::vector<std::string> paths, std::vector<Spans> spans, Framing framing, bool verify,
              std::size_t most_open);

  std::int64_t count() const { return starts_.back(); }
  const std::string& path(std::size_t file) const { return files_.path(file); }
  // The file of row `row`, 0 <= row < count().
  std::size_t file_of(std::int64_t row) const noexcept;
  std::int64_t start(std::size_t file) const { return starts_[file]; }  // its first row
  const Spans& spans(std::size_t file) const { return spans_[file]; }
  Framing framing() const { return framing_; }
  // The mapping of a file, which is as it was indexed; or what is wrong with it for who asks for record `asked`.
  ReadOutcome open(std::size_t file, std::size_t asked, std::shared_ptr<const MappedFile>& mapped);
  // What became of a call once records are copied out of these files: `outcome`, or that one was written to meanwhile.
  ReadOutcome settled(const std::vector<InFile>& from, ReadOutcome outcome) noexcept;

  // Finds the records at `rows`, 0 <= row < count(), and has the system begin to read those that are not in memory.
  ReadOutcome locate(const std::int64_t* rows, std::size_t count, Located& located);
  // Has the system begin to read the records at `rows`, 0 <= row < count(), where they are not in memory; what is wrong
  // with them is left to who reads them.
  void advise(const std::int64_t* rows, std::size_t count);
  // Copies each record to `into[i]`, which has room for its size; checks it on the way where that is asked for.
  ReadOutcome copy(const Located& located, unsigned char* const* into) noexcept;
  // Copies one record after another to `into`, end to end or each over the one before, checks it, and shows it to
  // `take` while it is in the cache, until one is not taken: kOk with that one as `failed`, or how many there are.
  // `into` has room for all, or for the longest. `take` must own nothing, see `guarded`.
  enum class Placing { kEndToEnd, kInOnePlace };
  using Take = bool (*)(void* taker, std::size_t number, const unsigned char* begin, const unsigned char* end);
  ReadOutcome each(const Located& located, unsigned char* into, Placing placing, Take take, void* taker) noexcept;

 private:
  ReadOutcome find(const std::int64_t* rows, std::size_t count, Located& located, std::vector<std::uint32_t>& file_of);
  void read_ahead(const Located& located, const std::vector<std::uint32_t>& file_of) const;
  bool checks() const { return verify_ && framing_ == Framing::kTfRecord; }

  MappedFiles files_;
  std::vector<Spans> spans_;
  std::vector<std::int64_t> starts_;  // the first row of each file, and the number of all
  Framing framing_;
  bool verify_;
};

// Scans of whole files that make an index. Each writes up to `capacity` offsets and goes on from `position`, which it
// moves.
struct ScanOutcome {
  enum class Status : int { kMore, kEnd, kTruncated, kShort, kBadLength, kBadChecksum };
  Status status = Status::kMore;
  std::size_t count = 0;  // offsets written
};

// The beginning of each TFRecord; the checksum of each length is checked, and with `verify` that of each record.
// kShort: the file ends inside of the record at `position`.
ScanOutcome scan_tfrecords(const MappedFile& file, std::int64_t& position, std::int64_t* offsets, std::size_t capacity,
                           bool verify) noexcept;
// The same of memory that holds a beginning of a file: kShort is then that there has to be more.
ScanOutcome scan_tfrecords(const unsigned char* data, std::int64_t size, std::int64_t& position, std::int64_t* offsets,
                           std::size_t capacity, bool verify) noexcept;

}  // namespace penstock
