#include "kernels/mapped.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/files.h"
#include "kernels/fork_lock.h"

namespace penstock {

namespace {

const std::int64_t kPage = ::sysconf(_SC_PAGESIZE);
constexpr std::int64_t kAsked = 1024;  // pages asked for in one call

std::int64_t in_ns(const struct timespec& time) noexcept {
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

#ifdef __APPLE__
std::int64_t mtime_of(const struct stat& status) noexcept { return in_ns(status.st_mtimespec); }
constexpr clockid_t kClock = CLOCK_MONOTONIC;
#else
std::int64_t mtime_of(const struct stat& status) noexcept { return in_ns(status.st_mtim); }
constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;  // read in a few ns
#endif

}  // namespace

MappedFile::MappedFile(const char* path) noexcept {
  struct stat status;
  if (::stat(path, &status)) {
    error_ = errno;
    return;
  }
  if (!S_ISREG(status.st_mode)) {  // opening a pipe would wait for a writer
    error_ = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return;
  }
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || ::fstat(descriptor, &status)) {
    error_ = errno;
  } else {
    mtime_ = mtime_of(status);
    device_ = static_cast<std::uint64_t>(status.st_dev);
    inode_ = static_cast<std::uint64_t>(status.st_ino);
  }
  if (!error_ && status.st_size > 0) {
    void* const memory =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
      error_ = errno;
    } else {
      data_ = static_cast<const unsigned char*>(memory);
      size_ = status.st_size;
    }
  }
  if (descriptor >= 0) ::close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<unsigned char*>(data_), static_cast<std::size_t>(size_));
}

MappedFile::Change MappedFile::change(const char* path) const noexcept {
  struct stat status;
  if (::stat(path, &status)) return Change::kNone;
  if (static_cast<std::uint64_t>(status.st_dev) != device_ || static_cast<std::uint64_t>(status.st_ino) != inode_)
    return Change::kNone;
  if (status.st_size < size_) return Change::kCut;
  return status.st_size == size_ && mtime_of(status) == mtime_ ? Change::kNone : Change::kWritten;
}

void MappedFile::will_need(std::int64_t begin, std::int64_t end) const noexcept {
  end = std::min(end, size_);
  for (begin = begin / kPage * kPage; begin < end; begin += kAdvised)
    ::madvise(const_cast<unsigned char*>(data_) + begin, static_cast<std::size_t>(std::min(kAdvised, end - begin)),
              MADV_WILLNEED);
}

bool MappedFile::is_resident(std::int64_t at) const noexcept {
  unsigned char answer = 1;
  ::mincore(const_cast<unsigned char*>(data_) + at / kPage * kPage, 1, &answer);
  return answer & 1;
}

bool MappedFile::are_resident(std::int64_t begin, std::int64_t end) const noexcept {
  unsigned char answers[kAsked];
  for (begin = begin / kPage * kPage; begin < end; begin += kAsked * kPage) {
    const std::int64_t bytes = std::min(end - begin, kAsked * kPage);
    const auto pages = static_cast<std::size_t>((bytes + kPage - 1) / kPage);
    std::memset(answers, 1, pages);
    ::mincore(const_cast<unsigned char*>(data_) + begin, static_cast<std::size_t>(bytes), answers);
    if (!std::all_of(answers, answers + pages, [](unsigned char answer) { return answer & 1; })) return false;
  }
  return true;
}

MappedFiles::MappedFiles(std::vector<std::string> paths, std::size_t most)
    : paths_(std::move(paths)), most_(std::max<std::size_t>(most, 1)), entries_(paths_.size()) {}

std::shared_ptr<const MappedFile> MappedFiles::open(std::size_t number) {
  if (auto file = found(number)) return file;
  auto file = std::make_shared<const MappedFile>(paths_[number].c_str());
  if (file->error()) return file;                      // and the next time it is tried again
  std::vector<std::shared_ptr<const MappedFile>> old;  // unmapped after the lock is let go
  const ForkLock<MappedFiles> lock;
  Entry& entry = entries_[number];
  if (entry.file) return entry.file;  // another thread was first
  if (opened_.size() >= most_) old = let_go();
  entry.file = file;
  opened_.push_back(number);
  return file;
}

MappedFile::Change MappedFiles::change(std::size_t number, const MappedFile& file, bool many) {
  if (!many) return file.change(paths_[number].c_str());
  Entry& entry = entries_[number];
  struct timespec time;
  ::clock_gettime(kClock, &time);
  const std::int64_t now = in_ns(time);
  if (now - entry.looked.load(std::memory_order_relaxed) < kTrusted) return MappedFile::Change::kNone;
  const MappedFile::Change change = file.change(paths_[number].c_str());
  // A change is reported again at once: a failed call is repeated to find the bad record.
  if (change == MappedFile::Change::kNone) entry.looked.store(now, std::memory_order_relaxed);
  return change;
}

std::shared_ptr<const MappedFile> MappedFiles::found(std::size_t number) {
  const ForkLock<MappedFiles> lock;
  entries_[number].asked = ++clock_;
  return entries_[number].file;
}

// Unmaps the half of the files with the oldest requests: rare, and therefore cheap.
std::vector<std::shared_ptr<const MappedFile>> MappedFiles::let_go() {
  const auto middle = opened_.begin() + static_cast<std::ptrdiff_t>(opened_.size() / 2);
  std::nth_element(opened_.begin(), middle, opened_.end(),
                   [&](std::size_t a, std::size_t b) { return entries_[a].asked > entries_[b].asked; });
  std::vector<std::shared_ptr<const MappedFile>> old;
  for (auto it = middle; it != opened_.end(); ++it) old.push_back(std::move(entries_[*it].file));
  opened_.erase(middle, opened_.end());
  return old;
}

}  // namespace penstock
