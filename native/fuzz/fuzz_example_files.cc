// Any bytes as the records of a file: parsed as they are read they give what they give apart, or are refused as there.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/example_files.h"
#include "tests/write_example.h"

using namespace penstock;
using penstock::fuzz::demand;

namespace {

constexpr size_t kMost = 1 << 14;  // bytes; larger inputs show nothing that smaller ones do not

int file_of(const void* data, size_t size) {
  const int descriptor = ::memfd_create("records", MFD_CLOEXEC);
  demand(descriptor >= 0 && ::write(descriptor, data, size) == static_cast<ssize_t>(size), "no file");
  return descriptor;
}

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// The names of the files in hostile/example.
std::vector<FeatureSlot> slots(std::int64_t size) {
  return {{"i", FeatureKind::kInt64, false, size, false},
          {"floats", FeatureKind::kFloat, false, size, false},
          {"a name of bytes", FeatureKind::kBytes, false, size, false},
          {"", FeatureKind::kInt64, false, -1, false}};
}

const std::vector<ExampleSpec>& specs() {
  static const std::vector<ExampleSpec> all = [] {
    std::vector<ExampleSpec> made;
    for (const std::int64_t values : {-1, 0, 1, 2}) made.emplace_back(slots(values));
    return made;
  }();
  return all;
}

// Room for all there can be.
struct Columns {
  Columns(const ExampleSpec& spec, std::size_t records, std::size_t bytes) {
    const std::size_t room = std::max(records * 2, bytes) + 1;
    for (const FeatureSlot& slot : spec.slots()) {
      values.emplace_back(room * sizeof(Bytes));
      splits.emplace_back(records + 1);
      columns.push_back({values.back().data(), static_cast<std::int64_t>(room), defaults,
                         slot.size < 0 ? splits.back().data() : nullptr, nullptr, 0});
    }
  }
  char defaults[2 * sizeof(Bytes)] = {};
  std::vector<std::vector<char>> values;
  std::vector<std::vector<std::int64_t>> splits;
  std::vector<FeatureColumn> columns;
};

void check_same(const ExampleSpec& spec, const Columns& one, const Columns& other, std::size_t records) {
  for (std::size_t slot = 0; slot < spec.slots().size(); ++slot) {
    const FeatureSlot& wanted = spec.slots()[slot];
    demand(one.splits[slot] == other.splits[slot] || wanted.size >= 0, "other splits");
    const std::size_t count = static_cast<std::size_t>(
        wanted.size >= 0 ? static_cast<std::int64_t>(records) * wanted.size : one.splits[slot][records]);
    const char *a = one.values[slot].data(), *b = other.values[slot].data();
    if (wanted.kind != FeatureKind::kBytes) {
      const std::size_t width = wanted.kind == FeatureKind::kFloat ? sizeof(float) : sizeof(std::int64_t);
      demand(std::memcmp(a, b, count * width) == 0, "other values");
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes x = reinterpret_cast<const Bytes*>(a)[i], y = reinterpret_cast<const Bytes*>(b)[i];
      demand(!x.begin == !y.begin && std::equal(x.begin, x.end, y.begin, y.end), "other texts");
    }
  }
}

// All of it, nothing, a half, and all again: what came in the record before is expected in the next.
void check_plain(const uint8_t* data, size_t size) {
  const int descriptor = file_of(data, size);
  const auto end = static_cast<std::int64_t>(size);
  const std::vector<std::int64_t> begins{0, 0, 0, 0}, ends{end, 0, end / 2, end}, rows{0, 1, 3, 2, 0};
  const std::vector<Spans> spans{Spans{begins.data(), ends.data(), 4, end}};
  RecordFiles files({path_of(descriptor)}, spans, Framing::kPlain, false, 1);
  FilesMemory memory;
  for (const ExampleSpec& spec : specs()) {
    for (const std::size_t count : {std::size_t{1}, rows.size()}) {
      std::vector<Bytes> records;
      for (std::size_t i = 0; i < count; ++i) records.push_back({data, data + ends[static_cast<std::size_t>(rows[i])]});
      Columns plain(spec, count, 3 * size), made(spec, count, 3 * size);
      const bool sound =
          parse_examples(spec, records.data(), 0, count, plain.columns.data()).status == ExampleStatus::kDone;
      demand(parse_files(files, rows.data(), count, spec, made.columns.data(), memory) == sound, "another end");
      if (sound) check_same(spec, plain, made, count);
    }
  }
  ::close(descriptor);
}

// The same bytes framed, in two files: sound, with a byte changed somewhere, and cut short once they are mapped.
void check_framed(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size), frame = tests::framed(text);
  const std::string content = frame + tests::framed(text.substr(0, size / 2)) + frame;
  const auto first = static_cast<std::int64_t>(frame.size()), end = static_cast<std::int64_t>(content.size());
  const std::vector<std::int64_t> begins{0, first, end - first}, ends{first, end - first, end}, rows{1, 5, 3, 0, 2, 4};
  const int one = file_of(content.data(), content.size()), other = file_of(content.data(), content.size());
  const Spans spans{begins.data(), ends.data(), 3, end};
  RecordFiles files({path_of(one), path_of(other)}, {spans, spans}, Framing::kTfRecord, true, 2);
  const ExampleSpec& spec = specs().front();
  std::vector<Bytes> records;
  for (const std::int64_t row : rows) records.push_back({data, data + (row % 3 == 1 ? size / 2 : size)});
  Columns plain(spec, rows.size(), 6 * size), made(spec, rows.size(), 6 * size);
  const bool sound =
      parse_examples(spec, records.data(), 0, rows.size(), plain.columns.data()).status == ExampleStatus::kDone;
  FilesMemory memory;
  const auto parses = [&] { return parse_files(files, rows.data(), rows.size(), spec, made.columns.data(), memory); };
  demand(parses() == sound, "another end of what is framed");
  if (sound) check_same(spec, plain, made, rows.size());
  const auto at = static_cast<std::size_t>(size ? data[0] | data[size - 1] << 8 : 0) % content.size();
  const auto changed = static_cast<char>(content[at] + 1);
  demand(::pwrite(other, &changed, 1, static_cast<off_t>(at)) == 1, "not written");
  demand(!parses(), "a byte that nobody misses");
  demand(::pwrite(other, content.data() + at, 1, static_cast<off_t>(at)) == 1, "not written");
  // The same bytes again, in a file that was written to: an error, unless its time has not gone on yet.
  demand(!parses() || sound, "not as it was");
  demand(::ftruncate(other, static_cast<off_t>(at)) == 0, "not cut short");
  parses();  // the rest of its last page reads as zeros
  demand(::ftruncate(other, 0) == 0, "not cut short");
  demand(!parses(), "records of nothing");
  ::close(one);
  ::close(other);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMost) return 0;
  check_plain(data, size);
  check_framed(data, size);
  return 0;
}
