// Cached rows: copied from memory that holds not a byte more; missing, damaged and verified ones.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cached_rows.h"
#include "kernels/crc32c.h"
#include "kernels/streamed.h"
#include "tests/check.h"

using namespace penstock;

namespace {

constexpr std::size_t kWidth = 200;

LogRecord record_of(std::int64_t row, std::int64_t offset, const char* data, std::size_t length) {
  LogRecord record{row, offset, static_cast<std::uint32_t>(length), 0, crc32c(data, length), 0};
  record.own = crc32c(&record, 28);
  return record;
}

// A log of rows 100, 101, ..., each of kWidth bytes.
struct Cache {
  explicit Cache(std::size_t count) : records(new LogRecord[count]), data(new char[count * kWidth]) {
    for (std::size_t i = 0; i < count * kWidth; ++i) data[i] = static_cast<char>(i * 31 + i / 251);
    for (std::size_t i = 0; i < count; ++i)
      records[i] = record_of(static_cast<std::int64_t>(100 + i), static_cast<std::int64_t>(i * kWidth),
                             data.get() + i * kWidth, kWidth);
    log = {reinterpret_cast<const char*>(records.get()), count, data.get(), count * kWidth};
  }
  std::unique_ptr<LogRecord[]> records;
  std::unique_ptr<char[]> data;
  MappedLog log;
};

void copies_parts() {
  const Cache cache(100);
  std::vector<std::int64_t> rows;
  std::vector<std::uint64_t> entries;
  for (std::size_t i = 0; i < 70; ++i) {
    rows.push_back(static_cast<std::int64_t>(100 + (i * 37) % 100));
    entries.push_back((i * 37) % 100 + 1);
  }
  std::vector<char> head(70 * 3), tail(70 * 7);
  const RowPart parts[] = {{0, 3, head.data()}, {kWidth - 7, 7, tail.data()}};
  std::vector<std::uint8_t> ok(70);
  std::vector<std::int64_t> spans(140);
  CHECK(copy_cached_rows(&cache.log, 1, entries.data(), rows.data(), 70, kWidth, parts, 2, spans.data(), ok.data()) ==
        0);
  for (std::size_t i = 0; i < 70; ++i) {
    const std::size_t at = static_cast<std::size_t>(rows[i] - 100) * kWidth;
    CHECK(ok[i] == 1 && spans[2 * i] == static_cast<std::int64_t>(at) && spans[2 * i + 1] == kWidth);
    CHECK(!std::memcmp(&head[3 * i], cache.data.get() + at, 3));
    CHECK(!std::memcmp(&tail[7 * i], cache.data.get() + at + kWidth - 7, 7));
  }
}

// A batch that is written past the caches: its rows are verified all the same.
void copies_a_large_batch() {
  constexpr std::size_t kCount = kStreamedBatch / kStreamedRow;
  std::vector<char> data(kStreamedRow), out(kCount * kStreamedRow);
  for (std::size_t i = 0; i < kStreamedRow; ++i) data[i] = static_cast<char>(i * 31 + i / 251);
  const LogRecord record = record_of(5, 0, data.data(), kStreamedRow);
  const MappedLog log{reinterpret_cast<const char*>(&record), 1, data.data(), kStreamedRow};
  const std::vector<std::uint64_t> entries(kCount, 1);
  const std::vector<std::int64_t> rows(kCount, 5);
  const RowPart part{0, kStreamedRow, out.data()};
  std::vector<std::uint8_t> ok(kCount);
  const auto bad = [&] {
    return copy_cached_rows(&log, 1, entries.data(), rows.data(), kCount, kStreamedRow, &part, 1, nullptr, ok.data());
  };
  CHECK(bad() == 0);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(!std::memcmp(&out[i * kStreamedRow], data.data(), kStreamedRow));
  data[kStreamedRow - 1] ^= 1;
  CHECK(bad() == kCount);
}

bool is_sound(const Cache& cache, std::uint64_t entry, std::int64_t row, std::int64_t length = kAnyLength) {
  std::uint8_t ok = 2;
  copy_cached_rows(&cache.log, 1, &entry, &row, 1, length, nullptr, 0, nullptr, &ok);
  CHECK(ok <= 1);
  return ok;
}

void refuses_what_is_not_there() {
  Cache cache(3);
  CHECK(is_sound(cache, 3, 102) && is_sound(cache, 3, 102, kWidth));
  CHECK(!is_sound(cache, 0, 102) && !is_sound(cache, 4, 103) && !is_sound(cache, std::uint64_t{1} << 32 | 3, 102));
  CHECK(!is_sound(cache, 3, 101) && !is_sound(cache, 3, 102, kWidth - 1));
  cache.data[2 * kWidth] ^= 1;
  CHECK(!is_sound(cache, 3, 102) && is_sound(cache, kVerified | 3, 102));
  cache.log.size -= 1;
  CHECK(!is_sound(cache, kVerified | 3, 102));
  cache.records[1].form ^= 1;
  CHECK(!is_sound(cache, 2, 101));
  cache.records[0].offset = -1;
  CHECK(!is_sound(cache, kVerified | 1, 100));
  cache.records[0].offset = INT64_MAX;
  CHECK(!is_sound(cache, kVerified | 1, 100));
}

void a_row_of_no_bytes_needs_no_data() {
  Cache cache(1);
  cache.records[0] = record_of(100, 1 << 20, nullptr, 0);
  cache.log.data = nullptr;
  cache.log.size = 0;
  CHECK(is_sound(cache, 1, 100));
  cache.records[0] = {};
  CHECK(!is_sound(cache, 1, 0));
}

void looks_up() {
  const std::vector<std::uint64_t> table = {kVerified | 5, 0, std::uint64_t{3} << 52 | 1, std::uint64_t{3} << 52 | 2};
  std::vector<std::uint64_t> entries(4);
  const std::int64_t rows[] = {3, 1, 2, 4};
  LookedUp found = look_up_rows(table.data(), 4, rows, 4, entries.data());
  CHECK(found.missing == 2 && found.unverified == 2 && found.form == 3 && entries[0] == table[3] && entries[3] == 0);
  const std::int64_t others[] = {0, 2, -1, INT64_MIN};
  found = look_up_rows(table.data(), 4, others, 4, entries.data());
  CHECK(found.missing == 2 && found.unverified == 1 && found.form == -1);
}

}  // namespace

int main() {
  copies_parts();
  copies_a_large_batch();
  refuses_what_is_not_there();
  a_row_of_no_bytes_needs_no_data();
  looks_up();
  std::uint32_t sums[2] = {0, 0};
  crc32c_rows("ab__ab__", 4, 2, 2, sums);
  crc32c_rows("cc", 1, 2, 1, sums);
  CHECK(sums[0] == 0x364b3fb7 && sums[1] == sums[0]);
}
