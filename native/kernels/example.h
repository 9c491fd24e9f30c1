// tf.train.Example and SequenceExample: records in the wire format of protocol buffers, into columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/wire.h"

namespace penstock {

// The kind of a feature's values, numbered like the fields of tf.train.Feature.
enum class FeatureKind : std::uint8_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

// One requested feature of every record.
struct FeatureSlot {
  std::string name;
  FeatureKind kind;
  bool in_lists;      // of a SequenceExample's feature_lists: a list of features for each record
  std::int64_t size;  // values of each record, or of each feature of its list; -1: any number
  bool required;      // whether a record without the feature is a fault
};

// Memory for the values of one slot: `float`, `int64_t` or `Bytes`, by its kind. For `count` records
// - of fixed size: size * count values, and `defaults` has `size` values for records without the feature;
// - of any size: room for `room` values, those of record i from splits[i] to splits[i + 1];
// - in lists: the features of record i are steps splits[i] to splits[i + 1], with room for `steps_room` of them, and
// the
//   values of step s are those from step_splits[s] to step_splits[s + 1].
// Splits have one more place than the parts they separate, and begin with 0.
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
  kDamaged,     // the record is not a valid message
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

// The requested slots, found by name; safe for any number of threads.
class ExampleSpec {
 public:
  // Names of features are unique, and names of lists.
  explicit ExampleSpec(std::vector<FeatureSlot> slots);

  const std::vector<FeatureSlot>& slots() const { return slots_; }
  bool has_lists() const { return has_lists_; }

  // Returns the slot of this name, or -1.
  std::int32_t find(Bytes name, bool in_lists) const;

 private:
  std::vector<FeatureSlot> slots_;
  std::vector<std::int32_t> table_;  // slots by the hash of their names, each in the first place free from there on
  bool has_lists_ = false;
};

// Parses records `first` to `count`, one column for each slot, and stops at the first fault. If room is lacking, give
// more, keep the existing values, and continue from that record. Other features and unknown fields are skipped. Of
// several entries of one name the last counts, or if features are empty, the last nonempty one, as in TensorFlow;
// messages in parts are merged, as in protobuf. No byte outside a record is read.
ExampleOutcome parse_examples(const ExampleSpec& spec, const Bytes* records, std::size_t first, std::size_t count,
                              const FeatureColumn* columns);

}  // namespace penstock
