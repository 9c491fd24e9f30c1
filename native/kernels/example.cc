#include "kernels/example.h"

#include <algorithm>
#include <cstring>

#include "kernels/example_parser.h"
#include "kernels/varints.h"

namespace penstock {

namespace {

// Bytes between a column's position and the line prefetched for writing: waiting batches displace the memory of the
// next ones from the core's caches, and there are more columns than the processor's prefetcher follows.
constexpr std::ptrdiff_t kWrittenAhead = 192;

template <class Value>
constexpr FeatureKind kKindOf = FeatureKind::kBytes;
template <>
constexpr FeatureKind kKindOf<float> = FeatureKind::kFloat;
template <>
constexpr FeatureKind kKindOf<std::int64_t> = FeatureKind::kInt64;

// Returns the packed values of a list, or its one text, if the list has nothing else.
inline Bytes only_values(Bytes list) {
  const Bytes values = short_field(list.begin, list.end, 0x0a);
  return values.end == list.end ? values : Bytes{nullptr, nullptr};
}

// Appends the values of a BytesList, FloatList or Int64List message, or of a part of it.
bool read_list(Bytes list, const std::uint8_t* readable, Sink<std::int64_t>* sink) {
  if (const Bytes packed = only_values(list); packed.begin) return unpack_varints(packed, readable, sink);
  WireReader reader(list);
  Field field;
  while (!reader.done()) {
    if (!reader.next(&field)) return false;
    if (field.number != 1) continue;
    if (field.wire == Wire::kBytes || field.wire == Wire::kVarint)  // packed, or one by one
      if (!unpack_varints(field.payload, readable, sink)) return false;
  }
  return true;
}

bool read_floats(Bytes values, Sink<float>* sink) {
  if (values.size() == sizeof(float) && sink->count < sink->room) {
    std::memcpy(sink->values + sink->count++, values.begin, sizeof(float));
    return true;
  }
  if (values.size() % sizeof(float)) return false;
  const auto count = static_cast<std::int64_t>(values.size() / sizeof(float));
  const std::int64_t fitting = std::clamp<std::int64_t>(sink->room - sink->count, 0, count);
  if (fitting) std::memcpy(sink->values + sink->count, values.begin, static_cast<std::size_t>(fitting) * sizeof(float));
  sink->count += count;
  return true;
}

bool read_list(Bytes list, const std::uint8_t*, Sink<float>* sink) {
  if (const Bytes packed = only_values(list); packed.begin) return read_floats(packed, sink);
  WireReader reader(list);
  Field field;
  while (!reader.done()) {
    if (!reader.next(&field)) return false;
    if (field.number != 1 || (field.wire != Wire::kBytes && field.wire != Wire::kFixed32)) continue;
    if (!read_floats(field.payload, sink)) return false;
  }
  return true;
}

bool read_list(Bytes list, const std::uint8_t*, Sink<Bytes>* sink) {
  if (const Bytes text = only_values(list); text.begin) {
    sink->push(text);
    return true;
  }
  WireReader reader(list);
  Field field;
  while (!reader.done()) {
    if (!reader.next(&field)) return false;
    if (field.number == 1 && field.wire == Wire::kBytes) sink->push(field.payload);
  }
  return true;
}

// Reads the values of one feature, whose message may come in parts: the last kind counts.
template <class Value>
class FeatureReader {
 public:
  FeatureReader(const std::uint8_t* readable, Sink<Value>* sink)
      : readable_(readable), sink_(sink), start_(sink->count) {}

  bool take(Bytes feature) {
    if (const Bytes list = only_list(feature); list.begin) {  // the usual form
      if (kind_ != kKindOf<Value>) sink_->count = start_;
      kind_ = kKindOf<Value>;
      return read_list(list, readable_, sink_);
    }
    WireReader reader(feature);
    Field field;
    while (!reader.done()) {
      if (!reader.next(&field)) return false;
      if (field.wire != Wire::kBytes || field.number > 3) continue;
      const auto kind = static_cast<FeatureKind>(field.number);
      if (kind != kind_) sink_->count = start_;
      kind_ = kind;
      if (kind == kKindOf<Value> && !read_list(field.payload, readable_, sink_)) return false;
    }
    return true;
  }

  // Returns the list of the requested kind, if the feature has nothing else.
  static Bytes only_list(Bytes feature) {
    const Bytes list =
        short_field(feature.begin, feature.end, static_cast<std::uint8_t>(static_cast<int>(kKindOf<Value>) << 3 | 2));
    return list.end == feature.end ? list : Bytes{nullptr, nullptr};
  }

