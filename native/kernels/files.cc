#include "kernels/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock {

namespace {

OpenFile open_file(const char* path) noexcept {
  struct stat status;
  if (::stat(path, &status) || !S_ISREG(status.st_mode)) return {};  // opening a pipe would wait for a writer
  OpenFile file{::open(path, O_RDONLY | O_CLOEXEC)};
  if (file.descriptor < 0) return {};
  if (::fstat(file.descriptor, &status) || status.st_size <= 0) {
    close_file(file);
    return {};
  }
  file.size = status.st_size;
  return file;
}

void advise_range([[maybe_unused]] const OpenFile& file, std::int64_t begin, std::int64_t end) noexcept {
#ifdef POSIX_FADV_WILLNEED
  end = std::min(end, file.size);
  for (begin = std::max<std::int64_t>(begin, 0); begin < end; begin += kAdvised)
    ::posix_fadvise(file.descriptor, begin, std::min(kAdvised, end - begin), POSIX_FADV_WILLNEED);
#endif
}

}  // namespace

void open_files(const char* const* paths, std::size_t count, OpenFile* files) noexcept {
  for (std::size_t i = 0; i < count; ++i) files[i] = paths[i] ? open_file(paths[i]) : OpenFile{};
}

bool read_whole(const OpenFile& file, char* into) noexcept {
  std::int64_t done = 0;
  while (done < file.size) {
    const ssize_t got = ::read(file.descriptor, into + done, static_cast<std::size_t>(file.size - done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += got;
  }
  return true;
}

void close_file(OpenFile& file) noexcept {
  if (file.descriptor >= 0) ::close(file.descriptor);
  file.descriptor = -1;
}

void advise_files(const char* const* paths, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    OpenFile file = paths[i] ? open_file(paths[i]) : OpenFile{};
    if (file.descriptor >= 0) advise_range(file, 0, file.size);
    close_file(file);
  }
}

void advise_ranges(const char* path, const std::int64_t* begins, const std::int64_t* ends, std::size_t count) noexcept {
  OpenFile file = path ? open_file(path) : OpenFile{};
  for (std::size_t i = 0; i < count && file.descriptor >= 0; ++i) advise_range(file, begins[i], ends[i]);
  close_file(file);
}

}  // namespace penstock
