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

}  // namespace penstock
