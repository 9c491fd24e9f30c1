#include "kernels/records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/crc32c.h"
#include "kernels/guard.h"
#include "kernels/lasting.h"

namespace penstock {

namespace {

using Status = ReadOutcome::Status;

constexpr std::int64_t kLead = 12;      // TFRecord: 8 bytes of length, 4 of its checksum
constexpr std::int64_t kTrail = 4;      // 4 bytes of the record's checksum
constexpr std::size_t kAhead = 3;       // records
constexpr std::size_t kTouched = 8;     // records whose pages are requested at a time
constexpr std::int64_t kFetched = 640;  // bytes
constexpr std::int64_t kCacheLine = 64;
constexpr std::size_t kProbes = 8;       // records whose pages are checked before all are requested
constexpr std::int64_t kNear = 1 << 16;  // bytes between two records that are read together
constexpr std::size_t kFew = 4;          // files of one call, all of which are checked afterwards

template <class Word>
Word load(const unsigned char* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

bool is_tfrecord_head(const unsigned char* at) noexcept { return load<std::uint32_t>(at + 8) == masked_crc32c(at, 8); }

// Prefetches the beginning of a record: random records would otherwise wait for memory (a third of the time).
void prefetch(const Found& record) noexcept {
  if (!record.data) return;  // of an empty file
  for (std::int64_t at = -kLead; at < std::min(record.size, kFetched); at += kCacheLine)
    __builtin_prefetch(record.data + at);
}

// Looks up the pages of some records in parallel, which takes hardly longer than one lookup; one takes a fifth of the
// time to parse a record.
void touch(const Found* records, std::size_t first, std::size_t last) noexcept {
  for (std::size_t i = first; i < last; ++i)
    if (records[i].data) __builtin_prefetch(records[i].data - kLead);
}

// Copies a record and checks the copy, not the mapping: the copy is returned, and in the cache.
inline Status copy_record(Found record, unsigned char* into, bool check_tfrecord) noexcept {
  const auto size = static_cast<std::size_t>(record.size);
  if (size) std::memcpy(into, record.data, size);
  if (!check_tfrecord) return Status::kOk;
  const unsigned char* const lead = record.data - kLead;
  if (load<std::uint64_t>(lead) != size || !is_tfrecord_head(lead)) return Status::kBadLength;
  return load<std::uint32_t>(record.data + size) == masked_crc32c(into, size) ? Status::kOk : Status::kBadChecksum;
}

// The data and progress of a guarded body.
struct Copying {
  const Found* records;
  std::size_t count;
  bool check_tfrecord;
  unsigned char* const* into;
  volatile std::size_t at = 0;
  volatile Status status = Status::kOk;

  bool copy(std::size_t i, unsigned char* place) noexcept {
    at = i;
    if (i % kTouched == 0) touch(records, i + kAhead, std::min(i + kAhead + kTouched, count));
    if (i + kAhead < count) prefetch(records[i + kAhead]);
    const Status found = copy_record(records[i], place, check_tfrecord);
    if (found != Status::kOk) status = found;
    return found == Status::kOk;
  }
};

void copy_records(void* context) noexcept {
  auto& work = *static_cast<Copying*>(context);
  for (std::size_t i = 0; i < work.count; ++i)
    if (!work.copy(i, work.into[i])) return;
}

// The same, passing each record to a callback.
struct Showing : Copying {
  unsigned char* next;
  bool end_to_end;
  RecordFiles::Take take;
  void* taker;
};

void show_records(void* context) noexcept {
  auto& work = *static_cast<Showing*>(context);
  unsigned char* next = work.next;
  for (std::size_t i = 0; i < work.count; ++i) {
    if (!work.copy(i, next)) return;
    unsigned char* const end = next + work.records[i].size;
    if (!work.take(work.taker, i, next, end)) return;
    if (work.end_to_end) next = end;
  }
  work.at = work.count;
}

struct Trimming {
  Found* records;
  std::size_t count;
  volatile std::size_t at = 0;
};

// Removes the ends of lines, which are only known from the file.
void trim_lines(void* context) noexcept {
  auto& work = *static_cast<Trimming*>(context);
  for (std::size_t i = 0; i < work.count; ++i) {
    work.at = i;
    Found& line = work.records[i];
    while (line.size && line.data[line.size - 1] == '\n') {
      --line.size;
      if (line.size && line.data[line.size - 1] == '\r') --line.size;
    }
  }
}

struct Finding {
  const Spans* spans;                // of each file
  const std::int64_t* starts;        // the first row of each file
  const unsigned char* const* data;  // of each file that is asked for
  const std::int64_t* rows;
  const std::uint32_t* numbers;  // of each row's file
  std::size_t count;
  std::int64_t lead, trail;
  Found* records;
  volatile std::size_t at = 0;
  volatile bool is_inside = true;
};

// The memory of an index is mapped from a file as well.
void find_spans(void* context) noexcept {
  auto& work = *static_cast<Finding*>(context);
  for (std::size_t i = 0; i < work.count; ++i) {
    work.at = i;
    const std::uint32_t number = work.numbers[i];
    const Spans& spans = work.spans[number];
    const std::int64_t record = work.rows[i] - work.starts[number];
    const std::int64_t begin = spans.begin(record), end = spans.end(record);
    if (begin < 0 || end > spans.file_size || begin > end || end - begin < work.lead + work.trail) {
      work.is_inside = false;
      return;
    }
    work.records[i] = {work.data[number] + begin + work.lead, end - begin - work.lead - work.trail};
  }
}

}  // namespace

RecordFiles::RecordFiles(std::vector<std::string> paths, std::vector<Spans> spans, Framing framing, bool verify,
                         std::size_t most_open)
    : files_(std::move(paths), most_open), spans_(std::move(spans)), framing_(framing), verify_(verify) {
  starts_.reserve(spans_.size() + 1);
  starts_.push_back(0);
  for (const Spans& of_file : spans_) starts_.push_back(starts_.back() + of_file.count);
}

ReadOutcome RecordFiles::open(std::size_t file, std::size_t asked, std::shared_ptr<const MappedFile>& mapped) {
  mapped = files_.open(file);
  if (mapped->error()) return {Status::kCannotOpen, asked, mapped->error()};
  const Spans& spans = spans_[file];
  if (mapped->size() != spans.file_size) return {Status::kOtherSize, asked, mapped->size()};
  if (spans.file_mtime != Spans::kAnyTime && mapped->mtime() != spans.file_mtime) return {Status::kRewritten, asked};
  return {};
}

ReadOutcome RecordFiles::settled(const std::vector<InFile>& from, ReadOutcome outcome) noexcept {
  if (outcome.status == Status::kTruncated) return outcome;  // which says more
  for (const InFile& file : from) {
    const MappedFile::Change change = files_.change(file.number, *file.mapped, from.size() > kFew);
    if (change == MappedFile::Change::kCut) return {Status::kTruncated, file.asked};
    if (change == MappedFile::Change::kWritten) return {Status::kRewritten, file.asked};
  }
  return outcome;
}

ReadOutcome RecordFiles::locate(const std::int64_t* rows, std::size_t count, Located& located) {
  std::vector<std::uint32_t> file_of;
  ReadOutcome outcome = find(rows, count, located, file_of);
  if (outcome.status != Status::kOk || !count) return outcome;
  read_ahead(located, file_of);
  if (framing_ == Framing::kLine) {
    Trimming work{located.records.data(), count};
    if (!guarded(trim_lines, &work)) return {Status::kTruncated, work.at};
  }
  return outcome;
}

void RecordFiles::advise(const std::int64_t* rows, std::size_t count) {
  Located located;
  std::vector<std::uint32_t> file_of;
  if (count && find(rows, count, located, file_of).status == Status::kOk) read_ahead(located, file_of);
}

bool are_cut(const Spans& spans) {
  return LastingMap::cuts() && (LastingMap::is_in_cut(spans.begins) || LastingMap::is_in_cut(spans.ends));
}

ReadOutcome RecordFiles::find(const std::int64_t* rows, std::size_t count, Located& located,
                              std::vector<std::uint32_t>& numbers) {
  located.records.resize(count);
  located.files.clear();
  numbers.resize(count);
  std::vector<const unsigned char*> data(spans_.size());
  std::vector<bool> opened(spans_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = file_of(rows[i]);
    numbers[i] = static_cast<std::uint32_t>(number);
    if (opened[number]) continue;
    InFile& file = located.files.emplace_back();
    file.number = number;
    file.asked = i;
    const ReadOutcome outcome = open(number, i, file.mapped);
    if (outcome.status != Status::kOk) return outcome;
    data[number] = file.mapped->data();
    opened[number] = true;
  }
  const bool is_framed = framing_ == Framing::kTfRecord;
  Finding work{spans_.data(),         starts_.data(),         data.data(),           rows, numbers.data(), count,
               is_framed ? kLead : 0, is_framed ? kTrail : 0, located.records.data()};
  if (!guarded(find_spans, &work) || !work.is_inside) return {Status::kBadIndex, work.at};
  for (std::size_t i = 0; LastingMap::cuts() && i < count; ++i)
    if (are_cut(spans_[numbers[i]])) return {Status::kBadIndex, i};
  return {};
}

// Requests all records from the system at once, if some are not in memory: the system reads them in parallel, in disk
// order, while touching them would wait for one after another.
void RecordFiles::read_ahead(const Located& located, const std::vector<std::uint32_t>& file_of) const {
  const auto& records = located.records;
  std::vector<const MappedFile*> by_number(spans_.size());
  for (const InFile& file : located.files) by_number[file.number] = file.mapped.get();
  const std::size_t step = std::max<std::size_t>(records.size() / kProbes, 1);
  bool is_here = true;
  for (std::size_t i = 0; i < records.size() && is_here; i += step) {
    const MappedFile& file = *by_number[file_of[i]];
    if (records[i].size) is_here = file.is_resident(records[i].data - file.data());
  }
  if (is_here) return;
  std::vector<std::size_t> order(records.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(file_of[a], records[a].data) < std::pair(file_of[b], records[b].data);
  });
  for (std::size_t i = 0; i < order.size();) {
    const std::uint32_t number = file_of[order[i]];
    const MappedFile& file = *by_number[number];
    const std::int64_t begin = records[order[i]].data - file.data();
    std::int64_t end = begin + records[order[i]].size;
    for (++i; i < order.size() && file_of[order[i]] == number; ++i) {
      const std::int64_t low = records[order[i]].data - file.data();
      if (low > end + kNear) break;
      end = std::max(end, low + records[order[i]].size);
    }
    file.will_need(begin, end);
  }
}

ReadOutcome RecordFiles::copy(const Located& located, unsigned char* const* into) noexcept {
  Copying work{located.records.data(), located.records.size(), checks(), into};
  if (!guarded(copy_records, &work)) return {Status::kTruncated, work.at};
  return settled(located.files, {work.status, work.at});
}

ReadOutcome RecordFiles::each(const Located& located, unsigned char* into, Placing placing, Take take,
                              void* taker) noexcept {
  Showing work{{located.records.data(), located.records.size(), checks(), nullptr},
               into,
               placing == Placing::kEndToEnd,
               take,
               taker};
  if (!guarded(show_records, &work)) return {Status::kTruncated, work.at};
  return settled(located.files, {work.status, work.at});
}

namespace {

struct Scanning {
  const unsigned char* data;
  std::int64_t size;
  std::int64_t* offsets;
  std::size_t capacity;
  bool verify;
  volatile std::int64_t position;
  volatile std::size_t count = 0;
  volatile ScanOutcome::Status status = ScanOutcome::Status::kMore;
};

void scan_tfrecords_guarded(void* context) noexcept {
  auto& work = *static_cast<Scanning*>(context);
  std::int64_t position = work.position;
  std::size_t count = 0;
  auto status = ScanOutcome::Status::kMore;
  for (; count < work.capacity; ++count) {
    const std::int64_t left = work.size - position;
    if (!left) status = ScanOutcome::Status::kEnd;
    if (!left) break;
    const unsigned char* const head = work.data + position;
    if (left < kLead + kTrail)
      status = ScanOutcome::Status::kShort;
    else if (!is_tfrecord_head(head))
      status = ScanOutcome::Status::kBadLength;
    if (status != ScanOutcome::Status::kMore) break;
    const std::uint64_t length = load<std::uint64_t>(head);
    if (length > static_cast<std::uint64_t>(left - kLead - kTrail)) {
      status = ScanOutcome::Status::kShort;
      break;
    }
    if (work.verify && load<std::uint32_t>(head + kLead + length) != masked_crc32c(head + kLead, length)) {
      status = ScanOutcome::Status::kBadChecksum;
      break;
    }
    work.offsets[count] = position;
    position += kLead + static_cast<std::int64_t>(length) + kTrail;
  }
  work.position = position;
  work.count = count;
  work.status = status;
}

}  // namespace

ScanOutcome scan_tfrecords(const unsigned char* data, std::int64_t size, std::int64_t& position, std::int64_t* offsets,
                           std::size_t capacity, bool verify) noexcept {
  Scanning work{data, size, offsets, capacity, verify, position};
  if (!guarded(scan_tfrecords_guarded, &work)) return {ScanOutcome::Status::kTruncated, 0};
  position = work.position;
  return {work.status, work.count};
}

ScanOutcome scan_tfrecords(const MappedFile& file, std::int64_t& position, std::int64_t* offsets, std::size_t capacity,
                           bool verify) noexcept {
  return scan_tfrecords(file.data(), file.size(), position, offsets, capacity, verify);
}

}  // namespace penstock
