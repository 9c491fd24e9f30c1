// Parses one record after another into columns, like `parse_examples`, for records that do not stay in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/example.h"
#include "kernels/example_fields.h"

namespace penstock {

class ExampleParser {
 public:
  // One column for each slot; see `FeatureColumn`.
  ExampleParser(const ExampleSpec& spec, const FeatureColumn* columns);

  // Parses the record of this number, after those before; returns kDone or the fault. Bytes up to `readable`, at or
  // after its end, may be read. Allocates nothing. Texts point into the record.
  ExampleOutcome record(Bytes record, std::size_t number, const std::uint8_t* readable);

 private:
  friend class FeatureFinder;  // which passes on its finds

  // Takes the values, or the value, of a feature in the usual form: one list of the right kind and size, with room.
  // Returns false otherwise, without effect: earlier values of the slot in this record are overwritten.
  bool values(std::size_t slot, Bytes values);
  bool value(std::size_t slot, Bytes value);

  // Reads the values that the finder has found for a slot, in any form.
  ExampleOutcome parse(std::size_t slot);
  template <class Value>
  ExampleOutcome whole(std::size_t slot);
  template <class Value>
  ExampleOutcome steps(std::size_t slot);
  ExampleOutcome ended(ExampleStatus status, std::size_t slot, std::int64_t found = 0, bool in_steps = false) const {
    return {status, number_, slot, found, in_steps};
  }

  // The data of a slot and its column needed for values in the usual form.
  struct Target {
    FeatureKind kind;
    std::int64_t size;
    void* values;
    std::int64_t room;
    std::int64_t* splits;
  };

  const std::vector<FeatureSlot>& slots_;
  const FeatureColumn* columns_;
  std::vector<Target> targets_;
  FeatureFinder finder_;
  std::size_t number_ = 0;
  const std::uint8_t* readable_ = nullptr;
};

}  // namespace penstock
