// Any bytes are records or an error with its place; any index of any file gives records within it or is refused.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/crc32c.h"
#include "kernels/records.h"

using penstock::Framing;
using penstock::Located;
using penstock::ReadOutcome;
using penstock::RecordFiles;
using penstock::ScanOutcome;
using penstock::Spans;
using penstock::fuzz::demand;

namespace {

std::vector<int64_t> scan(const uint8_t* data, int64_t size, bool verify, size_t capacity, ScanOutcome& outcome,
                          int64_t& position) {
  std::vector<int64_t> all;
  const auto offsets = std::make_unique<int64_t[]>(capacity);
  position = 0;
  do {
    outcome = penstock::scan_tfrecords(data, size, position, offsets.get(), capacity, verify);
    demand(outcome.count <= capacity && position >= 0 && position <= size, "a scan outside");
    all.insert(all.end(), offsets.get(), offsets.get() + outcome.count);
  } while (outcome.status == ScanOutcome::Status::kMore);
  return all;
}

// A file of these bytes that lives as long as it does.
class File {
 public:
  File(const uint8_t* data, size_t size) : descriptor_(::memfd_create("records", MFD_CLOEXEC)) {
    demand(descriptor_ >= 0, "no file");
    demand(::write(descriptor_, data, size) == static_cast<ssize_t>(size), "not written");
  }
  ~File() { ::close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void truncate(off_t size) const { demand(::ftruncate(descriptor_, size) == 0, "not truncated"); }

 private:
  int descriptor_;
};

// What is shown of records is what is copied of them, wherever it is put.
void check_shown(RecordFiles& files, const Located& located, const ReadOutcome& copied,
                 const std::vector<unsigned char*>& copies) {
  struct Shown {
    const Located& located;
    const std::vector<unsigned char*>& copies;
    size_t count = 0;
    bool same = true;
  };
  size_t total = 0;
  for (const auto& record : located.records) total += static_cast<size_t>(record.size);
  const auto memory = std::make_unique<uint8_t[]>(total);
  for (const auto placing : {RecordFiles::Placing::kEndToEnd, RecordFiles::Placing::kInOnePlace}) {
    Shown shown{located, copies};
    const auto take = [](void* taker, size_t number, const unsigned char* begin, const unsigned char* end) {
      auto& all = *static_cast<Shown*>(taker);
      all.same &= number == all.count++ && end - begin == all.located.records[number].size &&
                  (begin == end || !std::memcmp(begin, all.copies[number], static_cast<size_t>(end - begin)));
      return true;
    };
    const ReadOutcome outcome = files.each(located, memory.get(), placing, take, &shown);
    demand(outcome.status == copied.status && shown.same, "shown as another record");
    // That a file was cut or written to shows once all was taken, and is told of the first record that is in it.
    const bool is_later = outcome.status == ReadOutcome::Status::kTruncated && shown.count == copies.size();
    const bool is_whole = outcome.status == ReadOutcome::Status::kOk || is_later;
    demand(shown.count == (is_whole ? copies.size() : copied.failed), "not all");
  }
}

ReadOutcome read(RecordFiles& files, const std::vector<int64_t>& rows, const uint8_t* data, int64_t size) {
  Located located;
  const ReadOutcome outcome = files.locate(rows.data(), rows.size(), located);
  if (outcome.status != ReadOutcome::Status::kOk) return outcome;
  std::vector<std::unique_ptr<uint8_t[]>> copies;
  std::vector<unsigned char*> into;
  for (const auto& record : located.records) {
    demand(record.size >= 0 && record.size <= size, "a record longer than its file");
    into.push_back(copies.emplace_back(std::make_unique<uint8_t[]>(static_cast<size_t>(record.size))).get());
  }
  const ReadOutcome copied = files.copy(located, into.data());
  check_shown(files, located, copied, into);
  for (size_t i = 0; i < into.size() && data && copied.status == ReadOutcome::Status::kOk; ++i) {
    const auto length = static_cast<size_t>(located.records[i].size);
    demand(!length || ::memmem(data, static_cast<size_t>(size), into[i], length), "a record that the file has not");
  }
  return copied;
}

// The bytes with the checksums of the lengths and records that follow one another from the first on.
std::vector<uint8_t> repaired(const uint8_t* data, size_t size) {
  std::vector<uint8_t> copy(data, data + size);
  for (size_t at = 0; at + 16 <= size;) {
    uint64_t length;
    std::memcpy(&length, copy.data() + at, 8);
    const uint32_t of_length = penstock::masked_crc32c(copy.data() + at, 8);
    std::memcpy(copy.data() + at + 8, &of_length, 4);
    if (length > size - at - 16) break;
    const uint32_t of_record = penstock::masked_crc32c(copy.data() + at + 12, length);
    std::memcpy(copy.data() + at + 12 + length, &of_record, 4);
    at += 16 + length;
  }
  return copy;
}

void check(const uint8_t* data, size_t count) {
  const auto size = static_cast<int64_t>(count);
  ScanOutcome outcome, other;
  int64_t end, other_end;
  const std::vector<int64_t> verified = scan(data, size, true, 1000, outcome, end);
  demand(verified == scan(data, size, true, 1, other, other_end) && end == other_end, "steps change records");
  demand(outcome.status == other.status, "steps change the end");
  demand(scan(data, size, false, 1000, other, other_end).size() >= verified.size(), "fewer without checksums");
  demand(penstock::crc32c(data, count) == penstock::crc32c_portable(data, count), "two checksums of the same bytes");

  const File file(data, count);
  std::vector<int64_t> rows, begins(verified),
      ends(verified.empty() ? verified : std::vector(verified.begin() + 1, verified.end()));
  if (!begins.empty()) ends.push_back(end);
  for (size_t i = 0; i < begins.size(); ++i) rows.insert(rows.begin(), static_cast<int64_t>(i));
  RecordFiles found({file.path()}, {Spans{begins.data(), ends.data(), static_cast<int64_t>(begins.size()), size}},
                    Framing::kTfRecord, true, 1);
  demand(read(found, rows, data, size).status == ReadOutcome::Status::kOk, "what the scan found cannot be read");

  // The bytes as an index of themselves.
  const size_t entries = count / 16;
  std::vector<int64_t> low(entries), high(entries), all;
  for (size_t i = 0; i < entries; ++i) {
    std::memcpy(&low[i], data + 16 * i, 8);
    std::memcpy(&high[i], data + 16 * i + 8, 8);
    if (data[16 * i + 7] < 250) low[i] = low[i] % (size + 2), high[i] = high[i] % (size + 2);
    all.push_back(static_cast<int64_t>(i));
  }
  for (const Framing framing : {Framing::kPlain, Framing::kTfRecord, Framing::kLine}) {
    RecordFiles files({file.path()}, {Spans{low.data(), high.data(), static_cast<int64_t>(entries), size}}, framing,
                      true, 1);
    for (const int64_t row : all) (void)read(files, {row}, data, size);
    (void)read(files, all, data, size);
  }
  // A file that is cut short once it is mapped.
  if (!rows.empty()) {
    file.truncate(size / 2);
    (void)read(found, rows, nullptr, size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check(data, size);
  const std::vector<uint8_t> sound = repaired(data, size);
  check(sound.data(), sound.size());
  return 0;
}
