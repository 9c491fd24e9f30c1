// Files mapped into memory on first read, a limited number at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock {

// A regular file, mapped for reading; its descriptor is closed again. Touch its memory only under `guarded`.
class MappedFile {
 public:
  // On failure `error()` is the errno, without memory.
  explicit MappedFile(const char* path) noexcept;
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const unsigned char* data() const { return data_; }
  std::int64_t size() const { return size_; }
  // The time of the file's last change before mapping, in ns.
  std::int64_t mtime() const { return mtime_; }
  int error() const { return error_; }

  // The state of the file since. If `path` is now another file, or none, the file was replaced, and the mapped content
  // stays as it was.
  enum class Change { kNone, kWritten, kCut };
  Change change(const char* path) const noexcept;

  // Asks the system to read these bytes soon, without waiting.
  void will_need(std::int64_t begin, std::int64_t end) const noexcept;
  // Return whether the page of this byte, and the pages of all these bytes, are in memory.
  bool is_resident(std::int64_t at) const noexcept;
  bool are_resident(std::int64_t begin, std::int64_t end) const noexcept;

 private:
  const unsigned char* data_ = nullptr;
  std::int64_t size_ = 0, mtime_ = 0;
  std::uint64_t device_ = 0, inode_ = 0;
  int error_ = 0;
};

// Some files by number, each mapped on first request. Beyond `most` at a time, one not requested recently is unmapped.
// Safe for any number of threads, and after a fork.
class MappedFiles {
 public:
  static constexpr std::int64_t kTrusted = 50'000'000;  // ns

  MappedFiles(std::vector<std::string> paths, std::size_t most);
  std::size_t count() const { return paths_.size(); }
  const std::string& path(std::size_t number) const { return paths_[number]; }
  std::shared_ptr<const MappedFile> open(std::size_t number);
  // The state of a file since it was mapped; call this after reading. A check takes a microsecond, so one of `many`
  // files is not checked again for kTrusted.
  MappedFile::Change change(std::size_t number, const MappedFile& file, bool many);

 private:
  struct Entry {
    std::shared_ptr<const MappedFile> file;
    std::uint64_t asked = 0;              // last request
    std::atomic<std::int64_t> looked{0};  // last check, in ns
  };
  std::shared_ptr<const MappedFile> found(std::size_t number);
  std::vector<std::shared_ptr<const MappedFile>> let_go();

  const std::vector<std::string> paths_;
  const std::size_t most_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> opened_;
  std::uint64_t clock_ = 0;
};

}  // namespace penstock
