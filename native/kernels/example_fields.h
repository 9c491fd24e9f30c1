// Finds the features of one record: walks the maps of an Example or a SequenceExample in the wire format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/entry_shape.h"
#include "kernels/example.h"
#include "kernels/wire.h"

namespace penstock {

// Finds the requested features of one record after another. Features are expected in the order of earlier records,
// which saves looking up names; the order changes only the time.
class FeatureFinder {
 public:
  explicit FeatureFinder(const ExampleSpec& spec);

  // Returns false if the record is damaged. `take.values(slot, values)` receives the packed values, or the one text, of
  // a feature in the usual form, and `take.value(slot, value)` any other in one piece; each returns whether it is done.
  // The places of the others are in `pieces` until the next record. Of several values of a slot the last counts.
  template <class Take>
  bool find(Bytes record, Take& take) {
    ++turn_;
    before_ = names_.data();
    missing_ = found_.size();
    all_done_ = true;
    WireReader message(record);
    Field field;
    while (!message.done()) {
      if (!message.next(&field)) return false;
      if (field.wire != Wire::kBytes) continue;
      if (field.number == 1 && !find_in_map(field.payload, false, take)) return false;
      if (field.number == 2 && spec_.has_lists() && !find_in_map(field.payload, true, take)) return false;
    }
    return true;
  }

  // Returns whether every slot is present, and `take` was done with each.
  bool all_done() const { return all_done_ && !missing_; }

  // The place of a slot's value: nowhere, in `bytes`, or in several pieces of one message, which are the values of the
  // map entry `bytes`.
  struct Pieces {
    Bytes bytes;
    bool missing, several, done;
  };
  Pieces pieces(std::size_t slot) const {
    const Found& found = found_[slot];
    return {found.bytes, found.turn != turn_, found.state == State::kSeveral, found.state == State::kDone};
  }

 private:
  struct Name {
    Bytes text;
    std::int32_t slot;  // -1: not wanted
    bool in_lists;
    Name* next;        // the name that followed the last time, or null
    EntryShape shape;  // of a slot's feature
  };
  enum class State : std::uint8_t { kWhole, kSeveral, kDone };
  struct Found {
    Bytes bytes;
    std::uint64_t turn;
    State state;
  };

  template <class Take>
  bool find_in_map(Bytes map, bool in_lists, Take& take) {
    const std::uint8_t* at = map.begin;
    while (at != map.end) {
      // The next feature of the record before, with a list of its kind.
      if (Name* const next = before_->next; next && !in_lists) {
        if (const Bytes values = next->shape.values(at, map.end); values.begin) {
          const auto slot = static_cast<std::size_t>(next->slot);
          if (take.values(slot, values)) {
            note_done(found_[slot]);
            before_ = next;
            at = values.end;
            continue;
          }
        }
      }
      // Entries of only a name and a value.
      const Bytes entry = short_field(at, map.end, kFirst);
      if (entry.begin) {
        const Bytes name = short_field(entry.begin, entry.end, kFirst);
        const Bytes value = name.begin ? short_field(name.end, entry.end, kSecond) : name;
        if (value.begin && value.end == entry.end) {
          at = entry.end;
          const std::int32_t found = slot_of(name, in_lists);
          if (found < 0) continue;
          const auto slot = static_cast<std::size_t>(found);
          if (says_nothing(slot, in_lists, value.size())) continue;
          note(slot, value, take.value(slot, value) ? State::kDone : State::kWhole);
          continue;
        }
      }
      WireReader message({at, map.end});
      Field field;
      if (!message.next(&field)) return false;
      at = message.at();
      if (field.number == 1 && field.wire == Wire::kBytes && !find_entry(field.payload, in_lists)) return false;
    }
    return true;
  }

  // Returns whether a value of this size is skipped: an empty one, after another of its feature.
  bool says_nothing(std::size_t slot, bool in_lists, std::size_t bytes) const {
    return !bytes && !in_lists && found_[slot].turn == turn_;
  }

  void note(std::size_t slot, Bytes bytes, State state) {
    note_done(found_[slot]);
    found_[slot].bytes = bytes;
    found_[slot].state = state;
    all_done_ &= state == State::kDone;
  }

  void note_done(Found& found) {
    missing_ -= found.turn != turn_;
    found.turn = turn_;
    found.state = State::kDone;
  }

  // Returns the slot of a name, or -1: the next one of the record before, or by lookup.
  std::int32_t slot_of(Bytes name, bool in_lists) {
    Name* const next = before_->next;
    if (next && next->in_lists == in_lists && same(next->text, name)) {
      before_ = next;
      return next->slot;
    }
    return looked_up(name, in_lists);
  }

  static constexpr std::uint8_t kFirst = 0x0a;  // the tags of bytes in field 1 and 2
  static constexpr std::uint8_t kSecond = 0x12;

  static bool same(Bytes one, Bytes other) {
    const std::size_t size = one.size();
    if (size != other.size()) return false;
    if (size >= 8) {
      std::uint64_t a, b;
      for (std::size_t at = 0; at + 8 < size; at += 8) {
        std::memcpy(&a, one.begin + at, 8);
        std::memcpy(&b, other.begin + at, 8);
        if (a != b) return false;
      }
      std::memcpy(&a, one.end - 8, 8);
      std::memcpy(&b, other.end - 8, 8);
      return a == b;
    }
    if (size >= 4) {
      std::uint32_t a, b, c, d;
      std::memcpy(&a, one.begin, 4);
      std::memcpy(&b, other.begin, 4);
      std::memcpy(&c, one.end - 4, 4);
      std::memcpy(&d, other.end - 4, 4);
      return a == b && c == d;
    }
    for (std::size_t at = 0; at < size; ++at)
      if (one.begin[at] != other.begin[at]) return false;
    return true;
  }

  bool find_entry(Bytes entry, bool in_lists);
  std::int32_t looked_up(Bytes name, bool in_lists);
  Name* name_of(Bytes text, bool in_lists);
  friend class ExampleSpec;  // which compares names in the same way

  const ExampleSpec& spec_;
  std::vector<Name> names_;  // the beginning of a record, those of all slots, and others met; stable addresses
  std::unique_ptr<std::uint8_t[]> letters_;  // of the other names: records do not stay
  std::size_t letters_used_ = 0;
  Name* before_ = nullptr;  // the previous name
  std::vector<Found> found_;
  std::uint64_t turn_ = 0;   // record number, which makes clearing unnecessary
  std::size_t missing_ = 0;  // slots of this record not found yet
  bool all_done_ = true;     // whether `take` was done with each so far
};

}  // namespace penstock
