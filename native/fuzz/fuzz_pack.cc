// Any lengths are packed within their room, and any pieces are refused or filled in: what bytes choose, never over
// them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/pack.h"

using penstock::Bins;
using penstock::Segment;
using penstock::fuzz::Choices;
using penstock::fuzz::demand;

namespace {

void pack(Choices choices) {
  const int64_t capacity = 1 + choices.below(300);
  std::vector<int64_t> lengths;
  while (!choices.empty() && lengths.size() < 2000) lengths.push_back(choices.below(capacity + 1));
  std::vector<int64_t> bins(lengths.size());
  for (const auto rule : {penstock::pack_first_fit, penstock::pack_best_fit}) {
    const int64_t opened = rule(lengths.data(), lengths.size(), capacity, bins.data());
    demand(opened >= 0 && static_cast<size_t>(opened) <= lengths.size(), "more bins than sequences");
    std::vector<int64_t> used(static_cast<size_t>(opened));
    int64_t all = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      demand(bins[i] >= -1 && bins[i] < opened && (bins[i] < 0) == (lengths[i] == 0), "a sequence in no bin");
      if (lengths[i]) used[static_cast<size_t>(bins[i])] += lengths[i];
      all += lengths[i];
    }
    for (const int64_t tokens : used) demand(tokens > 0 && tokens <= capacity, "a bin empty or too full");
    demand(opened < 2 || 2 * all > opened / 2 * 2 * capacity, "two bins that one could be");
  }
}

void fill(Choices choices) {
  constexpr size_t kText = 100;
  const size_t width = static_cast<size_t>(1 + choices.below(9)), count = static_cast<size_t>(choices.below(6));
  const size_t capacity = static_cast<size_t>(choices.below(120));
  const auto text = std::make_unique<char[]>(kText * width),
             tokens = std::make_unique<char[]>(count * capacity * width);
  const auto ids = std::make_unique<int32_t[]>(count * capacity);
  const auto positions = std::make_unique<int32_t[]>(count * capacity);
  std::memset(text.get(), 1, kText * width);
  const std::vector<char> pad(width, 2);
  const Bins bins{tokens.get(), ids.get(), positions.get(), count, capacity, width};
  std::vector<Segment> segments;
  while (!choices.empty() && segments.size() < 200) {
    const int64_t backward = choices.below(2), length = choices.number();
    if (length > static_cast<int64_t>(kText)) continue;  // the binding has held it against its document
    const auto forth = static_cast<std::ptrdiff_t>(width);
    const char* first = text.get() + (backward && length > 0 ? static_cast<size_t>(length - 1) * width : 0);
    segments.push_back({first, backward ? -forth : forth, length, choices.number(), choices.number()});
  }
  const size_t fitting = penstock::first_misfit(segments.data(), segments.size(), bins);
  penstock::BinFilling(segments.data(), fitting, pad.data(), bins).fill(0, bins.count);
  size_t wanted = 0, found = 0;
  for (size_t i = 0; i < fitting; ++i) wanted += static_cast<size_t>(segments[i].length);
  for (size_t i = 0; i < count * capacity; ++i) {
    found += ids[i] > 0;
    demand(tokens[i * width] == (ids[i] ? 1 : 2) && positions[i] >= 0, "a token of nowhere");
  }
  demand(found == wanted, "tokens lost or made up");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pack(Choices(data, size));
  fill(Choices(data, size));
  return 0;
}