  FeatureKind kind() const { return kind_; }
  bool of_another_kind() const { return kind_ != FeatureKind::kNone && kind_ != kKindOf<Value>; }

 private:
  const std::uint8_t* readable_;
  Sink<Value>* sink_;
  const std::int64_t start_;
  FeatureKind kind_ = FeatureKind::kNone;
};

// Calls `take(piece)` for each piece of a value, as long as it returns true.
template <class Take>
bool each_piece(const FeatureFinder::Pieces& pieces, const Take& take) {
  if (!pieces.several) return take(pieces.bytes);
  WireReader entry(pieces.bytes);
  Field field;
  while (!entry.done()) {
    if (!entry.next(&field)) return false;
    if (field.number == 2 && field.wire == Wire::kBytes && !take(field.payload)) return false;
  }
  return true;
}

// Calls `take(feature)` for each feature of a list, as long as it returns true.
template <class Take>
bool each_feature(Bytes list, const Take& take) {
  WireReader reader(list);
  Field field;
  while (!reader.done()) {
    if (!reader.next(&field)) return false;
    if (field.number == 1 && field.wire == Wire::kBytes && !take(field.payload)) return false;
  }
  return true;
}

}  // namespace

ExampleParser::ExampleParser(const ExampleSpec& spec, const FeatureColumn* columns)
    : slots_(spec.slots()), columns_(columns), finder_(spec) {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    targets_.push_back(
        {slots_[slot].kind, slots_[slot].size, columns[slot].values, columns[slot].room, columns[slot].splits});
}

inline bool ExampleParser::value(std::size_t slot, Bytes value) {
  const FeatureSlot& wanted = slots_[slot];
  if (wanted.in_lists) return false;
  const auto tag = static_cast<std::uint8_t>(static_cast<int>(wanted.kind) << 3 | 2);
  const Bytes list = short_field(value.begin, value.end, tag);
  if (!list.begin || list.end != value.end) return false;
  const Bytes only = only_values(list);
  return only.begin && values(slot, only);
}

inline bool ExampleParser::values(std::size_t slot, Bytes values) {
  const Target& target = targets_[slot];
  const auto row = static_cast<std::int64_t>(number_);
  const bool fixed = target.size >= 0;
  const std::int64_t start = fixed ? row * target.size : target.splits[row];
  const std::int64_t room = fixed ? target.size : target.room - start;
  std::int64_t count = 0;
  if (target.kind == FeatureKind::kFloat) {
    constexpr std::size_t kWidth = sizeof(float);
    if (values.size() % kWidth || values.size() / kWidth > static_cast<std::size_t>(room)) return false;
    count = static_cast<std::int64_t>(values.size() / kWidth);
    float* const out = static_cast<float*>(target.values) + start;
    if (count == 1)
      std::memcpy(out, values.begin, kWidth);
    else
      std::memcpy(out, values.begin, values.size());
  } else if (target.kind == FeatureKind::kInt64) {
    Sink<std::int64_t> sink{static_cast<std::int64_t*>(target.values) + start, room};
    __builtin_prefetch(reinterpret_cast<const char*>(sink.values) + kWrittenAhead, 1);
    if (!unpack_varints(values, readable_, &sink)) return false;
    count = sink.count;
  } else {
    if (!room) return false;
    count = 1;
    static_cast<Bytes*>(target.values)[start] = values;
  }
  if (fixed) return count == room;
  if (count > room) return false;
  target.splits[row + 1] = start + count;
  return true;
}

template <class Value>
ExampleOutcome ExampleParser::whole(std::size_t slot) {
  const FeatureSlot& wanted = slots_[slot];
  const FeatureColumn& column = columns_[slot];
  const bool fixed = wanted.size >= 0;
  const auto row = static_cast<std::int64_t>(number_);
  const std::int64_t start = fixed ? row * wanted.size : column.splits[row];
  Sink<Value> sink{static_cast<Value*>(column.values) + start, fixed ? wanted.size : column.room - start};
  const FeatureFinder::Pieces pieces = finder_.pieces(slot);
  FeatureReader<Value> reader(readable_, &sink);
  if (!pieces.missing && !each_piece(pieces, [&](Bytes piece) { return reader.take(piece); }))
    return ended(ExampleStatus::kDamaged, slot);
  if (reader.of_another_kind()) return ended(ExampleStatus::kWrongKind, slot, static_cast<std::int64_t>(reader.kind()));
  const bool missing = pieces.missing || reader.kind() == FeatureKind::kNone;
  if (missing && wanted.required) return ended(ExampleStatus::kMissing, slot);
  if (!fixed) {
    if (sink.count > sink.room) return ended(ExampleStatus::kNoRoom, slot, start + sink.count);
    column.splits[row + 1] = start + sink.count;
  } else if (missing) {
    std::copy_n(static_cast<const Value*>(column.defaults), wanted.size, sink.values);
  } else if (sink.count != wanted.size) {
    return ended(ExampleStatus::kWrongCount, slot, sink.count);
  }
  return ended(ExampleStatus::kDone, slot);
}

// Reads the features of a list, each a step.
template <class Value>
ExampleOutcome ExampleParser::steps(std::size_t slot) {
  const FeatureSlot& wanted = slots_[slot];
  const FeatureColumn& column = columns_[slot];
  const std::int64_t first = column.splits[number_];
  std::int64_t step = first;
  Sink<Value> sink{static_cast<Value*>(column.values), column.room, column.step_splits[first]};
  const FeatureFinder::Pieces pieces = finder_.pieces(slot);
  ExampleOutcome outcome = ended(ExampleStatus::kDone, slot);
  const auto take = [&](Bytes feature) {
    FeatureReader<Value> reader(readable_, &sink);
    const std::int64_t start = sink.count;
    if (!reader.take(feature)) {
      outcome = ended(ExampleStatus::kDamaged, slot);
    } else if (reader.of_another_kind()) {
      outcome = ended(ExampleStatus::kWrongKind, slot, static_cast<std::int64_t>(reader.kind()));
    } else if (wanted.size >= 0 && sink.count - start != wanted.size) {
      outcome = ended(ExampleStatus::kWrongCount, slot, sink.count - start);
    }
    ++step;
    if (step <= column.steps_room) column.step_splits[step] = sink.count;
    return outcome.status == ExampleStatus::kDone;
  };
  if (pieces.missing && wanted.required) return ended(ExampleStatus::kMissing, slot);
  if (!pieces.missing && !each_piece(pieces, [&](Bytes piece) { return each_feature(piece, take); }))
    return outcome.status == ExampleStatus::kDone ? ended(ExampleStatus::kDamaged, slot) : outcome;
  if (step > column.steps_room) return ended(ExampleStatus::kNoRoom, slot, step, true);
  if (sink.count > sink.room) return ended(ExampleStatus::kNoRoom, slot, sink.count);
  column.splits[number_ + 1] = step;
  return outcome;
}

ExampleOutcome ExampleParser::parse(std::size_t slot) {
  const bool in_lists = slots_[slot].in_lists;
  switch (slots_[slot].kind) {
    case FeatureKind::kFloat:
      return in_lists ? steps<float>(slot) : whole<float>(slot);
    case FeatureKind::kInt64:
      return in_lists ? steps<std::int64_t>(slot) : whole<std::int64_t>(slot);
    default:
      return in_lists ? steps<Bytes>(slot) : whole<Bytes>(slot);
  }
}

ExampleOutcome ExampleParser::record(Bytes record, std::size_t number, const std::uint8_t* readable) {
  number_ = number;
  readable_ = readable;
  if (!finder_.find(record, *this)) return {ExampleStatus::kDamaged, number, slots_.size(), 0, false};
  if (finder_.all_done()) return {ExampleStatus::kDone, number, 0, 0, false};
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const FeatureFinder::Pieces pieces = finder_.pieces(slot);
    if (pieces.done && !pieces.missing) continue;
    const ExampleOutcome outcome = parse(slot);
    if (outcome.status != ExampleStatus::kDone) return outcome;
  }
  return {ExampleStatus::kDone, number, 0, 0, false};
}

ExampleOutcome parse_examples(const ExampleSpec& spec, const Bytes* records, std::size_t first, std::size_t count,
                              const FeatureColumn* columns) {
  ExampleParser parser(spec, columns);
  for (std::size_t record = first; record < count; ++record) {
    const ExampleOutcome outcome = parser.record(records[record], record, records[record].end);
    if (outcome.status != ExampleStatus::kDone) return outcome;
  }
  return {ExampleStatus::kDone, count, 0, 0, false};
}

}  // namespace penstock
