#include "kernels/tar.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "kernels/guard.h"

namespace penstock {

namespace {

using Status = TarOutcome::Status;

constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kRecord = 20 * kBlock;                                 // the usual unit of archive sizes
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;  // bytes of a member; sums do not overflow

// The places of the fields of a header.
constexpr std::size_t kNameSize = 100, kSizeAt = 124, kSizeSize = 12, kChecksumAt = 148, kChecksumSize = 8;
constexpr std::size_t kTypeAt = 156, kMagicAt = 257, kPrefixAt = 345, kPrefixSize = 155;

bool is_zero(const unsigned char* at, std::int64_t size) noexcept {
  return std::all_of(at, at + size, [](unsigned char byte) { return byte == 0; });
}

std::size_t length_of(const unsigned char* text, std::size_t most) noexcept {
  const void* const end = std::memchr(text, 0, most);
  return end ? static_cast<std::size_t>(static_cast<const unsigned char*>(end) - text) : most;
}

// Reads a number in octal digits, or in binary if the first bit is set.
bool read_number(const unsigned char* at, std::size_t width, std::int64_t& value) noexcept {
  value = 0;
  if (*at & 0x80) {
    if (*at & 0x7f) return false;  // negative, or far too large
    for (std::size_t i = 1; i < width; ++i) {
      if (value > kMost >> 8) return false;
      value = value << 8 | at[i];
    }
    return true;
  }
  std::size_t i = 0;
  while (i < width && at[i] == ' ') ++i;
  for (; i < width && at[i] >= '0' && at[i] <= '7'; ++i) value = value << 3 | (at[i] - '0');  // 36 bits at most
  return i == width || at[i] == ' ' || at[i] == 0;
}

// The sum of the bytes, with the checksum itself counted as spaces; old programs used signed bytes.
bool has_checksum(const unsigned char* head) noexcept {
  std::int64_t told;
  if (!read_number(head + kChecksumAt, kChecksumSize, told)) return false;
  std::uint32_t sum = 0, high = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    sum += head[i];
    high += head[i] >> 7;
  }
  for (std::size_t i = kChecksumAt; i < kChecksumAt + kChecksumSize; ++i) {
    sum += ' ' - head[i];
    high -= head[i] >> 7;
  }
  return told == sum || told == static_cast<std::int64_t>(sum) - 256 * static_cast<std::int64_t>(high);
}

struct Text {
  const unsigned char* data = nullptr;
  std::size_t size = 0;
};

// The values of extended headers for the next member.
struct Extended {
  Text path;
  std::int64_t size = -1;
  bool is_sparse = false;
};

bool read_decimal(Text text, std::int64_t& value) noexcept {
  value = 0;
  for (std::size_t i = 0; i < text.size; ++i) {
    if (text.data[i] < '0' || text.data[i] > '9' || value > kMost / 16) return false;
    value = value * 10 + (text.data[i] - '0');
  }
  return text.size > 0;
}

bool begins_with(Text text, std::string_view start) noexcept {
  return text.size >= start.size() && std::memcmp(text.data, start.data(), start.size()) == 0;
}

bool is(Text text, std::string_view other) noexcept { return text.size == other.size() && begins_with(text, other); }

// Parses lines of "LENGTH KEY=VALUE\n", where LENGTH is that of the whole line.
bool read_pax(const unsigned char* at, std::int64_t size, Extended& extended) noexcept {
  while (size > 0) {
    if (*at == 0) return is_zero(at, size);  // some writers count the padding
    const auto* const space = static_cast<const unsigned char*>(
        std::memchr(at, ' ', static_cast<std::size_t>(std::min<std::int64_t>(size, 20))));
    std::int64_t length;
    if (!space || !read_decimal({at, static_cast<std::size_t>(space - at)}, length)) return false;
    const std::int64_t lead = space + 1 - at;
    if (length <= lead || length > size || at[length - 1] != '\n') return false;
    const auto* const equals =
        static_cast<const unsigned char*>(std::memchr(space + 1, '=', static_cast<std::size_t>(length - 1 - lead)));
    if (!equals) return false;
    const Text key{space + 1, static_cast<std::size_t>(equals - space - 1)};
    const Text value{equals + 1, static_cast<std::size_t>(at + length - 1 - (equals + 1))};
    if (is(key, "path")) extended.path = value;
    if (is(key, "size") && !read_decimal(value, extended.size)) return false;
    if (begins_with(key, "GNU.sparse.") || is(key, "SCHILY.realsize")) extended.is_sparse = true;
    at += length;
    size -= length;
  }
  return true;
}

// The current member: its headers, from the first extended one on.
class Member {
 public:
  Member(const unsigned char* data, std::int64_t size, bool whole, std::int64_t position) noexcept
      : data_(data), size_(size), whole_(whole), at_(position) {}

