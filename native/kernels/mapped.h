// Files mapped into memory, opened when they are first read, no more than some at a time.
#pragma once

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
  int error() const { return error_; }

  // Has the system read these bytes, soon, without waiting for them.
  void will_need(std::int64_t begin, std::int64_t end) const noexcept;
  // Whether the page with this byte is in memory, and whether all those with these bytes are.
  bool is_resident(std::int64_t at) const noexcept;
  bool are_resident(std::int64_t begin, std::int64_t end) const noexcept;

 private:
  const unsigned char* data_ = nullptr;
  std::int64_t size_ = 0;
  int error_ = 0;
};

// Some files by number, each mapped when it is first asked for. Beyond `most` at a time, one that was asked for long
// ago is let go. Safe to use from any number of threads, and after a fork.
class MappedFiles {
 public:
  MappedFiles(std::vector<std::string> paths, std::size_t most);
  std::size_t count() const { return paths_.size(); }
  const std::string& path(std::size_t number) const { return paths_[number]; }
  std::shared_ptr<const MappedFile> open(std::size_t number);

 private:
  struct Entry {
    std::shared_ptr<const MappedFile> file;
    std::uint64_t asked = 0;  // when it was last asked for
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
