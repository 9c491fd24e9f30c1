// Files mapped into memory, opened when they are first read, no more than some at a time.
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
  // On failure `error()` is the errno, and there is no memory.
  explicit MappedFile(const char* path) noexcept;
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const unsigned char* data() const { return data_; }
  std::int64_t size() const { return size_; }
  // When the file was last written to before it was mapped, in ns.
  std::int64_t mtime() const { return mtime_; }
  int error() const { return error_; }

  // What became of the file since. Where `path` is another one by now, or none, it was replaced, and what is mapped
  // stays as it was.
  enum class Change { kNone, kWritten, kCut };
  Change change(const char* path) const noexcept;

  // Has the system read these bytes, soon, without waiting for them.
  void will_need(std::int64_t begin, std::int64_t end) const noexcept;
  // Whether the page with this byte is in memory, and whether all those with these bytes are.
  bool is_resident(std::int64_t at) const noexcept;
  bool are_resident(std::int64_t begin, std::int64_t end) const noexcept;

 private:
  const unsigned char* data_ = nullptr;
  std::int64_t size_ = 0, mtime_ = 0;
  std::uint64_t device_ = 0, inode_ = 0;
  int error_ = 0;
};

// Some files by number, each mapped when it is first asked for. Beyond `most` at a time, one that was asked for long
// ago is let go. Safe to use from any number of threads, and after a fork.
class MappedFiles {
 public:
  static constexpr std::int64_t kTrusted = 50'000'000;  // ns

  MappedFiles(std::vector<std::string> paths, std::size_t most);
  std::size_t count() const { return paths_.size(); }
  const std::string& path(std::size_t number) const { return paths_[number]; }
  std::shared_ptr<const MappedFile> open(std::size_t number);
  // What became of a file since it was mapped, to be asked for once it was read. To look at it takes a microsecond, so
  // one of `many` is not looked at again for kTrusted.
  MappedFile::Change change(std::size_t number, const MappedFile& file, bool many);

 private:
  struct Entry {
    std::shared_ptr<const MappedFile> file;
    std::uint64_t asked = 0;              // when it was last asked for
    std::atomic<std::int64_t> looked{0};  // when it was last looked at, in ns
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
