// Any bytes are refused as a record, or parsed into columns that lie within the memory given and point into the record.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/example.h"

using penstock::Bytes;
using penstock::ExampleOutcome;
using penstock::ExampleSpec;
using penstock::ExampleStatus;
using penstock::FeatureColumn;
using penstock::FeatureKind;
using penstock::FeatureSlot;
using penstock::fuzz::demand;

namespace {

size_t width_of(FeatureKind kind) {
  return kind == FeatureKind::kFloat ? sizeof(float) : kind == FeatureKind::kInt64 ? sizeof(int64_t) : sizeof(Bytes);
}

// The names of the files in hostile/example: a feature of every kind, of any number of values and of fixed ones.
std::vector<FeatureSlot> slots(int64_t size, bool in_lists, bool required) {
  return {{"i", FeatureKind::kInt64, in_lists, size, required},
          {"floats", FeatureKind::kFloat, in_lists, size, required},
          {"a name of bytes", FeatureKind::kBytes, in_lists, size, required},
          {"", FeatureKind::kInt64, false, -1, false}};
}

// Memory for one slot, of which not a byte more is there than it says.
struct Room {
  Room(const FeatureSlot& slot, size_t count) : width(width_of(slot.kind)), fixed(slot.size >= 0 && !slot.in_lists) {
    give(fixed ? static_cast<int64_t>(count) * slot.size : 1, 1, slot.in_lists);
    splits = std::make_unique<int64_t[]>(count + 1);
    defaults = std::make_unique<char[]>(width * static_cast<size_t>(slot.size < 0 ? 0 : slot.size));
  }

  void give(int64_t more, int64_t more_steps, bool in_lists) {
    auto larger = std::make_unique<char[]>(width * static_cast<size_t>(more));
    for (size_t i = 0; i < width * static_cast<size_t>(room); ++i) larger[i] = values[i];
    values = std::move(larger);
    room = more;
    if (!in_lists) return;
    auto further = std::make_unique<int64_t[]>(static_cast<size_t>(more_steps) + 1);
    for (int64_t i = 0; step_splits && i <= steps; ++i) further[i] = step_splits[i];
    step_splits = std::move(further);
    steps = more_steps;
  }

  FeatureColumn column() const { return {values.get(), room, defaults.get(), splits.get(), step_splits.get(), steps}; }

  size_t width;
  bool fixed;
  int64_t room = 0, steps = 0;
  std::unique_ptr<char[]> values, defaults;
  std::unique_ptr<int64_t[]> splits, step_splits;
};

void check_splits(const int64_t* splits, int64_t count, int64_t most) {
  demand(splits[0] == 0, "splits that begin elsewhere");
  for (int64_t i = 0; i < count; ++i) demand(splits[i] <= splits[i + 1], "splits that decrease");
  demand(splits[count] <= most, "values beyond the room");
}

void check_texts(const Bytes* texts, int64_t count, const uint8_t* data, size_t size) {
  for (int64_t i = 0; i < count; ++i) {
    if (!texts[i].begin) continue;  // a default
    demand(data <= texts[i].begin && texts[i].begin <= texts[i].end && texts[i].end <= data + size, "text of nowhere");
  }
}

void parse(const ExampleSpec& spec, const std::vector<Bytes>& records, const uint8_t* data, size_t size) {
  const std::vector<FeatureSlot>& wanted = spec.slots();
  std::vector<Room> rooms;
  for (const FeatureSlot& slot : wanted) rooms.emplace_back(slot, records.size());
  ExampleOutcome outcome{ExampleStatus::kNoRoom, 0, 0, 0, false};
  do {
    std::vector<FeatureColumn> columns;
    for (const Room& room : rooms) columns.push_back(room.column());
    outcome = parse_examples(spec, records.data(), outcome.record, records.size(), columns.data());
    if (outcome.status != ExampleStatus::kNoRoom) break;
    Room& room = rooms.at(outcome.slot);
    demand(outcome.found > (outcome.in_steps ? room.steps : room.room), "no room, where there was some");
    demand(outcome.found <= static_cast<int64_t>(size), "more values than bytes");
    room.give(outcome.in_steps ? room.room : outcome.found, outcome.in_steps ? outcome.found : room.steps,
              wanted[outcome.slot].in_lists);
  } while (true);
  const auto done = static_cast<int64_t>(outcome.record);
  demand(outcome.status == ExampleStatus::kDone ? done == static_cast<int64_t>(records.size())
                                                : outcome.record < records.size() && outcome.slot <= wanted.size(),
         "an outcome of nowhere");
  for (size_t slot = 0; slot < wanted.size(); ++slot) {
    const Room& room = rooms[slot];
    int64_t count = room.fixed ? done * wanted[slot].size : room.splits[done];
    if (!room.fixed) check_splits(room.splits.get(), done, wanted[slot].in_lists ? room.steps : room.room);
    if (wanted[slot].in_lists) {
      check_splits(room.step_splits.get(), count, room.room);
      count = room.step_splits[count];
    }
    if (wanted[slot].kind == FeatureKind::kBytes)
      check_texts(reinterpret_cast<const Bytes*>(room.values.get()), count, data, size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<ExampleSpec> specs = [] {
    std::vector<ExampleSpec> made;
    for (const int64_t values : {-1, 0, 1, 2})
      for (const bool in_lists : {false, true}) made.emplace_back(slots(values, in_lists, values == 2));
    return made;
  }();
  // A copy of its own, so that the sanitizer sees every byte read outside.
  const auto copy = std::make_unique<uint8_t[]>(size);
  for (size_t i = 0; i < size; ++i) copy[i] = data[i];
  const uint8_t *begin = copy.get(), *end = begin + size, *middle = begin + size / 2;
  for (const ExampleSpec& spec : specs) {
    parse(spec, {{begin, end}}, begin, size);
    parse(spec, {{begin, end}, {begin, begin}, {begin, middle}, {begin, end}}, begin, 3 * size);
  }
  return 0;
}
