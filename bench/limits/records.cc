// The limit of the `records` workload: TFRecord files to shuffled batches of columns with nothing in between.
//
// Two threads take batches in turn. The records of a batch, at known places, are checked against their CRC-32C and
// walked in the wire format of protocol buffers. Each feature is expected at its place in the record before, and looked
// up otherwise. Each thread reuses its memory; no batch is handed over, and a record that differs from those of the
// workload ends the run.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kFloats = 13, kLists = 17, kFeatures = kFloats + kLists + 1;
constexpr int64_t kNameRoom = 32;  // bytes of a record's name
constexpr int64_t kMostIds = 10;   // in a list
constexpr int64_t kAhead = 4;      // records fetched into the cache before they are read

using Byte = const uint8_t*;

uint32_t crc32c(Byte at, int64_t size) {
  uint64_t crc = 0xffffffff;
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (; size > 0; --size) rest = _mm_crc32_u8(rest, *at++);
  return ~rest;
}

uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8; }

// The memory that a thread writes a batch to.
struct Columns {
  explicit Columns(int64_t batch) {
    for (auto& column : floats) column.resize(batch);
    for (auto& column : ids) column.resize(batch * kMostIds);
    for (auto& column : splits) column.resize(batch + 1);
    names.resize(batch * kNameRoom);
    name_splits.resize(batch + 1);
  }
  std::array<std::vector<float>, kFloats> floats;
  std::array<std::vector<int64_t>, kLists> ids;
  std::array<std::vector<int64_t>, kLists> splits;
  std::vector<char> names;
  std::vector<int64_t> name_splits;
};

// Returns the bytes after a length of one byte or more; null if they do not fit.
inline Byte field(Byte at, Byte end, uint8_t tag, Byte* inner_end) {
  if (end - at < 2 || *at++ != tag) return nullptr;
  uint64_t size = *at++;
  if (size >= 0x80) {
    size &= 0x7f;
    for (int shift = 7;; shift += 7) {
      if (at == end || shift > 28) return nullptr;
      size |= static_cast<uint64_t>(*at & 0x7f) << shift;
      if (*at++ < 0x80) break;
    }
  }
  if (size > static_cast<uint64_t>(end - at)) return nullptr;
  *inner_end = at + size;
  return at;
}

int find(Byte name, int64_t size) {
  if (size == 2 && std::memcmp(name, "id", 2) == 0) return kFeatures - 1;
  if (size != 3) return -1;
  const int number = (name[1] - '0') * 10 + name[2] - '0';
  if (name[0] == 'i' && number >= 0 && number < kFloats) return number;
  return name[0] == 'c' && number >= 0 && number < kLists ? kFloats + number : -1;
}

struct Name {
  std::string text;
  int feature;
};

class Parser {
 public:
  explicit Parser(int64_t batch) : columns(batch) {}

  bool record(Byte at, Byte end, int64_t row) {
    Byte entries_end, entry_end, name_end, value_end, list_end, packed_end;
    if (!(at = field(at, end, 0x0a, &entries_end)) || entries_end != end) return false;
    std::size_t expected = 0;
    for (Byte entry; at != end; at = entry_end, ++expected) {
      if (!(entry = field(at, end, 0x0a, &entry_end))) return false;
      Byte name = field(entry, entry_end, 0x0a, &name_end);
      if (!name) return false;
      const int feature = feature_of(name, name_end - name, expected);
      Byte value = field(name_end, entry_end, 0x12, &value_end);
      if (!value || value_end != entry_end || feature < 0) return false;
      const uint8_t kind = feature < kFloats ? 0x12 : feature == kFeatures - 1 ? 0x0a : 0x1a;
      Byte list = field(value, value_end, kind, &list_end);
      if (!list || list_end != value_end) return false;
      Byte packed = field(list, list_end, 0x0a, &packed_end);
      if (!packed || packed_end != list_end) return false;
      if (!store(feature, packed, packed_end, row)) return false;
    }
    return expected == kFeatures;
  }

  Columns columns;

 private:
  int feature_of(Byte name, int64_t size, std::size_t expected) {
    if (expected < names_.size()) {
      const Name& known = names_[expected];
      if (static_cast<int64_t>(known.text.size()) == size && std::memcmp(known.text.data(), name, size) == 0)
        return known.feature;
    }
    const int feature = find(name, size);
    names_.resize(std::max(names_.size(), expected + 1));
    names_[expected] = {std::string(reinterpret_cast<const char*>(name), size), feature};
    return feature;
  }

  bool store(int feature, Byte at, Byte end, int64_t row) {
    if (feature < kFloats) {
      if (end - at != 4) return false;
      std::memcpy(&columns.floats[feature][row], at, 4);
      return true;
    }
    if (feature == kFeatures - 1) {
      const int64_t start = columns.name_splits[row];
      if (end - at > kNameRoom) return false;
      std::memcpy(columns.names.data() + start, at, end - at);
      columns.name_splits[row + 1] = start + (end - at);
      return true;
    }
    const int list = feature - kFloats;
    int64_t* const begin = columns.ids[list].data();
    int64_t* out = begin + columns.splits[list][row];
    int64_t* const most = out + kMostIds;
    while (at != end) {
      if (out == most) return false;
      uint64_t value = *at & 0x7f;
      for (int shift = 7; *at++ >= 0x80; shift += 7) {
        if (at == end || shift > 63) return false;
        value |= static_cast<uint64_t>(*at & 0x7f) << shift;
      }
      *out++ = static_cast<int64_t>(value);
    }
    columns.splits[list][row + 1] = out - begin;
    return true;
  }

  std::vector<Name> names_;
};

}  // namespace

// Parses `count` records, which begin at `places` (frames: length, its checksum, data, its checksum), in batches. For
// each batch, writes the number of its ids, their sum, and the sum of its numbers. Returns the number of parsed
// records.
extern "C" int64_t records_epoch(int64_t count, int64_t batch, int64_t threads, const uint8_t* const* places,
                                 int64_t* ids, int64_t* sums, double* numbers) {
  std::atomic<int64_t> next{0}, parsed{0};
  const auto work = [&] {
    Parser parser(batch);
    for (;;) {
      const int64_t low = next.fetch_add(1) * batch;
      if (low >= count) return;
      const int64_t high = std::min(low + batch, count);
      for (int64_t i = low; i < high; ++i) {
        if (i + kAhead < high)
          for (int64_t line = 0; line < 768; line += 64) _mm_prefetch(places[i + kAhead] + line, _MM_HINT_T0);
        Byte at = places[i];
        uint64_t size;
        uint32_t crc;
        std::memcpy(&size, at, 8);
        std::memcpy(&crc, at + 12 + size, 4);
        if (masked(crc32c(at + 12, static_cast<int64_t>(size))) != crc) return;
        if (!parser.record(at + 12, at + 12 + size, i - low)) return;
      }
      if (ids) {
        const Columns& made = parser.columns;
        for (int list = 0; list < kLists; ++list) {
          const int64_t total = made.splits[list][high - low];
          ids[low / batch] += total;
          for (int64_t i = 0; i < total; ++i) sums[low / batch] += made.ids[list][i];
        }
        for (const auto& column : made.floats)
          for (int64_t i = 0; i < high - low; ++i) numbers[low / batch] += column[i];
      }
      parsed += high - low;
    }
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return parsed;
}
