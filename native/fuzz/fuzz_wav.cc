// Any bytes are samples within the file, or a status that says why not; all of them can be read.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "fuzz/demand.h"
#include "kernels/wav.h"

using penstock::WavLayout;
using penstock::WavStatus;
using penstock::fuzz::demand;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  WavLayout layout{};
  const WavStatus status = penstock::find_samples(data, size, &layout);
  if (status != WavStatus::kOk && status != WavStatus::kTruncated) return 0;
  const auto length = static_cast<int64_t>(size);
  demand(layout.channels > 0 && layout.rate > 0 && layout.width > 0 && layout.frames >= 0, "a layout of nothing");
  const int64_t frame = layout.channels * layout.width;
  demand(layout.data + layout.frames * frame <= length, "samples beyond the file");
  demand((status == WavStatus::kTruncated) == (layout.stated > length - layout.data), "truncated, or not");
  const auto count = static_cast<size_t>(layout.frames * layout.channels);
  const std::unique_ptr<float[]> all(new float[count]), part(new float[count]), mixed(new float[count]);
  penstock::read_samples(data, layout, 0, layout.frames, false, all.get());
  penstock::read_samples(data, layout, 0, layout.frames, true, mixed.get());
  const int64_t first = layout.frames / 3;
  penstock::read_samples(data, layout, first, layout.frames - first, false, part.get());
  const auto skipped = static_cast<size_t>(first * layout.channels);
  demand(!std::memcmp(all.get() + skipped, part.get(), (count - skipped) * sizeof(float)), "other samples in part");
  return 0;
}
