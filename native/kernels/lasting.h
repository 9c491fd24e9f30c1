// Files mapped into memory for users that cannot run under `guarded`, such as Python and its libraries.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/mapped.h"

namespace penstock {

// A file mapped for reading. If the file is truncated, the lost part reads as zeros, instead of ending the process:
// `is_cut` then returns true, and one line on standard error reports it for users of views that never check.
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

  // The number of maps read in a truncated part so far, in this process.
  static std::uint64_t cuts() noexcept;
  // Returns whether this memory is in one of these.
  static bool is_in_cut(const void* at) noexcept;

 private:
  friend bool mend_mapping(const void* at) noexcept;

  // A mapping for the signal handler: in a list that only grows, so that no lock is needed.
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

// For the handler of SIGBUS: maps zeros from the page of `at` to the end of its mapping, if that is a `LastingMap`.
bool mend_mapping(const void* at) noexcept;

}  // namespace penstock
