// Any rows are refused, or gathered and computed within the memory given: what the bindings ask is asked here too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/background.h"
#include "kernels/gather.h"
#include "kernels/permute.h"
#include "kernels/places.h"
#include "kernels/rows.h"

using namespace penstock;
using penstock::fuzz::Choices;
using penstock::fuzz::demand;

namespace {

// Memory that holds not a byte more.
template <class Word>
std::unique_ptr<Word[]> exactly(const std::vector<Word>& words) {
  auto made = std::make_unique<Word[]>(words.size());
  std::copy(words.begin(), words.end(), made.get());
  return made;
}

// Numbers that are mostly rows of so many.
std::vector<std::int64_t> some_rows(Choices& choices, std::int64_t length) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(choices.below(300)));
  const bool any = choices.byte() % 4 == 0;
  for (std::int64_t& row : rows) row = any ? choices.number() : choices.below(length + (choices.byte() == 255));
  return rows;
}

struct Source {
  Source(std::size_t row_width, std::size_t length, std::size_t count)
      : width(row_width), from(new char[width * length]), to(new char[width * count]) {
    for (std::size_t i = 0; i < width * length; ++i) from[i] = static_cast<char>(i * 31 + i / 251);
  }
  std::size_t width;
  std::unique_ptr<char[]> from, to;
};

void check_gathered(const Source& source, const std::int64_t* rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    demand(!source.width ||
               !std::memcmp(source.to.get() + i * source.width,
                            source.from.get() + static_cast<std::size_t>(rows[i]) * source.width, source.width),
           "another row");
}

// Sources in pieces one after another, and side by side in a thread, of which some are let go of before they are done.
void gather_some(Choices choices, const std::shared_ptr<BackgroundThread>& thread) {
  static constexpr std::int64_t kWidths[] = {0, 1, 2, 3, 4, 8, 12, 16, 17, 63, 64, 65, 784, 1024, 5000};
  const std::int64_t length = 1 + choices.below(400);
  const std::vector<std::int64_t> chosen = some_rows(choices, length);
  const auto rows = exactly(chosen);
  const std::size_t count = chosen.size(), bad = first_outside(rows.get(), count, static_cast<std::uint64_t>(length));
  for (std::size_t i = 0; i < count; ++i) {
    const bool inside = chosen[i] >= 0 && chosen[i] < length;
    demand(i != bad || !inside, "a row inside is outside");
    demand(i >= bad || inside, "a row outside is inside");
  }
  if (bad != count) return;
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::unique_ptr<Background>> begun;
  const bool let_go = choices.byte() % 8 == 0;
  for (std::int64_t i = choices.below(4); i >= 0; --i) {
    const auto width = static_cast<std::size_t>(kWidths[static_cast<std::size_t>(choices.below(15))]);
    sources.push_back(std::make_unique<Source>(width, static_cast<std::size_t>(length), count));
    const Source& source = *sources.back();
    const std::size_t at_once = 1 + static_cast<std::size_t>(choices.below(300));
    const auto piece = [&source, &rows, count, at_once](std::size_t number) {
      const std::size_t first = number * at_once;
      gather(source.from.get(), source.width, rows.get() + first, std::min(at_once, count - first),
             source.to.get() + first * source.width);
    };
    const std::size_t pieces = (count + at_once - 1) / at_once;
    if (choices.byte() % 4)
      for (std::size_t number = pieces; number-- > 0;) piece(number);
    else
      begun.push_back(std::make_unique<Background>(pieces, piece, thread));
  }
  if (!let_go)
    for (const auto& each : begun) each->wait();
  begun.clear();
  for (const auto& source : sources)
    if (!let_go) check_gathered(*source, rows.get(), count);
}

// Rows of several sources of one width, some of them to places out of order.
void gather_from_several(Choices choices) {
  const auto width = static_cast<std::size_t>(choices.below(100));
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<const char*> starts;
  std::vector<std::int64_t> owners, rows, places;
  for (std::int64_t number = choices.below(4); number >= 0; --number) {
    const std::int64_t length = 1 + choices.below(60);
    sources.push_back(std::make_unique<Source>(width, static_cast<std::size_t>(length), 0));
    starts.push_back(sources.back()->from.get());
    for (std::int64_t taken = choices.below(40); taken > 0; --taken) {
      owners.push_back(static_cast<std::int64_t>(starts.size()) - 1);
      rows.push_back(choices.below(length));
      places.push_back(static_cast<std::int64_t>(places.size()));
      if (choices.byte() % 2) std::swap(places.back(), places.front());
    }
  }
  const auto out = std::make_unique<char[]>(width * rows.size());
  gather_several(starts.data(), width, owners.data(), rows.data(), places.data(), rows.size(), out.get());
  for (std::size_t i = 0; i < rows.size(); ++i)
    demand(
        !width || !std::memcmp(out.get() + static_cast<std::size_t>(places[i]) * width,
                               starts[static_cast<std::size_t>(owners[i])] + static_cast<std::size_t>(rows[i]) * width,
                               width),
        "another row of another source");
}

void place(Choices choices) {
  std::vector<std::int64_t> lengths{0};
  const auto rows = static_cast<std::size_t>(choices.below(100));
  for (std::size_t i = 0; i < rows; ++i)
    lengths.push_back(choices.byte() < 252 ? lengths.back() % (1 << 20) + choices.below(20) : choices.number());
  const std::int64_t count =
      choices.byte() < 240 ? std::clamp<std::int64_t>(lengths.back(), 0, 1 << 12) : choices.below(2000);
  const auto splits = exactly(lengths);
  const auto pairs = std::make_unique<std::int64_t[]>(2 * static_cast<std::size_t>(count));
  const std::int64_t longest = places_in_rows(splits.get(), rows, count, pairs.get());
  for (std::int64_t i = 0; longest >= 0 && i < count; ++i) {
    const std::int64_t row = pairs[static_cast<std::size_t>(2 * i)], at = pairs[static_cast<std::size_t>(2 * i + 1)];
    demand(row >= 0 && row < static_cast<std::int64_t>(rows) && at >= 0 && at < longest, "a place of nowhere");
    demand(lengths[static_cast<std::size_t>(row)] + at == i, "the place of another value");
  }
}

void compute(Choices choices) {
  std::vector<std::int64_t> chosen = some_rows(choices, 1 + choices.below(1000));
  chosen.resize(first_outside(chosen.data(), chosen.size(), std::uint64_t{1} << 63));
  const auto rows = exactly(chosen);
  const std::size_t count = chosen.size();
  const auto out = std::make_unique<std::int64_t[]>(count);
  const std::int64_t length = std::max<std::int64_t>(choices.number(), 1);
  if (stride_rows(rows.get(), out.get(), count, length, choices.number(), choices.number(), choices.number()))
    for (std::size_t i = 0; i < count; ++i) demand(out[i] >= 0, "a row below 0");
  const auto at_least = [&](std::int64_t least) { return std::max(choices.number(), least); };
  const Grouping grouping{at_least(1), at_least(1), at_least(0), at_least(0)};
  const std::int64_t total = count_grouped(grouping, rows.get(), count, out.get());
  if (total < 0 || total > 1 << 16) return;
  const auto elements = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(total));
  fill_grouped(grouping, rows.get(), count, out.get(), elements.get());
  for (std::int64_t i = 0; i < total; ++i) demand(elements[static_cast<std::size_t>(i)] >= 0, "an element below 0");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto thread = std::make_shared<BackgroundThread>();
  gather_some(Choices(data, size), thread);
  gather_from_several(Choices(data, size));
  place(Choices(data, size));
  compute(Choices(data, size));
  return 0;
}
