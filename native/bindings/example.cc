#include "kernels/example.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <deque>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "bindings/texts.h"
#include "kernels/places.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

using SlotTuple = std::tuple<nb::bytes, int, std::int64_t, bool, bool>;  // name, kind, size, in_lists, required

std::vector<FeatureSlot> slots_of(const nb::list& given) {
  std::vector<FeatureSlot> slots;
  for (nb::handle each : given) {
    const auto [name, kind, size, in_lists, required] = nb::cast<SlotTuple>(each);
    if (kind < 1 || kind > 3 || size < -1) throw nb::value_error("a slot has a kind from 1 to 3 and a size from -1 on");
    slots.push_back({{name.c_str(), name.size()}, static_cast<FeatureKind>(kind), in_lists, size, required});
  }
  return slots;
}

// Records in stable memory: bytes, other buffers, or pairs of joined bytes and the begins of records.
class Records {
 public:
  explicit Records(const nb::list& given) : given_(given) {
    for (nb::handle each : given_) {
      if (PyBytes_Check(each.ptr())) {
        char* text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(each.ptr(), &text, &size)) nb::raise_python_error();
        add(reinterpret_cast<const std::uint8_t*>(text), static_cast<std::size_t>(size));
      } else if (nb::isinstance<nb::tuple>(each)) {
        const auto pair = nb::cast<std::pair<nb::object, nb::object>>(each);
        add_joined(pair.first, pair.second);
      } else {
        const Buffer& buffer = buffers_.emplace_back(each);
        add(reinterpret_cast<const std::uint8_t*>(buffer.data()), buffer.bytes());
      }
    }
  }

  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  const Bytes* data() const { return records_.data(); }
  std::size_t size() const { return records_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  void add(const std::uint8_t* begin, std::size_t size) {
    records_.push_back({begin, begin + size});
    bytes_ += size;
  }

  void add_joined(nb::handle values, nb::handle splits_array) {
    const Buffer& buffer = buffers_.emplace_back(values);
    const Buffer splits(splits_array);
    const auto* at = splits.words<const std::int64_t>("splits");
    const auto most = static_cast<std::int64_t>(buffer.bytes());
    std::int64_t low = splits.rows() ? at[0] : 0;
    for (std::size_t i = 1; i < splits.rows(); ++i) {
      const std::int64_t high = at[i];
      if (low < 0 || high < low || high > most)
        throw nb::value_error(("record " + std::to_string(i - 1) + " is not inside the bytes given: from " +
                               std::to_string(low) + " to " + std::to_string(high) + " of " + std::to_string(most))
                                  .c_str());
      add(reinterpret_cast<const std::uint8_t*>(buffer.data()) + low, static_cast<std::size_t>(high - low));
      low = high;
    }
  }

  nb::tuple given_;  // a tuple of its own, which keeps the records alive
  std::deque<Buffer> buffers_;
  std::vector<Bytes> records_;
  std::size_t bytes_ = 0;
};

// One parse of some records, which continues after more room was given.
class Parsing {
 public:
  Parsing(nb::handle spec, const nb::list& records)
      : owner_(nb::borrow(spec)),
        spec_(nb::cast<const ExampleSpec&>(spec)),
        records_(records),
        texts_(spec_.slots().size()) {
    std::int64_t most = 0;
    for (const FeatureSlot& slot : spec_.slots())
      if (slot.kind == FeatureKind::kBytes) most = std::max(most, slot.size);
    no_texts_.resize(static_cast<std::size_t>(most));
  }

  std::size_t records() const { return records_.size(); }

  // One (values, defaults, splits, step_splits) for each slot. Texts are kept here, and have no values.
  std::tuple<int, std::size_t, std::size_t, std::int64_t, bool> run(const nb::list& columns) {
    std::deque<Buffer> held;
    const std::vector<FeatureColumn> memory = columns_of(columns, held);
    ExampleOutcome outcome;
    run_freely(records_.bytes() > kLongCallBytes,
               [&] { outcome = parse_examples(spec_, records_.data(), first_, records_.size(), memory.data()); });
    first_ = outcome.record;
    return {static_cast<int>(outcome.status), outcome.record, outcome.slot, outcome.found, outcome.in_steps};
  }

  // The first `count` texts of a slot as bytes or str, and -1; or those before the first invalid text, and its number.
  std::pair<nb::object, std::int64_t> texts(std::size_t slot, std::size_t count, bool as_str,
                                            const nb::list& defaults) {
    const std::vector<Bytes>& found = texts_.at(slot);
    if (count > found.size()) throw nb::index_error("there are not as many texts");
    return texts_of(found.data(), count, as_str, defaults);
  }

