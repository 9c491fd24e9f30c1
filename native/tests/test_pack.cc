// Packing: every sequence in a bin that holds it, as the rules say; bins filled to the last token and not beyond.
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/pack.h"
#include "tests/check.h"

using penstock::Bins;
using penstock::Segment;
using Lengths = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t kLastPosition = (std::int64_t{1} << 31) - 1;

template <class Pack>
Lengths packed(Pack pack, const Lengths& lengths, std::int64_t capacity, std::int64_t expected_count) {
  Lengths bins(lengths.size(), -7);
  CHECK(pack(lengths.data(), lengths.size(), capacity, bins.data()) == expected_count);
  return bins;
}

void check_rules() {
  using penstock::pack_best_fit, penstock::pack_first_fit;
  CHECK((packed(pack_first_fit, {6, 5, 4, 0, 5, 10}, 10, 3) == Lengths{0, 1, 0, -1, 1, 2}));
  CHECK((packed(pack_best_fit, {1, 8, 7, 2, 3}, 10, 3) == Lengths{0, 1, 2, 1, 2}));
  CHECK((packed(pack_best_fit, {5, 5, 5, 5}, 10, 2) == Lengths{0, 0, 1, 1}));
  CHECK((packed(pack_best_fit, {7, 7, 7, 2, 1}, 10, 3) == Lengths{0, 1, 2, 2, 2}));  // of equal bins the last filled
  for (const auto pack : {pack_first_fit, pack_best_fit}) {
    CHECK(packed(pack, {}, 1, 0).empty());
    CHECK((packed(pack, {0, 0}, 1, 0) == Lengths{-1, -1}));
    CHECK((packed(pack, {1}, 1, 1) == Lengths{0}));
    constexpr std::int64_t kMost = penstock::kMaxCapacity;
    CHECK((packed(pack, {kMost, kMost, 1}, kMost, 3) == Lengths{0, 1, 2}));
  }
}

void check_room(std::size_t count, std::int64_t capacity) {
  std::mt19937_64 random(count);
  Lengths lengths(count), bins(count);
  for (auto& length : lengths) length = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(capacity + 1));
  for (const auto pack : {penstock::pack_first_fit, penstock::pack_best_fit}) {
    const auto opened = static_cast<std::size_t>(pack(lengths.data(), count, capacity, bins.data()));
    Lengths used(opened);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK((bins[i] < 0) == (lengths[i] == 0));
      if (bins[i] >= 0) used.at(static_cast<std::size_t>(bins[i])) += lengths[i];
    }
    for (const std::int64_t tokens : used) CHECK(tokens > 0 && tokens <= capacity);
    std::int64_t next = 0;  // bins are numbered in the order of their first sequences
    for (const std::int64_t bin : bins) {
      CHECK(bin <= next);
      next += bin == next;
    }
  }
}

// Bins in memory that holds not a byte more.
struct Memory {
  Memory(std::size_t count, std::size_t capacity, std::size_t width)
      : tokens(new char[count * capacity * width]),
        ids(new std::int32_t[count * capacity]),
        positions(new std::int32_t[count * capacity]),
        bins{tokens.get(), ids.get(), positions.get(), count, capacity, width} {}
  std::unique_ptr<char[]> tokens;
  std::unique_ptr<std::int32_t[]> ids, positions;
  Bins bins;
};

void check_fill(std::size_t width) {
  const auto text = std::make_unique<char[]>(5 * width), pad = std::make_unique<char[]>(width);
  for (std::size_t i = 0; i < 5 * width; ++i) text[i] = static_cast<char>(1 + i / width);
  std::memset(pad.get(), 9, width);
  const auto forth = static_cast<std::ptrdiff_t>(width);
  const Segment segments[] = {{text.get(), forth, 2, 0, 1},                   // 1 2
                              {text.get() + 4 * width, -2 * forth, 3, 7, 0},  // 5 3 1
                              {text.get() + 3 * width, forth, 2, 40, 1}};     // 4 5
  const Memory memory(3, 4, width);
  CHECK(penstock::first_misfit(segments, 3, memory.bins) == 3);
  penstock::BinFilling(segments, 3, pad.get(), memory.bins).fill(0, memory.bins.count);
  const int tokens[] = {5, 3, 1, 9, 1, 2, 4, 5, 9, 9, 9, 9};
  const int ids[] = {1, 1, 1, 0, 1, 1, 2, 2, 0, 0, 0, 0};
  const int positions[] = {7, 8, 9, 0, 0, 1, 40, 41, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t byte = 0; byte < width; ++byte) CHECK(memory.tokens[i * width + byte] == tokens[i]);
    CHECK(memory.ids[i] == ids[i] && memory.positions[i] == positions[i]);
  }
}

