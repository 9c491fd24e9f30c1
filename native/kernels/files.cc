#include "kernels/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace penstock {

namespace {

OpenFile open_file(const char* path) noexcept {
  struct stat status;
  if (::stat(path, &status) || !S_ISREG(status.st_mode)) return {};  // opening a pipe would wait for who writes to it
  OpenFile file{::open(path, O_RDONLY | O_CLOEXEC)};
  if (file.descriptor < 0) return {};
  if (::fstat(file.descriptor, &status) || status.st_size <= 0) {
    close_file(file);
    return {};
  }
  file.size = status.st_size;
  return file;
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
#ifdef POSIX_FADV_WILLNEED
    if (file.descriptor >= 0) ::posix_fadvise(file.descriptor, 0, file.size, POSIX_FADV_WILLNEED);
#endif
    close_file(file);
  }
}

}  // namespace penstock
