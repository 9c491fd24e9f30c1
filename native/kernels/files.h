// Whole local files, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// A regular file open for reading, or a negative descriptor, whose reason the caller may find out.
struct OpenFile {
  int descriptor = -1;
  std::int64_t size = 0;  // bytes when opened
};

// Opens each of `paths` that is a nonempty regular file. Others (a pipe, a folder, nothing) are not opened.
void open_files(const char* const* paths, std::size_t count, OpenFile* files) noexcept;

// Reads `size` bytes of the file into the given memory; returns false if there were fewer or reading failed.
bool read_whole(const OpenFile& file, char* into) noexcept;

void close_file(OpenFile& file) noexcept;

// Asks the system to begin to read each of `paths` that is a regular file, without waiting.
void advise_files(const char* const* paths, std::size_t count) noexcept;

// The same for ranges of one file, `begins[i]` to `ends[i]`, limited to the file.
void advise_ranges(const char* path, const std::int64_t* begins, const std::int64_t* ends, std::size_t count) noexcept;

// Bytes requested at a time: of a longer range the system reads at most a device's `read_ahead_kb`, which is rarely
// less than this, and ignores the rest.
inline constexpr std::int64_t kAdvised = 128 << 10;

}  // namespace penstock
