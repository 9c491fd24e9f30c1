#include "kernels/cached_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/crc32c.h"
#include "kernels/streamed.h"

namespace penstock {

namespace {

constexpr std::size_t kAtOnce = 32;      // rows whose memory is requested before the first is read
constexpr std::size_t kLine = 64;        // bytes of a cache line
constexpr std::size_t kRequested = 512;  // bytes of a row; the processor itself requests what follows

const char* place_of(const MappedLog* logs, std::size_t log_count, std::uint64_t entry) noexcept {
  const std::size_t log = log_of(entry), number = entry & 0xffffffff;
  if (log >= log_count || number == 0 || number > logs[log].count) return nullptr;
  return logs[log].records + (number - 1) * sizeof(LogRecord);
}

// The row's bytes, or null if they cannot be there.
const char* data_of(const MappedLog& log, const LogRecord& record, std::int64_t row, std::int64_t length) noexcept {
  if (record.row != row || (length != kAnyLength && record.length != length) || record.offset < 0) return nullptr;
  if (record.length == 0)
    return reinterpret_cast<const char*>(&log);  // of no bytes, perhaps after the last of the data
  const auto offset = static_cast<std::uint64_t>(record.offset);
  if (offset > log.size || record.length > log.size - offset) return nullptr;
  return log.data + offset;
}

void request(const char* data, std::size_t length) noexcept {
  for (std::size_t at = 0; at < std::min(length, kRequested); at += kLine) __builtin_prefetch(data + at);
}

void copy(char* out, const char* in, std::size_t width, std::size_t count) noexcept {
  if (is_streamed(width, width * count))
    copy_streamed(out, in, width);
  else if (width)
    std::memcpy(out, in, width);
}

bool is_sound(const LogRecord& record, const char* data) noexcept {
  return crc32c(&record, sizeof record - sizeof record.own) == record.own && crc32c(data, record.length) == record.crc;
}

}  // namespace

LookedUp look_up_rows(const std::uint64_t* table, std::size_t length, const std::int64_t* rows, std::size_t count,
                      std::uint64_t* entries) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::uint64_t>(rows[i]);
    entries[i] = row < length ? table[row] : 0;
  }
  LookedUp found;
  std::uint64_t first = 0;
  bool is_one = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t entry = entries[i];
    if (!entry) {
      ++found.missing;
      continue;
    }
    found.unverified += !(entry & kVerified);
    if (!first) first = entry;
    is_one = is_one && form_of(entry) == form_of(first);
  }
  if (first && is_one) found.form = static_cast<std::int64_t>(form_of(first));
  return found;
}

std::size_t copy_cached_rows(const MappedLog* logs, std::size_t log_count, const std::uint64_t* entries,
                             const std::int64_t* rows, std::size_t count, std::int64_t length, const RowPart* parts,
                             std::size_t part_count, std::int64_t* spans, std::uint8_t* ok) noexcept {
  std::size_t bad = 0;
  for (std::size_t low = 0; low < count; low += kAtOnce) {
    const std::size_t high = std::min(low + kAtOnce, count);
    LogRecord records[kAtOnce];
    const char* found[kAtOnce];
    for (std::size_t i = low; i < high; ++i) {
      found[i - low] = place_of(logs, log_count, entries[i]);
      __builtin_prefetch(found[i - low]);
    }
    for (std::size_t i = low; i < high; ++i) {
      const char*& at = found[i - low];
      if (!at) continue;
      LogRecord& record = records[i - low];
      std::memcpy(&record, at, sizeof record);
      at = data_of(logs[log_of(entries[i])], record, rows[i], length);
      if (at) request(at, record.length);
    }
    for (std::size_t i = low; i < high; ++i) {
      const char* const at = found[i - low];
      const LogRecord& record = records[i - low];
      bool sound = at != nullptr;
      for (std::size_t p = 0; sound && p < part_count; ++p) {
        const RowPart& part = parts[p];
        sound = part.start <= record.length && part.width <= record.length - part.start;
        if (sound) copy(part.out + i * part.width, at + part.start, part.width, count);
      }
      if (sound && !(entries[i] & kVerified)) sound = is_sound(record, at);
      if (sound && spans) {
        spans[2 * i] = record.offset;
        spans[2 * i + 1] = record.length;
      }
      ok[i] = sound;
      bad += !sound;
    }
  }
  return bad;
}

void crc32c_rows(const char* rows, std::size_t width, std::size_t count, std::size_t length,
                 std::uint32_t* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) out[i] = crc32c(rows + i * width, length, out[i]);
}

}  // namespace penstock
