// Records into columns: in every form that protobuf reads, room that grows, and faults that name what is wrong.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/example.h"
#include "kernels/places.h"
#include "kernels/varints.h"
#include "tests/check.h"
#include "tests/write_example.h"

using namespace penstock;
using namespace penstock::tests;

namespace {

std::string integers(const std::vector<std::int64_t>& values, bool packed = true) {
  std::string text;
  for (const std::int64_t value : values)
    text += (packed ? "" : varint(1 << 3)) + varint(static_cast<std::uint64_t>(value));
  return field(3, packed ? field(1, text) : text);
}

std::string example(const std::string& entries) { return field(1, entries); }

// One column of integers, with exactly as much room as is said.
struct Column {
  Column(std::size_t records, std::int64_t room) : values(new std::int64_t[static_cast<std::size_t>(room)]) {
    splits.assign(records + 1, 0);
    column = {values.get(), room, nullptr, splits.data(), nullptr, 0};
  }
  std::unique_ptr<std::int64_t[]> values;
  std::vector<std::int64_t> splits;
  FeatureColumn column;
};

// Each record in memory of its own, so that a sanitizer sees what is read beside it.
struct Records {
  explicit Records(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      held.emplace_back(new std::uint8_t[text.size()]);
      std::memcpy(held.back().get(), text.data(), text.size());
      bytes.push_back({held.back().get(), held.back().get() + text.size()});
    }
  }
  std::vector<std::unique_ptr<std::uint8_t[]>> held;
  std::vector<Bytes> bytes;
};

const ExampleSpec& wanted() {
  static const ExampleSpec spec({{"x", FeatureKind::kInt64, false, -1, false}});
  return spec;
}

std::vector<std::int64_t> parsed(const std::string& text, ExampleStatus expected = ExampleStatus::kDone) {
  const Records records({text});
  const Column x(1, static_cast<std::int64_t>(text.size()));
  CHECK(parse_examples(wanted(), records.bytes.data(), 0, 1, &x.column).status == expected);
  return {x.values.get(), x.values.get() + x.splits[1]};
}

void check_forms() {
  const std::vector<std::int64_t> some{1, -1, 300, INT64_MIN, INT64_MAX, 0};
  CHECK(parsed(example(entry("x", integers(some)))) == some);
  CHECK(parsed(example(entry("x", integers(some, false)))) == some);
  CHECK(parsed(example(entry("y", integers({5})) + entry("x", integers(some)))) == some);
  CHECK(parsed(example(entry("x", integers({5})) + entry("x", integers(some)))) == some);
  CHECK(parsed(example(entry("x", integers({5}))) + example(entry("x", integers(some)))) == some);
  CHECK(parsed(example(field(1, field(2, integers(some)) + field(1, "x")))) == some);
  CHECK((parsed(example(field(1, field(1, "x") + field(2, integers({5})) + field(2, integers({6}))))) ==
         std::vector<std::int64_t>{5, 6}));
  CHECK(parsed(example(field(1, field(1, "x") + field(2, field(1, "")) + field(2, integers(some))))) == some);
  CHECK(parsed(example(entry("x", integers(some))) + varint(9 << 3 | 3) + varint(9 << 3 | 4)) == some);
  CHECK(parsed(example(entry("x", integers(some)) + entry("x", "") + field(1, field(1, "x")))) == some);
  CHECK(parsed(example(entry("x", "") + entry("x", integers(some)))) == some);
  CHECK(parsed(example(entry("x", integers(some)) + entry("x", field(3, "")))).empty());
  CHECK(parsed("").empty());
  CHECK(parsed(example(entry("x", ""))).empty());
}

void check_faults() {
  parsed(example(entry("x", field(2, ""))), ExampleStatus::kWrongKind);
  parsed(example(entry("x", field(3, field(1, "\xff")))), ExampleStatus::kDamaged);
  parsed("\x0a\x05", ExampleStatus::kDamaged);
  parsed(std::string(11, '\xff'), ExampleStatus::kDamaged);
  std::string groups;
  for (int i = 0; i < 200; ++i) groups += varint(9 << 3 | 3);
  parsed(groups, ExampleStatus::kDamaged);
  const std::string good = example(entry("x", integers({1, 2, 300, 70000, -5})));
  for (std::size_t size = 1; size < good.size(); ++size) parsed(good.substr(0, size), ExampleStatus::kDamaged);
}

void check_room() {
  const Records records({example(entry("x", integers({1, 2}))), "", example(entry("x", integers({3, 4, 5})))});
  const Column little(3, 4);
  const ExampleOutcome outcome = parse_examples(wanted(), records.bytes.data(), 0, 3, &little.column);
  CHECK(outcome.status == ExampleStatus::kNoRoom && outcome.record == 2 && outcome.slot == 0 && outcome.found == 5);
  Column more(3, 5);
  std::memcpy(more.values.get(), little.values.get(), 4 * sizeof(std::int64_t));
  more.splits = little.splits;
  more.column.splits = more.splits.data();
  CHECK(parse_examples(wanted(), records.bytes.data(), 2, 3, &more.column).status == ExampleStatus::kDone);
  CHECK((more.splits == std::vector<std::int64_t>{0, 2, 2, 5}));
  for (int i = 0; i < 5; ++i) CHECK(more.values[static_cast<std::size_t>(i)] == i + 1);
}