  // Reads the headers; returns kMore on success.
  Status read() noexcept {
    for (;;) {
      if (!has(at_ + kBlock)) return Status::kShort;
      head_ = data_ + at_;
      if (!has_checksum(head_)) return Status::kBadHeader;
      std::int64_t length;
      if (!read_number(head_ + kSizeAt, kSizeSize, length)) return Status::kBadSize;
      const unsigned char kind = head_[kTypeAt];
      const bool is_extended = kind == 'x' || kind == 'X' || kind == 'g' || kind == 'L' || kind == 'K';
      if (!is_extended) return read_last(kind, length);
      begin_ = at_ + kBlock;
      at_ = padded(begin_ + length);
      if (!has(whole_ ? begin_ + length : at_)) return Status::kShort;
      const Status status = read_extended(kind, data_ + begin_, length);
      if (status != Status::kMore) return status;
    }
  }

  std::int64_t begin() const noexcept { return begin_; }
  std::int64_t end() const noexcept { return end_; }
  std::int64_t next() const noexcept { return at_; }
  std::int64_t needed() const noexcept { return needed_; }
  // Returns the kind of a skipped member, or -1 for a regular file.
  int skipped() const noexcept { return skipped_; }
  bool is_folder() const noexcept { return is_folder_; }

  // Writes the name to memory of kLongestTarName bytes; returns 0 without a valid name.
  std::size_t write_name(unsigned char* into) const noexcept {
    Text name = extended_.path;
    Text prefix;
    if (!name.size) {
      name = {head_, length_of(head_, kNameSize)};
      if (std::memcmp(head_ + kMagicAt, "ustar", 6) == 0)  // with its zero: GNU's has a space there, and no prefix
        prefix = {head_ + kPrefixAt, length_of(head_ + kPrefixAt, kPrefixSize)};
    }
    const std::size_t lead = prefix.size ? prefix.size + 1 : 0;
    if (!name.size || lead + name.size > kLongestTarName || std::memchr(name.data, 0, name.size)) return 0;
    if (lead) {
      std::memcpy(into, prefix.data, prefix.size);
      into[prefix.size] = '/';
    }
    std::memcpy(into + lead, name.data, name.size);
    return lead + name.size;
  }

 private:
  bool has(std::int64_t end) noexcept {
    needed_ = end;
    return end <= size_;
  }

  static std::int64_t padded(std::int64_t end) noexcept { return (end + kBlock - 1) / kBlock * kBlock; }

  Status read_extended(unsigned char kind, const unsigned char* at, std::int64_t length) noexcept {
    if (kind == 'L') extended_.path = {at, length_of(at, static_cast<std::size_t>(length))};
    if (kind == 'x' || kind == 'X') {
      if (!read_pax(at, length, extended_)) return Status::kBadExtension;
    } else if (kind == 'g') {
      Extended of_all;
      if (!read_pax(at, length, of_all)) return Status::kBadExtension;
      if (of_all.path.size || of_all.size >= 0 || of_all.is_sparse) return Status::kGlobalHeader;
    }
    return Status::kMore;
  }

  Status read_last(unsigned char kind, std::int64_t length) noexcept {
    begin_ = at_ + kBlock;
    if (kind == 'S' || extended_.is_sparse) return Status::kSparse;
    if (kind == 'M') return Status::kParted;
    if (extended_.size >= 0) length = extended_.size;
    bool has_content = true;
    if (kind == '1' || kind == '2') skipped_ = 0;
    if (kind == '3' || kind == '4' || kind == '6') skipped_ = 1;
    if (kind == '5') is_folder_ = true;
    if (skipped_ >= 0 || is_folder_) has_content = false;
    if (has_content && kind != '0' && kind != 0 && kind != '7') skipped_ = 2;
    end_ = begin_ + (has_content ? length : 0);
    at_ = padded(end_);
    if (!has(whole_ ? end_ : at_)) return Status::kShort;
    at_ = std::min(at_, size_);  // the padding of the last member may be missing
    return Status::kMore;
  }

