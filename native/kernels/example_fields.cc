#include "kernels/example_fields.h"

#include <cstring>

namespace penstock {

namespace {

constexpr std::size_t kMostNames = 256;        // not requested, but remembered
constexpr std::size_t kMostLetters = 1 << 13;  // of all of these

inline Bytes bytes_of(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(text.data());
  return {begin, begin + text.size()};
}

std::uint64_t hash_of(Bytes name, bool in_lists) {
  std::uint64_t hash = in_lists ? 0x9e3779b97f4a7c15 : 0xcbf29ce484222325;
  for (const std::uint8_t* at = name.begin; at != name.end; ++at) hash = (hash ^ *at) * 0x100000001b3;  // FNV-1a
  return hash ^ hash >> 32;
}

}  // namespace

ExampleSpec::ExampleSpec(std::vector<FeatureSlot> slots) : slots_(std::move(slots)) {
  std::size_t places = 8;
  while (places < 2 * slots_.size()) places *= 2;
  table_.assign(places, -1);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    std::size_t place = hash_of(bytes_of(slots_[slot].name), slots_[slot].in_lists) & (places - 1);
    while (table_[place] >= 0) place = (place + 1) & (places - 1);
    table_[place] = static_cast<std::int32_t>(slot);
    has_lists_ |= slots_[slot].in_lists;
  }
}

std::int32_t ExampleSpec::find(Bytes name, bool in_lists) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t place = hash_of(name, in_lists) & mask; table_[place] >= 0; place = (place + 1) & mask) {
    const FeatureSlot& slot = slots_[static_cast<std::size_t>(table_[place])];
    if (slot.in_lists == in_lists && FeatureFinder::same(bytes_of(slot.name), name)) return table_[place];
  }
  return -1;
}

FeatureFinder::FeatureFinder(const ExampleSpec& spec) : spec_(spec), letters_(new std::uint8_t[kMostLetters]) {
  names_.reserve(1 + spec.slots().size() + kMostNames);
  names_.push_back({{nullptr, nullptr}, -1, false, nullptr, {}});
  for (const FeatureSlot& slot : spec.slots()) {
    const Bytes name = bytes_of(slot.name);
    const auto number = static_cast<std::int32_t>(names_.size()) - 1;
    names_.push_back(
        {name, number, slot.in_lists, nullptr, slot.in_lists ? EntryShape() : EntryShape(name, slot.kind)});
  }
  found_.assign(spec.slots().size(), {{nullptr, nullptr}, 0, State::kWhole});
}

bool FeatureFinder::find_entry(Bytes entry, bool in_lists) {
  Bytes name{entry.begin, entry.begin}, value = name;
  int values = 0;
  std::size_t bytes = 0;
  WireReader message(entry);
  Field field;
  while (!message.done()) {
    if (!message.next(&field)) return false;
    if (field.wire != Wire::kBytes) continue;
    if (field.number == 1) name = field.payload;
    if (field.number == 2) value = field.payload, bytes += value.size(), ++values;
  }
  const std::int32_t slot = slot_of(name, in_lists);
  if (slot < 0 || says_nothing(static_cast<std::size_t>(slot), in_lists, bytes)) return true;
  const bool several = values > 1;
  note(static_cast<std::size_t>(slot), several ? entry : value, several ? State::kSeveral : State::kWhole);
  return true;
}

std::int32_t FeatureFinder::looked_up(Bytes name, bool in_lists) {
  Name* const found = name_of(name, in_lists);
  before_->next = found;
  if (!found) return -1;
  before_ = found;
  return found->slot;
}

// Returns the name as one of `names_`, or null if not requested and without room to remember it.
FeatureFinder::Name* FeatureFinder::name_of(Bytes text, bool in_lists) {
  const std::int32_t slot = spec_.find(text, in_lists);
  if (slot >= 0) return &names_[static_cast<std::size_t>(slot) + 1];
  if (names_.size() == names_.capacity() || text.size() > kMostLetters - letters_used_) return nullptr;
  std::uint8_t* const own = letters_.get() + letters_used_;
  if (text.size()) std::memcpy(own, text.begin, text.size());
  letters_used_ += text.size();
  names_.push_back({{own, own + text.size()}, -1, in_lists, nullptr, {}});
  return &names_.back();
}

}  // namespace penstock
