// Whole local files, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// A regular file that is open for reading, or a negative descriptor: what it is and why, the caller may find out.
struct OpenFile {
  int descriptor = -1;
  std::int64_t size = 0;  // bytes when it was opened
};

// Opens each of `paths` that is a regular file which is not empty. Others (a pipe, a folder, nothing) are not opened.
void open_files(const char* const* paths, std::size_t count, OpenFile* files) noexcept;

// Reads `size` bytes of the file into memory given for them; false if there were fewer or reading failed.
bool read_whole(const OpenFile& file, char* into) noexcept;

void close_file(OpenFile& file) noexcept;

// Has the system begin to read the whole of each of `paths` that is a regular file, without waiting for it.
void advise_files(const char* const* paths, std::size_t count) noexcept;

// The same of some ranges of one file, `begins[i]` to `ends[i]`; what lies outside of the file is left out.
void advise_ranges(const char* path, const std::int64_t* begins, const std::int64_t* ends, std::size_t count) noexcept;

// Bytes that the system is told of at a time: of a longer range it reads no more than a device's `read_ahead_kb`, which
// is rarely less than this, and forgets the rest.
inline constexpr std::int64_t kAdvised = 128 << 10;

}  // namespace penstock
