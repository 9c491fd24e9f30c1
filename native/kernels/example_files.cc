#include "kernels/example_files.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/example_parser.h"

namespace penstock {

namespace {

constexpr std::size_t kReach = 64;          // readable bytes after a record, so that none needs the slow parser
constexpr std::int64_t kLongRecord = 4096;  // bytes of a record whose texts need no copy of their own

// The texts of short records: all records are copied to the same place, which stays in the nearest cache.
class Texts {
 public:
  Texts(const ExampleSpec& spec, const FeatureColumn* columns, std::uint8_t* at, std::uint8_t* end)
      : at_(at), end_(end) {
    for (std::size_t slot = 0; slot < spec.slots().size(); ++slot)
      if (spec.slots()[slot].kind == FeatureKind::kBytes)
        columns_.push_back({static_cast<Bytes*>(columns[slot].values), columns[slot].splits, spec.slots()[slot].size});
  }

  // Copies the texts of a record; returns false if they have more bytes than the record.
  bool keep(std::size_t record) {
    const auto row = static_cast<std::int64_t>(record);
    for (const Column& column : columns_) {
      const std::int64_t first = column.splits ? column.splits[row] : row * column.size;
      const std::int64_t last = column.splits ? column.splits[row + 1] : first + column.size;
      for (std::int64_t i = first; i < last; ++i) {
        Bytes& text = column.values[i];
        const std::size_t size = text.size();
        if (!text.begin) continue;  // a default
        if (size > static_cast<std::size_t>(end_ - at_)) return false;
        if (size) std::memcpy(at_, text.begin, size);
        text = {at_, at_ + size};
        at_ += size;
      }
    }
    return true;
  }

 private:
  struct Column {
    Bytes* values;
    const std::int64_t* splits;  // null if all records have the same number
    std::int64_t size;
  };
  std::vector<Column> columns_;
  std::uint8_t *at_, *end_;
};

struct Parsing {
  ExampleParser parser;
  const std::uint8_t* readable;
  Texts* texts;  // null where records stay
};

bool parse_one(void* context, std::size_t number, const unsigned char* begin, const unsigned char* end) {
  auto& work = *static_cast<Parsing*>(context);
  if (work.parser.record({begin, end}, number, work.readable).status != ExampleStatus::kDone) return false;
  return !work.texts || work.texts->keep(number);
}

}  // namespace

bool parse_files(RecordFiles& files, const std::int64_t* rows, std::size_t count, const ExampleSpec& spec,
                 const FeatureColumn* columns, FilesMemory& memory) {
  if (files.locate(rows, count, memory.located).status != ReadOutcome::Status::kOk) return false;
  std::int64_t total = 0, longest = 0;
  for (const Found& record : memory.located.records) {
    total += record.size;
    longest = std::max(longest, record.size);
  }
  // Records of all sizes end to end, or the place of one record and the texts of all.
  const bool stay = longest > kLongRecord;
  const std::size_t of_one = static_cast<std::size_t>(longest) + kReach;
  const std::size_t needed = static_cast<std::size_t>(total) + (stay ? kReach : of_one);
  if (needed > memory.room) {
    memory.bytes.reset(new std::uint8_t[needed + needed / 8]);
    memory.room = needed + needed / 8;
  }
  std::uint8_t *const begin = memory.bytes.get(), *const end = begin + memory.room;
  Texts texts(spec, columns, begin + (stay ? 0 : of_one), end);
  Parsing work{{spec, columns}, stay ? end : begin + of_one, stay ? nullptr : &texts};
  const auto placing = stay ? RecordFiles::Placing::kEndToEnd : RecordFiles::Placing::kInOnePlace;
  const ReadOutcome outcome = files.each(memory.located, begin, placing, parse_one, &work);
  return outcome.status == ReadOutcome::Status::kOk && outcome.failed == count;
}

}  // namespace penstock
