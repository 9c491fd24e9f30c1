// Records of files: where the index says, checked, and what is wrong with which; files that change under the reader.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/crc32c.h"
#include "kernels/records.h"
#include "tests/check.h"

using penstock::Framing;
using penstock::Located;
using penstock::MappedFile;
using penstock::ReadOutcome;
using penstock::RecordFiles;
using penstock::ScanOutcome;
using penstock::Spans;
using Status = ReadOutcome::Status;
using Offsets = std::vector<std::int64_t>;

namespace {

std::string framed(const std::string& record) {
  std::string made(16 + record.size(), '\0');
  const std::uint64_t length = record.size();
  std::memcpy(made.data(), &length, 8);
  const std::uint32_t of_length = penstock::masked_crc32c(made.data(), 8);
  std::memcpy(made.data() + 8, &of_length, 4);
  std::memcpy(made.data() + 12, record.data(), record.size());
  const std::uint32_t of_record = penstock::masked_crc32c(record.data(), record.size());
  std::memcpy(made.data() + 12 + record.size(), &of_record, 4);
  return made;
}

class File {
 public:
  explicit File(const std::string& content) : descriptor_(::memfd_create("records", 0)) {
    CHECK(descriptor_ >= 0);
    CHECK(::write(descriptor_, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  }
  ~File() { ::close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void resize(off_t size) const { CHECK(::ftruncate(descriptor_, size) == 0); }
  void overwrite(const std::string& content, std::int64_t time) const {
    CHECK(::pwrite(descriptor_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()));
    const struct timespec times[2] = {{0, 0}, {time, 0}};
    CHECK(::futimens(descriptor_, times) == 0);
  }

 private:
  int descriptor_;
};

ReadOutcome read(RecordFiles& files, const Offsets& rows, std::vector<std::string>& records) {
  Located located;
  const ReadOutcome outcome = files.locate(rows.data(), rows.size(), located);
  if (outcome.status != Status::kOk) return outcome;
  std::vector<unsigned char*> into;
  records.assign(rows.size(), "");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    records[i].resize(static_cast<std::size_t>(located.records[i].size));
    into.push_back(reinterpret_cast<unsigned char*>(records[i].data()));
  }
  return files.copy(located, into.data());
}

void check_scan_and_read() {
  const std::string content = framed("one") + framed("") + framed(std::string(100'000, 'x'));
  const File file(content), empty("");
  const MappedFile mapped(file.path().c_str());
  Offsets offsets(3);
  std::int64_t position = 0;
  const ScanOutcome outcome = penstock::scan_tfrecords(mapped, position, offsets.data(), 3, true);
  CHECK(outcome.status == ScanOutcome::Status::kMore && outcome.count == 3);
  CHECK(penstock::scan_tfrecords(mapped, position, offsets.data(), 1, true).status == ScanOutcome::Status::kEnd);
  CHECK(position == mapped.size() && (offsets == Offsets{0, 19, 35}));
  const Offsets ends{19, 35, position};
  RecordFiles files({empty.path(), file.path()},
                    {Spans{nullptr, nullptr, 0, 0}, Spans{offsets.data(), ends.data(), 3, position}},
                    Framing::kTfRecord, true, 1);
  CHECK(files.count() == 3 && files.file_of(0) == 1);
  std::vector<std::string> records;
  CHECK(read(files, {2, 0, 1, 2}, records).status == Status::kOk);
  CHECK(records[0] == std::string(100'000, 'x') && records[1] == "one" && records[2].empty() &&
        records[3] == records[0]);
  CHECK(read(files, {}, records).status == Status::kOk && records.empty());
  file.resize(50'000);  // cut short under the reader
  const ReadOutcome cut = read(files, {0, 2}, records);
  CHECK(cut.status == Status::kTruncated && cut.failed == 1);
  CHECK(read(files, {0, 1}, records).status == Status::kTruncated);  // what is left may be something else by now
  RecordFiles later({file.path()}, {Spans{offsets.data(), ends.data(), 3, position}}, Framing::kTfRecord, true, 1);
  const ReadOutcome other = read(later, {1, 1}, records);
  CHECK(other.status == Status::kOtherSize && other.failed == 0 && other.detail == 50'000);
}

void check_damage() {
  std::string content = framed("one") + framed("two");
  content[19 + 12] = 'T';
  const File file(content);
  const Offsets begins{0, 19}, ends{19, 38};
  const std::vector<Spans> spans{{begins.data(), ends.data(), 2, 38}};
  std::vector<std::string> records;
  RecordFiles checked({file.path()}, spans, Framing::kTfRecord, true, 1);
  RecordFiles unchecked({file.path()}, spans, Framing::kTfRecord, false, 1);
  const ReadOutcome outcome = read(checked, {0, 1}, records);
  CHECK(outcome.status == Status::kBadChecksum && outcome.failed == 1);
  CHECK(read(checked, {0}, records).status == Status::kOk && records[0] == "one");
  CHECK(read(unchecked, {1}, records).status == Status::kOk && records[0] == "Two");
  RecordFiles missing({"nowhere/at all"}, spans, Framing::kPlain, true, 1);
  CHECK(read(missing, {0}, records).status == Status::kCannotOpen);
  const std::int64_t far = INT64_MAX;
  for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {-1, 19}, {0, 39}, {20, 10}, {0, 15}, {far, far}, {INT64_MIN, far}, {far, INT64_MIN}}) {
    RecordFiles wrong({file.path()}, {Spans{&begin, &end, 1, 38}}, Framing::kTfRecord, true, 1);
    CHECK(read(wrong, {0}, records).status == Status::kBadIndex);
  }
}

// A file that is written into is seen: before it is mapped, and once it was read; of many files, a little later.
void check_rewritten() {
  const File file("one!"), other("two!");
  file.overwrite("one!", 5);
  other.overwrite("two!", 5);
  const std::int64_t begin = 0, end = 4;
  Spans spans{&begin, &end, 1, 4};
  spans.file_mtime = 5'000'000'000;
  std::vector<std::string> records;
  RecordFiles files({file.path(), other.path()}, {spans, spans}, Framing::kPlain, true, 2);
  CHECK(read(files, {0, 1}, records).status == Status::kOk && records[0] == "one!");
  other.overwrite("TWO!", 6);
  const ReadOutcome outcome = read(files, {0, 0, 1}, records);
  CHECK(outcome.status == Status::kRewritten && outcome.failed == 2);
  CHECK(read(files, {0}, records).status == Status::kOk);
  RecordFiles later({file.path(), other.path()}, {spans, spans}, Framing::kPlain, true, 2);
  CHECK(read(later, {1}, records).status == Status::kRewritten);
  CHECK(read(later, {0}, records).status == Status::kOk);
  RecordFiles anyhow({other.path()}, {Spans{&begin, &end, 1, 4}}, Framing::kPlain, true, 2);
  CHECK(read(anyhow, {0}, records).status == Status::kOk && records[0] == "TWO!");
  std::vector<std::string> paths(8, file.path());
  RecordFiles many(paths, std::vector<Spans>(8, spans), Framing::kPlain, true, 8);
  const Offsets all{0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(read(many, all, records).status == Status::kOk);
  file.overwrite("ONE!", 7);
  while (read(many, all, records).status == Status::kOk) CHECK(records.size() == 8);
  CHECK(read(many, {3}, records).status == Status::kRewritten);
}

// Few files kept open, many asked for, by several threads.
void check_many_files() {
  std::vector<std::unique_ptr<File>> made;
  std::vector<std::string> paths;
  const std::int64_t begin = 0, end = 4;
  std::vector<Spans> spans;
  Offsets rows;
  for (int i = 0; i < 100; ++i) {
    made.push_back(std::make_unique<File>(std::to_string(1000 + i)));
    paths.push_back(made.back()->path());
    spans.push_back({&begin, &end, 1, 4});
    rows.push_back(99 - i);
  }
  RecordFiles files(paths, spans, Framing::kPlain, true, 7);
  const auto work = [&] {
    std::vector<std::string> records;
    for (int round = 0; round < 20; ++round) {
      CHECK(read(files, rows, records).status == Status::kOk);
      for (int i = 0; i < 100; ++i) CHECK(records[static_cast<std::size_t>(i)] == std::to_string(1099 - i));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

// What is asked for ahead changes nothing, whatever has become of the file or its index.
void check_advice() {
  const File file(std::string(100'000, 'x'));
  const Offsets begins{0, 50'000, 99'000}, ends{10, 99'000, 200'000};
  RecordFiles files({file.path(), "/nothing/here"},
                    {{begins.data(), ends.data(), 3, 100'000}, {begins.data(), ends.data(), 1, 9}}, Framing::kPlain,
                    true, 1);
  const auto ask = [&](const Offsets& rows) { files.advise(rows.data(), rows.size()); };
  ask({});
  ask({1, 0, 1});
  ask({2});
  ask({3, 0});
  file.resize(10);
  ask({1, 0});
  std::vector<std::string> records;
  CHECK(read(files, {0}, records).status != Status::kBadIndex);
}

}  // namespace

int main() {
  check_advice();
  check_scan_and_read();
  check_damage();
  check_rewritten();
  check_many_files();
}
