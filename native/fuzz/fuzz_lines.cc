// Any bytes are lines: every newline ends one, blocks and bytes find the same, whatever room there is.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/lines.h"

using penstock::LineScan;
using penstock::LinesWanted;
using Status = penstock::ScanOutcome::Status;
using penstock::fuzz::demand;

namespace {

template <class Scan>
std::vector<int64_t> scanned(Scan scan, const uint8_t* data, size_t size, LinesWanted wanted, size_t capacity) {
  std::vector<int64_t> found;
  const std::unique_ptr<int64_t[]> begins(new int64_t[capacity]);
  LineScan work{data, static_cast<int64_t>(size), wanted, begins.get(), capacity};
  while (work.status == Status::kMore) {
    const int64_t before = work.position;
    scan(work);
    demand(work.status == Status::kEnd || work.position > before, "no progress");
    found.insert(found.end(), begins.get(), begins.get() + work.count);
  }
  demand(work.position == static_cast<int64_t>(size), "not at the end");
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto by_blocks = [](LineScan& work) { penstock::scan_lines(work); };
  const auto by_bytes = [](LineScan& work) { penstock::scan_lines_portable(work); };
  const size_t capacity = 1 + (size ? data[size / 2] : 0);
  for (const auto wanted : {LinesWanted::kAll, LinesWanted::kNotEmpty, LinesWanted::kNotBlank}) {
    const auto found = scanned(by_blocks, data, size, wanted, capacity);
    demand(found == scanned(by_bytes, data, size, wanted, 4096), "blocks and bytes differ");
    size_t next = 0;
    for (size_t at = 0; at < size; ++at) {
      if (at && data[at - 1] != '\n') continue;
      demand(next < found.size() && (found[next] < 0 ? ~found[next] : found[next]) == static_cast<int64_t>(at),
             "a line lost or made up");
      demand(found[next] >= 0 || wanted != LinesWanted::kAll, "a line left out");
      ++next;
    }
    demand(next == found.size(), "more lines than there are");
  }
  return 0;
}
