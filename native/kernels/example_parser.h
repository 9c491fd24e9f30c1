// Parses one record after another into columns: what `parse_examples` does, for who has records that do not stay.
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

  // Parses a record as that of this number, after those before it; kDone or what is wrong. Bytes up to `readable`, at
  // or after its end, may be read. It owns nothing and takes no memory. Texts are where they are in the record.
  ExampleOutcome record(Bytes record, std::size_t number, const std::uint8_t* readable);

 private:
  friend class FeatureFinder;  // which shows what it finds

  // Takes the values, or the value, of a feature where these are as everybody writes them: one list of the wanted kind,
  // as many values as are wanted, room for them. False where they are not, and then nothing is done yet: values before
  // these of its slot are written over.
  bool values(std::size_t slot, Bytes values);
  bool value(std::size_t slot, Bytes value);

  // Reads what the finder has found of a slot, in whatever form.
  ExampleOutcome parse(std::size_t slot);
  template <class Value>
  ExampleOutcome whole(std::size_t slot);
  template <class Value>
  ExampleOutcome steps(std::size_t slot);
  ExampleOutcome ended(ExampleStatus status, std::size_t slot, std::int64_t found = 0, bool in_steps = false) const {
    return {status, number_, slot, found, in_steps};
  }

  // What is needed of a slot and its column for values that are as everybody writes them.
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