// Segments around the lengths of blocks, from and to any alignment, are written token by token as one would by hand.
void check_blocks(std::size_t width, std::ptrdiff_t step) {
  constexpr std::size_t kText = 3000;
  std::mt19937_64 random(width);
  const auto text = std::make_unique<char[]>(kText * width);
  for (std::size_t i = 0; i < kText * width; ++i) text[i] = static_cast<char>(random());
  const auto stride = step * static_cast<std::ptrdiff_t>(width);
  for (const std::size_t shift : {0, 1, 5, 15, 16, 17}) {
    const Memory memory(2, 2500, width);
    std::vector<Segment> segments;
    std::size_t used = 0;
    for (const std::size_t length : {shift, std::size_t{15}, std::size_t{16}, std::size_t{17}, std::size_t{31},
                                     std::size_t{33}, std::size_t{1}, std::size_t{1500}, std::size_t{47}}) {
      if (!length) continue;
      const std::size_t start = step > 0 ? used % 1000 : 2999 - used % 1000;
      segments.push_back(
          {text.get() + start * width, stride, static_cast<std::int64_t>(length), static_cast<std::int64_t>(used), 1});
      used += length;
    }
    const auto pad = std::make_unique<char[]>(width);
    const std::size_t count = segments.size();
    segments.push_back({text.get(), static_cast<std::ptrdiff_t>(width), 2500, 7, 0});  // the first bin's comes last
    const penstock::BinFilling filling(segments.data(), segments.size(), pad.get(), memory.bins);
    const std::size_t half = memory.bins.count / 2;
    filling.fill(half, memory.bins.count);  // in any order
    filling.fill(0, half);
    CHECK(!std::memcmp(memory.tokens.get(), text.get(), 2500 * width));
    CHECK(memory.ids[2499] == 1 && memory.positions[2499] == 2506);
    std::size_t at = 2500;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::int64_t j = 0; j < segments[i].length; ++j, ++at) {
        CHECK(!std::memcmp(&memory.tokens[at * width], segments[i].tokens + j * stride, width));
        CHECK(memory.ids[at] == static_cast<std::int32_t>(i + 1));
        CHECK(memory.positions[at] == static_cast<std::int32_t>(segments[i].position + j));
      }
    }
    for (; at < 5000; ++at) CHECK(memory.ids[at] == 0 && memory.positions[at] == 0);
  }
}

void check_misfits() {
  const Memory memory(2, 4, 1);
  const char text[] = "abcd";
  const auto misfit = [&](Segment segment) {
    const Segment segments[] = {{text, 1, 3, 0, 0}, segment};
    return penstock::first_misfit(segments, 2, memory.bins) == 1;
  };
  CHECK(!misfit({text, 1, 1, 0, 0}));
  CHECK(misfit({text, 1, 2, 0, 0}));
  CHECK(!misfit({text, 1, 4, 0, 1}));
  CHECK(misfit({text, 1, 4, 0, 2}));
  CHECK(misfit({text, 1, 4, 0, -1}));
  CHECK(misfit({text, 1, 0, 0, 1}));
  CHECK(misfit({text, 1, -1, 0, 1}));
  CHECK(misfit({text, 1, INT64_MAX, 0, 1}));
  CHECK(!misfit({text, 1, 1, kLastPosition, 1}));
  CHECK(misfit({text, 1, 2, kLastPosition, 1}));
  CHECK(misfit({text, 1, 1, INT64_MAX, 1}));
  CHECK(misfit({text, 1, 1, -1, 1}));
}

}  // namespace

int main() {
  check_rules();
  for (const std::size_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 3000})
    for (const std::int64_t capacity : {1, 2, 10, 63, 64, 2048, 4095, 4096, 300000}) check_room(count, capacity);
  for (const std::size_t width : {1, 2, 3, 4, 8, 16}) check_fill(width);
  for (const std::size_t width : {1, 2, 3, 4, 8, 16})
    for (const std::ptrdiff_t step : {1, -1}) check_blocks(width, step);
  check_misfits();
}
