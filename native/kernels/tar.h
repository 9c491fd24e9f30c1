// The members of tar archives: where their content lies, and which belong together as one sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace penstock {

// The longest name of a member that is taken, in bytes.
inline constexpr std::size_t kLongestTarName = std::size_t{1} << 16;

// Memory for what a scan finds. Of member i: where its first header begins, its content from begins[i] to ends[i], its
// name in `names` from where that of the member before ends to name_ends[i].
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
    kMore,  // the memory is used up; go on from `position`
    kEnd,
    kTruncated,     // the file has shrunk while it was read
    kShort,         // the bytes end inside of the member at `position`; it takes those up to `needed`
    kBadHeader,     // its checksum is wrong: no header, or a damaged one
    kBadSize,       // its size is no number, or negative
    kBadExtension,  // an extended header of it (pax) is not as it should be
    kBadName,       // its name is empty, has a zero byte or is longer than kLongestTarName
    kSparse,        // it is sparse: its content is not there as it is
    kParted,        // it is a part of a member that goes on in another archive
    kGlobalHeader,  // a global header gives all members one name or size
    kZeroed,        // from `position` on there are zeros that end no archive, and then more members
    kNoEnd,         // the whole archive ends at `position` without the zeros that mark its end
  };
  Status status = Status::kMore;
  std::size_t count = 0;  // members written
  std::int64_t position = 0;
  std::int64_t needed = 0;
  std::size_t name_size = 0;  // of the member at fault, whose name lies in `names` after those of the others
};

// The regular members of an archive (v7, ustar, GNU and pax), from the header at `position` on. Archives that were
// joined are read to the end: zeros between two members are passed over where they may be the end of an archive, that
// is two blocks, or as many as fill it up to a multiple of 10 KiB. Bytes that are not the `whole` archive are a part of
// it that begins `origin` bytes after its beginning.
TarOutcome scan_tar(const unsigned char* data, std::int64_t size, bool whole, std::int64_t position,
                    const TarMembers& members, std::int64_t origin = 0) noexcept;

// The keys of the samples of an archive: that of sample k goes from where the one before ends to ends[k].
struct TarKeys {
  const unsigned char* text;
  std::size_t size;
  const std::int64_t* ends;
  std::size_t count;
};

// Where the key of a sample, one of `count`, begins and ends in the text. One that does not lie in it is empty: memory
// may be that of a file which was cut short, and who has read asks about that afterwards.
inline void key_span(const TarKeys& keys, std::size_t sample, std::size_t& begin, std::size_t& end) noexcept {
  const std::int64_t first = sample ? keys.ends[sample - 1] : 0, last = keys.ends[sample];
  const bool is_within = first >= 0 && first <= last && static_cast<std::uint64_t>(last) <= keys.size;
  begin = is_within ? static_cast<std::size_t>(first) : 0;
  end = is_within ? static_cast<std::size_t>(last) : 0;
}

// Groups members that follow one another into samples by their names, as WebDataset does: of `dir/0001.seg.png` the key
// is `dir/0001` and the extension, in small letters, `seg.png`.
class TarGroups {
 public:
  // More extensions than this are not kinds of content, but numbers in names.
  static constexpr std::size_t kMostExtensions = 4096;
  enum class Status : int { kOk, kTwice, kTooManyExtensions };

  // For each member the number of its extension, or -1 where it belongs to no sample: its name has no extension, or
  // begins with a dot. `begins_sample[i]` says whether its key is another than that of the member before it that
  // belongs to one. `keys` has room for all names; the keys of samples that begin here are written to it one after
  // another, their ends to `key_ends`. Returns the status and, where it is not kOk, `failed`.
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