void check_many_names() {
  std::vector<FeatureSlot> slots;
  std::string entries;
  for (int i = 0; i < 500; ++i) {
    slots.push_back({"name " + std::to_string(i), FeatureKind::kInt64, false, 1, true});
    entries = (i % 2 ? entry(slots.back().name, integers({i})) + entries
                     : entries + entry(slots.back().name, integers({i})) + entry("no " + std::to_string(i), ""));
  }
  const ExampleSpec spec(slots);
  std::vector<std::int64_t> values(1000);
  std::vector<FeatureColumn> columns;
  for (std::size_t i = 0; i < 500; ++i) columns.push_back({&values[2 * i], 2, nullptr, nullptr, nullptr, 0});
  const Records records({example(entries), example(entries)});
  CHECK(parse_examples(spec, records.bytes.data(), 0, 2, columns.data()).status == ExampleStatus::kDone);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(values[i] == static_cast<std::int64_t>(i / 2));
}

// Numbers of all lengths, in memory that ends with them, with room that is just enough or too little.
void check_varints() {
  for (int length = 1; length <= 10; ++length) {
    for (std::int64_t count = 0; count < 40; ++count) {
      std::string text;
      const auto value = length == 10 ? std::int64_t{-7} : (std::int64_t{1} << (7 * length - 7)) + 1;
      for (std::int64_t i = 0; i < count; ++i) text += varint(static_cast<std::uint64_t>(i % 3 ? value : 1));
      const Records records({text + std::string(static_cast<std::size_t>(count % 30), '\x01')});
      const Bytes packed{records.bytes[0].begin, records.bytes[0].begin + text.size()};
      for (const std::int64_t room : {count, count / 2, static_cast<std::int64_t>(text.size())}) {
        const std::unique_ptr<std::int64_t[]> values(new std::int64_t[static_cast<std::size_t>(room)]);
        for (const UnpackVarints unpack : ways_to_unpack_varints()) {
          Sink<std::int64_t> sink{values.get(), room};
          CHECK(unpack(packed, records.bytes[0].end, &sink) && sink.count == count);
          for (std::int64_t i = 0; i < std::min(room, count); ++i)
            CHECK(values[static_cast<std::size_t>(i)] == (i % 3 ? value : 1));
        }
      }
    }
  }
}

// Names of all lengths, with values of all: where each length of the entry takes one byte, and where some take two.
void check_shapes() {
  for (std::size_t letters = 0; letters < 60; ++letters) {
    const std::string name(letters, 'n');
    const ExampleSpec spec({{name, FeatureKind::kInt64, false, -1, true}, {"f", FeatureKind::kFloat, false, 1, true}});
    std::vector<std::string> texts;
    std::vector<std::int64_t> expected;
    for (std::int64_t count = 0; count < 130; ++count) {
      const std::vector<std::int64_t> values(static_cast<std::size_t>(count), count);
      const std::string number = entry("f", field(2, field(1, std::string("\0\0\x80\x3f", 4))));
      texts.push_back(example(entry(name, integers(values)) + number));
      expected.insert(expected.end(), values.begin(), values.end());
    }
    texts.push_back(example(entry("f", field(2, field(1, std::string(4, 'x')))) + entry(name, integers({}))));
    const Records records(texts);
    const Column x(texts.size(), static_cast<std::int64_t>(expected.size()));
    std::vector<float> numbers(texts.size());
    const FeatureColumn columns[] = {x.column, {numbers.data(), 0, nullptr, nullptr, nullptr, 0}};
    CHECK(parse_examples(spec, records.bytes.data(), 0, texts.size(), columns).status == ExampleStatus::kDone);
    CHECK(std::equal(expected.begin(), expected.end(), x.values.get()));
    CHECK(x.splits.back() == static_cast<std::int64_t>(expected.size()) && numbers[129] == 1.0f);
    // A kind, a name or a length that differs is looked at with more care.
    std::string other = texts[100];
    other[other.find(field(1, name)) + letters + 5] = '\x12';
    const Records wrong({texts[99], other});
    CHECK(parse_examples(spec, wrong.bytes.data(), 0, 2, columns).record == 1);
  }
}

void check_places() {
  const std::vector<std::int64_t> splits{0, 2, 2, 3}, outside{0, 9, 3}, down{0, 2, 1, 3}, late{1, 3},
      least{0, 2, std::numeric_limits<std::int64_t>::min(), 3};
  std::vector<std::int64_t> pairs(6);
  CHECK(places_in_rows(splits.data(), 3, 3, pairs.data()) == 2);
  CHECK((pairs == std::vector<std::int64_t>{0, 0, 0, 1, 2, 0}));
  CHECK(places_in_rows(splits.data(), 0, 0, nullptr) == 0);
  CHECK(places_in_rows(splits.data(), 3, 2, pairs.data()) == -1);
  CHECK(places_in_rows(outside.data(), 2, 3, pairs.data()) == -1);
  CHECK(places_in_rows(down.data(), 3, 3, pairs.data()) == -1);
  CHECK(places_in_rows(late.data(), 1, 3, pairs.data()) == -1);
  CHECK(places_in_rows(least.data(), 3, 3, pairs.data()) == -1);
}

}  // namespace

int main() {
  check_forms();
  check_faults();
  check_room();
  check_many_names();
  check_varints();
  check_shapes();
  check_places();
}
