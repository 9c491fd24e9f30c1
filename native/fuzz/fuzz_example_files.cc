// Any bytes as the records of a file: parsed as they are read they give what they give apart, or are refused as there.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/example_files.h"

using namespace penstock;

namespace {

constexpr size_t kMost = 1 << 14;  // bytes; larger inputs show nothing that smaller ones do not

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The names of the files in hostile/example.
std::vector<FeatureSlot> slots(std::int64_t size) {
  return {{"i", FeatureKind::kInt64, false, size, false},
          {"floats", FeatureKind::kFloat, false, size, false},
          {"a name of bytes", FeatureKind::kBytes, false, size, false},
          {"", FeatureKind::kInt64, false, -1, false}};
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<ExampleSpec> specs = [] {
    std::vector<ExampleSpec> made;
    for (const std::int64_t values : {-1, 0, 1, 2}) made.emplace_back(slots(values));
    return made;
  }();
  if (size > kMost) return 0;
  const int descriptor = ::memfd_create("records", MFD_CLOEXEC);
  demand(descriptor >= 0 && ::write(descriptor, data, size) == static_cast<ssize_t>(size), "no file");
  const auto end = static_cast<std::int64_t>(size);
  // All of it, nothing, a half, and all again: what came in the record before is expected in the next.
  const std::vector<std::int64_t> begins{0, 0, 0, 0}, ends{end, 0, end / 2, end}, rows{0, 1, 3, 2, 0};
  const std::vector<Spans> spans{Spans{begins.data(), ends.data(), 4, end}};
  RecordFiles files({"/proc/self/fd/" + std::to_string(descriptor)}, spans, Framing::kPlain, false, 1);
  FilesMemory memory;
  for (const ExampleSpec& spec : specs) {
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
  return 0;
}
