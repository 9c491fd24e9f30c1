// Records parsed as they are read: the same as read and parsed apart, and refused wherever one of them would be.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/example_files.h"
#include "tests/check.h"
#include "tests/write_example.h"

using namespace penstock;
using namespace penstock::tests;

namespace {

// A record with `count` numbers, and a text as long as is said.
std::string record(std::int64_t count, std::size_t letters) {
  std::string numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers += varint(static_cast<std::uint64_t>(count * i));
  return field(1, entry("x", field(3, field(1, numbers))) +
                      entry("t", field(1, field(1, std::string(letters, static_cast<char>('a' + count % 26))))));
}

// A file of such records, and where they are.
struct File {
  explicit File(const std::vector<std::string>& texts) : descriptor(::memfd_create("records", 0)) {
    for (const std::string& text : texts) {
      begins.push_back(static_cast<std::int64_t>(content.size()));
      content += framed(text);
      ends.push_back(static_cast<std::int64_t>(content.size()));
    }
    CHECK(::write(descriptor, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  }
  ~File() { ::close(descriptor); }

  RecordFiles reader(bool verify = true) const {
    return RecordFiles({"/proc/self/fd/" + std::to_string(descriptor)},
                       {Spans{begins.data(), ends.data(), static_cast<std::int64_t>(begins.size()),
                              static_cast<std::int64_t>(content.size())}},
                       Framing::kTfRecord, verify, 1);
  }
  void write(std::size_t at, char byte) const { CHECK(::pwrite(descriptor, &byte, 1, static_cast<off_t>(at)) == 1); }

  int descriptor;
  std::string content;
  std::vector<std::int64_t> begins, ends;
};

const ExampleSpec& wanted() {
  static const ExampleSpec spec(
      {{"x", FeatureKind::kInt64, false, -1, true}, {"t", FeatureKind::kBytes, false, 1, true}});
  return spec;
}

struct Columns {
  Columns(std::size_t records, std::int64_t room)
      : values(static_cast<std::size_t>(room)), splits(records + 1), texts(records) {
    columns[0] = {values.data(), room, nullptr, splits.data(), nullptr, 0};
    columns[1] = {texts.data(), 0, nullptr, nullptr, nullptr, 0};
  }
  std::vector<std::int64_t> values, splits;
  std::vector<Bytes> texts;
  FeatureColumn columns[2];
};

// With short records texts are copied, with long ones they stay where they are.
void check_the_same(std::size_t longest) {
  std::vector<std::string> records;
  for (std::int64_t i = 0; i < 50; ++i)
    records.push_back(record(i, i == 30 ? longest : static_cast<std::size_t>(i % 9)));
  const File file(records);
  RecordFiles reader = file.reader();
  FilesMemory memory;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < 60; ++i) rows.push_back((i * 17 + turn) % 50);
    Columns made(60, 60 * 50);
    CHECK(parse_files(reader, rows.data(), 60, wanted(), made.columns, memory));
    for (std::size_t i = 0; i < 60; ++i) {
      CHECK(made.splits[i + 1] - made.splits[i] == rows[i]);
      for (std::int64_t k = 0; k < rows[i]; ++k)
        CHECK(made.values[static_cast<std::size_t>(made.splits[i] + k)] == k * rows[i]);
      const std::string text(rows[i] == 30 ? longest : static_cast<std::size_t>(rows[i] % 9),
                             static_cast<char>('a' + rows[i] % 26));
      CHECK(made.texts[i].begin && std::string(made.texts[i].begin, made.texts[i].end) == text);
    }
  }
  CHECK(parse_files(reader, nullptr, 0, wanted(), Columns(0, 0).columns, memory));
}

void check_refused() {
  const std::vector<std::int64_t> rows{2, 0, 1};
  FilesMemory memory;
  const auto refused = [&](const File& file, std::int64_t room, bool verify = true) {
    RecordFiles reader = file.reader(verify);
    Columns made(3, room);
    return !parse_files(reader, rows.data(), 3, wanted(), made.columns, memory);
  };
  const std::vector<std::string> sound{record(3, 1), record(200, 2), record(5, 3)};
  CHECK(!refused(File(sound), 208) && refused(File(sound), 207));
  CHECK(refused(File({sound[0], sound[1] + "\x01", sound[2]}), 208));
  CHECK(refused(File({sound[0], "", sound[2]}), 208));
  const File damaged(sound);
  damaged.write(damaged.content.size() - 6, 'z');  // in a text
  CHECK(refused(damaged, 208) && !refused(damaged, 208, false));
  const File shorter(sound);
  RecordFiles reader = shorter.reader();
  Columns made(3, 208);
  CHECK(parse_files(reader, rows.data(), 3, wanted(), made.columns, memory));
  CHECK(::ftruncate(shorter.descriptor, 0) == 0);
  CHECK(!parse_files(reader, rows.data(), 3, wanted(), made.columns, memory));
}

}  // namespace

int main() {
  check_the_same(8);
  check_the_same(5000);
  check_refused();
}
