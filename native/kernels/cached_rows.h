// Rows of a cache: found by the records of its logs, copied out of its mapped files, and verified by checksums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// A record of a log: the place of one row in the data file of the same writer. All zeros are no valid record.
struct LogRecord {
  std::int64_t row, offset;
  std::uint32_t length, form;
  std::uint32_t crc;  // CRC-32C of the row's bytes
  std::uint32_t own;  // CRC-32C of the record up to here
};
static_assert(sizeof(LogRecord) == 32);

// The mapped files of one writer: `count` records, anywhere in memory, and `size` bytes of data.
struct MappedLog {
  const char* records = nullptr;
  std::size_t count = 0;
  const char* data = nullptr;
  std::size_t size = 0;
};

// Bytes `start` to `start + width` of row i go to `out + i * width`.
struct RowPart {
  std::size_t start, width;
  char* out;
};

// An entry of the table of rows: the number of the record in its log, from 1, the log's number, the form's number, and
// whether this process has verified the row before. A missing row has 0.
inline constexpr std::uint64_t kVerified = std::uint64_t{1} << 63;
inline constexpr std::size_t log_of(std::uint64_t entry) { return entry >> 32 & 0xfffff; }

inline constexpr std::uint64_t form_of(std::uint64_t entry) { return entry >> 52 & 0x7ff; }

struct LookedUp {
  std::size_t missing = 0, unverified = 0;
  std::int64_t form = -1;  // of all rows that are there, or -1
};

// entries[i] = table[rows[i]], or 0 for a row outside.
LookedUp look_up_rows(const std::uint64_t* table, std::size_t length, const std::int64_t* rows, std::size_t count,
                      std::uint64_t* entries) noexcept;

inline constexpr std::int64_t kAnyLength = -1;

// Copies the parts of each row, and sets ok[i] to 1 if the row is sound: its record is there, of rows[i] and of this
// `length`, its bytes are in the data, and, unless verified before, both have their checksums. The parts of other rows
// are unspecified. With `spans`, spans[2i] and spans[2i + 1] are the offset and length of a sound row. Returns the
// number of rows that are not sound. Entries may be any words, and files any bytes.
std::size_t copy_cached_rows(const MappedLog* logs, std::size_t log_count, const std::uint64_t* entries,
                             const std::int64_t* rows, std::size_t count, std::int64_t length, const RowPart* parts,
                             std::size_t part_count, std::int64_t* spans, std::uint8_t* ok) noexcept;

// Continues out[i], the CRC-32C of the bytes before (0 at the beginning), over the first `length` bytes of row i, where
// a row has `width` bytes.
void crc32c_rows(const char* rows, std::size_t width, std::size_t count, std::size_t length,
                 std::uint32_t* out) noexcept;

}  // namespace penstock
