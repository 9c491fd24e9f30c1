#include "kernels/line_run.h"

#include <algorithm>
#include <cstring>

#include "kernels/ascii.h"
#include "kernels/guard.h"

namespace penstock {

namespace {

using Status = ReadOutcome::Status;

constexpr std::size_t kPieceBytes = std::size_t{32} << 10;  // stays in the nearest cache, along with the results
constexpr std::size_t kPieceLines = 512;
constexpr std::int64_t kPage = 4096;  // or more

// The data and progress of a guarded copy.
struct Copying {
  const unsigned char* data;
  const Spans& spans;
  std::int64_t first, last;
  unsigned char* into;
  std::int64_t capacity;
  Found* lines;
  std::size_t most;  // lines
  volatile std::size_t count = 0;
  volatile std::int64_t size = 0;  // of all lines together; of the first if it does not fit
  volatile bool is_inside = true;
};

void copy_lines(void* context) noexcept {
  auto& work = *static_cast<Copying*>(context);
  const std::int64_t* const begins = work.spans.begins;
  const std::int64_t* const ends = work.spans.ends;
  const std::int64_t file_size = work.spans.file_size;
  std::int64_t start = 0, size = 0;
  std::size_t count = 0;
  for (std::int64_t i = work.first; i < work.last && count < work.most; ++i, ++count) {
    const std::int64_t begin = begins[i], end = ends[i];  // read once: mapped values may change
    const bool is_inside = begin >= 0 && begin <= end && end <= file_size;
    if (!count) {
      work.is_inside = is_inside;
      if (!is_inside) return;
      work.size = end - begin;
      if (end - begin > work.capacity) return;
      start = begin;
    }
    if (!is_inside || begin != start + size || end - start > work.capacity) break;
    work.lines[count] = {work.into + size, end - begin};
    size = end - start;
  }
  work.size = size;
  work.count = count;
  if (size) std::memcpy(work.into, work.data + start, static_cast<std::size_t>(size));
}

// Removes the end of a line, and the excluded empty lines after it.
inline void trim(Found& line) noexcept {
  while (line.size && line.data[line.size - 1] == '\n') {
    --line.size;
    if (line.size && line.data[line.size - 1] == '\r') --line.size;
  }
}

struct Waiting {
  const unsigned char* data;
  const Spans& spans;
  std::int64_t first, last;
  volatile std::int64_t begin = 0, end = 0;
  volatile unsigned char touched = 0;
};

void find_bytes(void* context) noexcept {
  auto& work = *static_cast<Waiting*>(context);
  work.begin = work.spans.begins[work.first];
  work.end = work.spans.ends[work.last - 1];
}

void touch_pages(void* context) noexcept {
  auto& work = *static_cast<Waiting*>(context);
  for (std::int64_t at = work.begin / kPage * kPage; at < work.end; at += kPage) work.touched = work.data[at];
}

// Returns whether the bounds of a line can be read; otherwise the index was truncated, not the file.
bool is_in_index(const Spans& spans, std::int64_t line) noexcept {
  Waiting work{nullptr, spans, line, line + 1};
  return guarded(find_bytes, &work);
}

// Asks the system to read a whole run that is not in memory, and waits, so that copying does not wait. Errors of the
// run are found by copying.
void wait_for(const OpenRun& run) noexcept {
  Waiting work{run.file->data(), *run.spans, run.first, run.last};
  if (!guarded(find_bytes, &work) || work.begin < 0 || work.begin >= work.end || work.end > run.file->size()) return;
  if (run.file->are_resident(work.begin, work.end)) return;
  run.file->will_need(work.begin, work.end);
  (void)guarded(touch_pages, &work);
}

}  // namespace

LineRun::LineRun(const unsigned char* data, const Spans& spans, std::int64_t first, std::int64_t last)
    : data_(data),
      spans_(spans),
      first_(first),
      last_(last),
      at_(first),
      capacity_(kPieceBytes),
      copied_(new unsigned char[kPieceBytes]),
      lines_(kPieceLines) {}

ReadOutcome LineRun::next(LinePiece& piece) {
  piece = {};
  if (at_ == last_) return {};
  for (std::size_t most = lines_.size();;) {
    Copying work{data_, spans_, at_, last_, copied_.get(), static_cast<std::int64_t>(capacity_), lines_.data(), most};
    const auto line = static_cast<std::size_t>(at_ - first_);
    const bool is_copied = guarded(copy_lines, &work);
    if (are_cut(spans_)) return {Status::kBadIndex, line};
    if (!is_copied) {
      if (most == 1) return {is_in_index(spans_, at_) ? Status::kTruncated : Status::kBadIndex, line};
      most = 1;  // up to the bad line
      continue;
    }
    if (!work.is_inside) return {Status::kBadIndex, line};
    const auto size = static_cast<std::size_t>(work.size);
    if (!work.count) {
      copied_.reset();
      copied_.reset(new unsigned char[size]);
      capacity_ = size;
      continue;
    }
    piece = {lines_.data(), work.count, is_ascii(copied_.get(), size)};
    std::for_each_n(lines_.data(), piece.count, trim);
    at_ += static_cast<std::int64_t>(piece.count);
    return {};
  }
}

ReadOutcome open_run(RecordFiles& files, std::int64_t row, std::size_t count, OpenRun& run) {
  const std::size_t number = run.number = files.file_of(row);
  const ReadOutcome outcome = files.open(number, 0, run.file);
  if (outcome.status != Status::kOk) return outcome;
  run.spans = &files.spans(number);
  run.first = row - files.start(number);
  run.last = std::min(run.first + static_cast<std::int64_t>(count), run.spans->count);
  wait_for(run);
  return {};
}

bool are_consecutive(const std::int64_t* rows, std::size_t count) noexcept {
  std::int64_t apart = 0;
  for (std::size_t i = 1; i < count; ++i) apart |= rows[i] - rows[i - 1] - 1;
  return !apart;
}

}  // namespace penstock
