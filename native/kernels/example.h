// tf.train.Example and SequenceExample: records in the wire format of protocol buffers, into columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/wire.h"

namespace penstock {

// What a feature holds, numbered as the fields of tf.train.Feature are.
enum class FeatureKind : std::uint8_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

// One feature that is wanted of every record.
struct FeatureSlot {
  std::string name;
  FeatureKind kind;
  bool in_lists;      // of a SequenceExample's feature_lists: a list of features for each record
  std::int64_t size;  // values of each record, or of each feature of its list; -1: any number
  bool required;      // whether a record without it is at fault
};

// Memory for the values of one slot: `float`, `int64_t` or `Bytes`, by its kind. For `count` records
// - of fixed size: size * count values, and `defaults` has `size` values for records without the feature;
// - of any size: room for `room` values, those of record i from splits[i] to splits[i + 1];
// - in lists: the features of record i are steps splits[i] to splits[i + 1], with room for `steps_room` of them, and
// the
//   values of step s are those from step_splits[s] to step_splits[s + 1].
// Splits have one place more than what they split, the first of which holds 0.
struct FeatureColumn {
  void* values;
  std::int64_t room;
  const void* defaults;
  std::int64_t* splits;
  std::int64_t* step_splits;
  std::int64_t steps_room;
};

enum class ExampleStatus : std::uint8_t {
  kDone,
  kNoRoom,      // `found` values (or steps, where `in_steps`) of the slot need room by the end of this record
  kDamaged,     // the record is no such message
  kWrongKind,   // the feature holds values of the kind `found`
  kWrongCount,  // it has `found` values
  kMissing,     // it is required
};

struct ExampleOutcome {
  ExampleStatus status;
  std::size_t record;
  std::size_t slot;
  std::int64_t found;
  bool in_steps;
};

// The slots that are wanted, and how to find each by its name; any number of threads may use it.
class ExampleSpec {
 public:
  // No two features have one name, and no two lists.
  explicit ExampleSpec(std::vector<FeatureSlot> slots);

  const std::vector<FeatureSlot>& slots() const { return slots_; }
  bool has_lists() const { return has_lists_; }

  // The slot of this name, or -1.
  std::int32_t find(Bytes name, bool in_lists) const;

 private:
  std::vector<FeatureSlot> slots_;
  std::vector<std::int32_t> table_;  // slots by the hash of their names, each in the first place free from there on
  bool has_lists_ = false;
};

// Parses records `first` to `count`, one column for each slot, and stops at the first that is at fault. Where room is
// lacking, give more, with what is there kept, and go on from that record. Features that are not asked for are passed
// over, and so are unknown fields; of several entries of one name the last one counts, or where features are empty, the
// last that is not, as TensorFlow has it; and messages in parts are merged, as protobuf does it. No byte outside of a
// record is read.
ExampleOutcome parse_examples(const ExampleSpec& spec, const Bytes* records, std::size_t first, std::size_t count,
                              const FeatureColumn* columns);

}  // namespace penstock