  const unsigned char* const data_;
  const std::int64_t size_;
  const bool whole_;
  std::int64_t at_;
  const unsigned char* head_ = nullptr;
  Extended extended_;
  std::int64_t begin_ = 0, end_ = 0, needed_ = 0;
  int skipped_ = -1;
  bool is_folder_ = false;
};

// The data and progress of the guarded body.
struct Scanning {
  const unsigned char* data;
  std::int64_t size;
  bool whole;
  std::int64_t position, origin;
  const TarMembers* members;
  TarOutcome outcome;
};

// Returns whether blocks of zeros between two members may be the end of an archive with another joined to it. If the
// last archive is filled up, so are the others.
bool may_join(const Scanning& work, std::int64_t begin, std::int64_t end) noexcept {
  if ((work.origin + end) % kRecord == 0) return true;
  const bool is_filled =
      work.whole && work.size >= 3 * kBlock && is_zero(work.data + work.size - 3 * kBlock, 3 * kBlock);
  return end - begin == 2 * kBlock && !is_filled;
}

// Skips zeros up to a header, and returns kMore; otherwise returns the status of a valid or invalid end.
Status find_header(const Scanning& work, std::int64_t& position) noexcept {
  const std::int64_t begin = position;
  while (work.size - position >= kBlock && is_zero(work.data + position, kBlock)) position += kBlock;
  const std::int64_t left = work.size - position;
  if (left >= kBlock || !is_zero(work.data + position, left)) {
    if (position == begin || may_join(work, begin, position)) return Status::kMore;
    position = begin;
    return Status::kZeroed;
  }
  if (!work.whole) return Status::kEnd;
  if (begin == work.size) return Status::kNoEnd;
  position = work.size;
  return Status::kEnd;
}

void scan(void* context) noexcept {
  auto& work = *static_cast<Scanning*>(context);
  const TarMembers& members = *work.members;
  TarOutcome& outcome = work.outcome;
  std::size_t named = 0;
  outcome.position = work.position;
  while (outcome.status == Status::kMore) {
    outcome.status = find_header(work, outcome.position);
    if (outcome.status != Status::kMore) return;
    if (outcome.count == members.capacity || members.names_capacity - named < kLongestTarName) return;
    Member member(work.data, work.size, work.whole, outcome.position);
    outcome.status = member.read();
    outcome.needed = member.needed();
    const bool has_header = outcome.status != Status::kShort && outcome.status != Status::kBadHeader;
    const std::size_t name_size = has_header ? member.write_name(members.names + named) : 0;
    if (outcome.status != Status::kMore) {
      outcome.name_size = name_size;
      return;
    }
    const bool is_file = member.skipped() < 0 && !member.is_folder();
    if (is_file && !name_size) {
      outcome.status = Status::kBadName;
      return;
    }
    if (member.skipped() >= 0) ++members.skipped[member.skipped()];
    if (is_file && members.names[named + name_size - 1] != '/') {  // the first tar stored folders as files
      members.heads[outcome.count] = outcome.position;
      members.begins[outcome.count] = member.begin();
      members.ends[outcome.count] = member.end();
      members.name_ends[outcome.count++] = static_cast<std::int64_t>(named += name_size);
    }
    outcome.position = member.next();
  }
}

}  // namespace

TarOutcome scan_tar(const unsigned char* data, std::int64_t size, bool whole, std::int64_t position,
                    const TarMembers& members, std::int64_t origin) noexcept {
  Scanning work{data, size, whole, position, origin, &members, {}};
  if (!guarded(scan, &work)) return {Status::kTruncated};
  return work.outcome;
}

TarGroups::Status TarGroups::add(const unsigned char* names, const std::int64_t* name_ends, std::size_t count,
                                 std::int32_t* extensions, unsigned char* begins_sample, unsigned char* keys,
                                 std::int64_t* key_ends, std::size_t& failed) {
  std::size_t begin = 0, keys_end = 0, samples = 0;
  std::string extension;
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = static_cast<std::size_t>(name_ends[i]);
    const std::string_view name(reinterpret_cast<const char*>(names) + begin, end - begin);
    begin = end;
    failed = i;
    extensions[i] = -1;
    begins_sample[i] = 0;
    const std::size_t file = name.rfind('/') + 1;  // npos + 1 is 0
    const std::size_t dot = name.find('.', file);
    if (dot == std::string_view::npos || dot == file || dot + 1 == name.size()) continue;
    extension.assign(name.substr(dot + 1));
    for (char& letter : extension)
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    const auto [found, is_new] = numbers_.try_emplace(extension, static_cast<std::int32_t>(names_.size()));
    if (is_new) {
      names_.push_back(extension);
      last_sample_.push_back(0);
    }
    if (names_.size() > kMostExtensions) return Status::kTooManyExtensions;
    const std::string_view key = name.substr(0, dot);
    if (!sample_ || key != key_) {
      begins_sample[i] = 1;
      key_ = key;
      ++sample_;
      std::memcpy(keys + keys_end, key.data(), key.size());
      key_ends[samples++] = static_cast<std::int64_t>(keys_end += key.size());
    }
    std::int64_t& last = last_sample_[static_cast<std::size_t>(found->second)];
    if (last == sample_) return Status::kTwice;
    last = sample_;
    extensions[i] = found->second;
  }
  return Status::kOk;
}

}  // namespace penstock
