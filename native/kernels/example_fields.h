// Where the features of one record are: the maps of an Example or a SequenceExample, walked in the wire format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/example.h"
#include "kernels/wire.h"

namespace penstock {

// Finds the wanted features of one record after another. It expects them in the order of the records before, which
// spares looking their names up; what came in which order changes nothing but the time it takes.
class FeatureFinder {
 public:
  explicit FeatureFinder(const ExampleSpec& spec);

  // False if the record is damaged. What it found is in `pieces` until the next record.
  bool find(Bytes record);

  // Where the value of a slot is: nowhere, in `bytes`, or in several pieces that are to be read as one message, and are
  // the values of the entry of a map that `bytes` are.
  struct Pieces {
    Bytes bytes;
    bool missing, several;
  };
  Pieces pieces(std::size_t slot) const {
    const Found& found = found_[slot];
    return {found.bytes, found.turn != turn_, found.several != 0};
  }

 private:
  struct Name {
    Bytes text;
    std::int32_t slot;  // -1: not wanted
    bool in_lists;
    std::int32_t next;  // the name that came after it the last time; -1: none did
  };
  struct Found {
    Bytes bytes;
    std::uint64_t turn : 63;
    std::uint64_t several : 1;
  };

  bool find_in_map(Bytes map, bool in_lists);
  bool find_entry(Bytes entry, bool in_lists);
  void note(Bytes name, bool in_lists, const Found& found);
  std::int32_t name_of(Bytes text, bool in_lists);

  const ExampleSpec& spec_;
  std::vector<Name> names_;  // the beginning of a record, those of all slots, and others that were met
  std::int32_t before_ = 0;  // the name that came last
  std::vector<Found> found_;
  std::uint64_t turn_ = 0;  // counts records, so that nothing has to be cleared
};

}  // namespace penstock
