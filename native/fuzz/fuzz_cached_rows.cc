// Any bytes may be a log and its data, and any words entries: a row is copied from within them, or is not sound.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/cached_rows.h"
#include "kernels/crc32c.h"

using namespace penstock;
using penstock::fuzz::Choices;
using penstock::fuzz::demand;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  Choices choices(input, size);
  const std::size_t data_size = static_cast<std::size_t>(choices.below(300)), count = 1 + choices.byte() % 8;
  const auto data = std::make_unique<char[]>(data_size);  // not a byte more than there is
  const auto records = std::make_unique<LogRecord[]>(count);
  for (std::size_t i = 0; i < data_size; ++i) data[i] = static_cast<char>(i);
  for (std::size_t i = 0; i < count; ++i) {
    LogRecord& record = records[i];
    record = {choices.number(), choices.number(), static_cast<std::uint32_t>(choices.number()), 0, 0, 0};
    const bool fits = record.offset >= 0 && static_cast<std::size_t>(record.offset) <= data_size &&
                      record.length <= data_size - static_cast<std::size_t>(record.offset);
    if (fits) record.crc = crc32c(data.get() + record.offset, record.length);
    record.own = crc32c(&record, 28) ^ (choices.byte() == 7);
  }
  const MappedLog log{reinterpret_cast<const char*>(records.get()), count, data.get(), data_size};
  const std::size_t rows_count = static_cast<std::size_t>(choices.below(80));
  std::vector<std::uint64_t> entries(rows_count);
  std::vector<std::int64_t> rows(rows_count), spans(2 * rows_count);
  for (std::size_t i = 0; i < rows_count; ++i) {
    entries[i] = static_cast<std::uint64_t>(choices.number()) | (choices.byte() % 2 ? kVerified : 0);
    rows[i] = choices.byte() % 4 ? records[static_cast<std::size_t>(choices.byte()) % count].row : choices.number();
  }
  const std::size_t start = static_cast<std::size_t>(choices.number()),
                    width = static_cast<std::size_t>(choices.byte());
  std::vector<char> out(rows_count * width);
  std::vector<std::uint8_t> ok(rows_count);
  const RowPart part{start, width, out.data()};
  const std::int64_t length = choices.byte() % 2 ? kAnyLength : choices.number();
  const std::size_t bad =
      copy_cached_rows(&log, 1, entries.data(), rows.data(), rows_count, length, &part, 1, spans.data(), ok.data());
  demand(bad == static_cast<std::size_t>(std::count(ok.begin(), ok.end(), 0)), "another number of bad rows");
  for (std::size_t i = 0; i < rows_count; ++i) {
    if (!ok[i]) continue;
    demand(spans[2 * i + 1] == 0 || static_cast<std::size_t>(spans[2 * i] + spans[2 * i + 1]) <= data_size,
           "a row outside of the data");
    demand(!width || !std::memcmp(out.data() + i * width, data.get() + spans[2 * i] + start, width), "other bytes");
  }
  const std::vector<std::uint64_t> table(entries);
  const LookedUp found = look_up_rows(table.data(), table.size(), rows.data(), rows_count, entries.data());
  demand(found.missing <= rows_count && found.unverified <= rows_count, "more rows than there are");
  return 0;
}
