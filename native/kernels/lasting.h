// Files mapped into memory for who cannot touch it under `guarded`, as Python and the libraries that it calls cannot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/mapped.h"

namespace penstock {

// A file mapped for reading. Where the file has lost its end, what is touched there is zeros from then on, in the place
// of the end of the process: `is_cut` says that it has happened, and one line on standard error does, for who keeps
// views of it and asks nobody.
class LastingMap {
 public:
  explicit LastingMap(const char* path);
  ~LastingMap();
  LastingMap(const LastingMap&) = delete;
  LastingMap& operator=(const LastingMap&) = delete;

  const unsigned char* data() const { return file_.data(); }
  std::int64_t size() const { return file_.size(); }
  std::int64_t mtime() const { return file_.mtime(); }
  bool is_unchanged(const char* path) const noexcept { return file_.change(path) == MappedFile::Change::kNone; }
  // The errno of why it could not be mapped, or 0.
  int error() const { return file_.error(); }
  bool is_cut() const { return region_ && region_->is_cut; }

  // How many have been cut short so far, in this process.
  static std::uint64_t cuts() noexcept;
  // Whether this memory is in one that has been.
  static bool is_in_cut(const void* at) noexcept;

 private:
  friend bool mend_mapping(const void* at) noexcept;

  // What the handler of the signal sees of a mapping: in a list that only grows, so that it needs no lock.
  struct Region {
    std::atomic<std::uintptr_t> begin{0}, end{0};
    std::atomic<bool> is_cut{false};
    Region* next = nullptr;
    Region* next_free = nullptr;
  };
  static std::atomic<Region*> regions_;
  static Region* free_;

  const MappedFile file_;
  Region* region_ = nullptr;
};

// For the handler of SIGBUS: puts zeros from the page of `at` on to the end of the mapping that it is in, if that
// lasts.
bool mend_mapping(const void* at) noexcept;

}  // namespace penstock
