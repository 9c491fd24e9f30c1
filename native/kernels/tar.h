// The members of tar archives: the places of their contents, and the members of each sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace penstock {

// The longest supported name of a member, in bytes.
inline constexpr std::size_t kLongestTarName = std::size_t{1} << 16;

// Memory for the results of a scan. For member i: the begin of its first header, its content from begins[i] to ends[i],
// its name in `names` from the end of the name before to name_ends[i].
struct TarMembers {
  std::int64_t* heads;
  std::int64_t* begins;
  std::int64_t* ends;
  std::int64_t* name_ends;
  std::size_t capacity;
  unsigned char* names;
  std::size_t names_capacity;  // at least kLongestTarName
  std::int64_t* skipped;       // links, devices and pipes, others: counted up
};

struct TarOutcome {
  enum class Status : int {
    kMore,  // the memory is full; continue from `position`
    kEnd,
    kTruncated,     // the file shrank while it was read
    kShort,         // the bytes end inside the member at `position`, which extends to `needed`
    kBadHeader,     // its checksum is wrong: no header, or a damaged one
    kBadSize,       // its size is invalid or negative
    kBadExtension,  // its extended header (pax) is invalid
    kBadName,       // its name is empty, has a zero byte or is longer than kLongestTarName
    kSparse,        // it is sparse: its content is not stored as it is
    kParted,        // it is a part of a member that continues in another archive
    kGlobalHeader,  // a global header gives all members one name or size
    kZeroed,        // from `position` on there are zeros that end no archive, and then more members
    kNoEnd,         // the whole archive ends at `position` without the zeros that mark its end
  };
  Status status = Status::kMore;
  std::size_t count = 0;  // members written
  std::int64_t position = 0;
  std::int64_t needed = 0;
  std::size_t name_size = 0;  // of the bad member, whose name is in `names` after the others
};

// The regular members of an archive (v7, ustar, GNU and pax), from the header at `position` on. Joined archives are
// read to the end: zeros between two members are skipped if they may be the end of an archive, that is two blocks, or a
// fill up to a multiple of 10 KiB. Bytes that are not the `whole` archive are a part that begins at byte `origin`.
TarOutcome scan_tar(const unsigned char* data, std::int64_t size, bool whole, std::int64_t position,
                    const TarMembers& members, std::int64_t origin = 0) noexcept;

// The keys of the samples of an archive: that of sample k extends from the end of the one before to ends[k].
struct TarKeys {
  const unsigned char* text;
  std::size_t size;
  const std::int64_t* ends;
  std::size_t count;
};

// Returns the bounds of the key of a sample, one of `count`, in the text. A key outside the text is empty: the memory
// may be of a truncated file, which the reader checks afterwards.
inline void key_span(const TarKeys& keys, std::size_t sample, std::size_t& begin, std::size_t& end) noexcept {
  const std::int64_t first = sample ? keys.ends[sample - 1] : 0, last = keys.ends[sample];
  const bool is_within = first >= 0 && first <= last && static_cast<std::uint64_t>(last) <= keys.size;
  begin = is_within ? static_cast<std::size_t>(first) : 0;
  end = is_within ? static_cast<std::size_t>(last) : 0;
}

// Groups consecutive members into samples by their names, as in WebDataset: `dir/0001.seg.png` has the key `dir/0001`
// and the extension `seg.png`, in lower case.
class TarGroups {
 public:
  // More extensions than this indicate numbers in names, not kinds of content.
  static constexpr std::size_t kMostExtensions = 4096;
  enum class Status : int { kOk, kTwice, kTooManyExtensions };

  // Finds the number of each member's extension, or -1 for a member of no sample: a name without an extension, or that
  // begins with a dot. `begins_sample[i]` is whether the key differs from that of the previous member of a sample.
  // `keys` has room for all names; the keys of samples that begin here are written to it one after another, their ends
  // to `key_ends`. Returns the status and, unless kOk, `failed`.
  Status add(const unsigned char* names, const std::int64_t* name_ends, std::size_t count, std::int32_t* extensions,
             unsigned char* begins_sample, unsigned char* keys, std::int64_t* key_ends, std::size_t& failed);

  const std::vector<std::string>& extensions() const { return names_; }

 private:
  std::string key_;
  std::int64_t sample_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::int64_t> last_sample_;  // with each extension
};

}  // namespace penstock