 private:
  std::vector<FeatureColumn> columns_of(const nb::list& given, std::deque<Buffer>& held) {
    const std::vector<FeatureSlot>& slots = spec_.slots();
    if (nb::len(given) != slots.size()) throw nb::value_error("there must be a column for each slot");
    std::vector<FeatureColumn> columns;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      const auto [values, defaults, splits, step_splits] =
          nb::cast<std::tuple<nb::object, nb::object, nb::object, nb::object>>(given[slot]);
      FeatureColumn column{};
      const bool fixed = slots[slot].size >= 0 && !slots[slot].in_lists;
      if (!fixed) {
        column.splits = words_of(splits, held);
        if (held.back().rows() != records_.size() + 1)
          throw nb::value_error("splits must have one more place than records");
      }
      if (slots[slot].in_lists) {
        column.step_splits = words_of(step_splits, held);
        column.steps_room = static_cast<std::int64_t>(held.back().rows()) - 1;
      }
      give_values(slots[slot], values, defaults, fixed, slot, held, column);
      columns.push_back(column);
    }
    return columns;
  }

  void give_values(const FeatureSlot& slot, nb::handle values, nb::handle defaults, bool fixed, std::size_t at,
                   std::deque<Buffer>& held, FeatureColumn& column) {
    const auto needed = fixed ? static_cast<std::int64_t>(records_.size()) * slot.size : 0;
    if (slot.kind == FeatureKind::kBytes) {
      std::vector<Bytes>& texts = texts_[at];
      const auto room = static_cast<std::size_t>(fixed ? needed : nb::cast<std::int64_t>(values));
      if (texts.size() < room) texts.resize(room);
      column.values = texts.data();
      column.room = static_cast<std::int64_t>(texts.size());
      column.defaults = no_texts_.data();
      return;
    }
    const std::size_t width = slot.kind == FeatureKind::kFloat ? sizeof(float) : sizeof(std::int64_t);
    const Buffer& memory = held.emplace_back(values, true);
    column.values = memory.data();
    column.room = static_cast<std::int64_t>(memory.bytes() / width);
    if (column.room < needed) throw nb::value_error("the values have no room for all records");
    if (fixed && !slot.required) {
      const Buffer& filled = held.emplace_back(defaults);
      if (filled.bytes() != static_cast<std::size_t>(slot.size) * width)
        throw nb::value_error("a default has the size of the slot");
      column.defaults = filled.data();
    }
  }

  static std::int64_t* words_of(nb::handle array, std::deque<Buffer>& held) {
    auto* words = held.emplace_back(array, true).words<std::int64_t>("splits");
    if (!held.back().rows() || words[0]) throw nb::value_error("splits must begin with 0");
    return words;
  }

  nb::object owner_;
  const ExampleSpec& spec_;
  Records records_;
  std::vector<std::vector<Bytes>> texts_;
  std::vector<Bytes> no_texts_;  // instead of defaults, which Python handles
  std::size_t first_ = 0;
};

// The length of the longest row.
std::int64_t places(nb::handle splits_array, nb::handle pairs_array) {
  const Buffer splits(splits_array), pairs(pairs_array, true);
  const auto* const at = splits.words<const std::int64_t>("splits");
  if (!splits.rows() || pairs.ndim() != 2 || pairs.bytes() != pairs.rows() * 2 * sizeof(std::int64_t))
    throw nb::value_error("splits must have one place at least, and pairs must be of 64-bit integers");
  const std::int64_t longest = places_in_rows(at, splits.rows() - 1, static_cast<std::int64_t>(pairs.rows()),
                                              reinterpret_cast<std::int64_t*>(pairs.data()));
  if (longest < 0) throw nb::value_error("splits must begin with 0, not decrease, and end with the number of pairs");
  return longest;
}

}  // namespace

void bind_example(nb::module_& module) {
  module.def("places_in_rows", places);
  nb::class_<ExampleSpec>(module, "ExampleSpec").def("__init__", [](ExampleSpec* self, const nb::list& slots) {
    new (self) ExampleSpec(slots_of(slots));
  });
  nb::class_<Parsing>(module, "ExampleParsing")
      .def(nb::init<nb::handle, const nb::list&>())
      .def("records", &Parsing::records)
      .def("run", &Parsing::run)
      .def("texts", &Parsing::texts);
}

}  // namespace penstock::bindings
