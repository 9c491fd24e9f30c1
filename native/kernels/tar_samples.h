// The samples of tar archives by row: their keys, and the members for the parts of an element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/tar.h"

namespace penstock {

// The samples of an archive, in memory of the caller: sample k has the members members[k] to members[k + 1], and member
// m the extension extensions[m], whose number among all that parts may use is wanted[extensions[m]], or -1. The memory
// may be of a truncated file, which the reader checks afterwards: what is outside of it is missing.
struct TarSamples {
  TarKeys keys;
  const std::int64_t* members;  // one more than keys
  const std::int32_t* extensions;
  std::size_t member_count;
  const std::int32_t* wanted;
  std::size_t wanted_count;
};

class SamplesOfArchives {
 public:
  // A row is a sample of the archive a with starts[a] <= row < starts[a + 1]. Part p is the first of the extensions
  // with the numbers choices[p] that a sample has.
  SamplesOfArchives(std::vector<TarSamples> archives, std::vector<std::int64_t> starts,
                    const std::vector<std::vector<std::uint32_t>>& choices);

  std::size_t parts() const { return parts_; }

  // Finds the sample at a row; returns false if there is none.
  bool find(std::int64_t row, std::size_t& archive, std::size_t& sample) const noexcept;
  const TarKeys& keys(std::size_t archive) const { return archives_[archive].keys; }

  // Requests from memory, for a loop over the keys of `rows` that has come to rows[i], what it will read a little
  // later: the text of one key, and for a later key the place of its text.
  void prefetch_keys(const std::int64_t* rows, std::size_t count, std::size_t i) const noexcept;

  // Writes the member of part p of the sample at rows[i] to members[i * parts() + p], numbered across all archives, or
  // -1 if the sample has none. Returns how many are missing, or -1 if there is no sample at a row.
  std::int64_t find_members(const std::int64_t* rows, std::size_t count, std::int64_t* members) const;

 private:
  // The same for a loop over members: the extensions of one sample, and the place of those of a later one.
  void prefetch_members(const std::int64_t* rows, std::size_t count, std::size_t i) const noexcept;

  // A part that uses an extension, and the place of the extension among those of the part.
  struct Use {
    std::size_t part, choice;
  };

  std::vector<TarSamples> archives_;
  std::vector<std::int64_t> starts_, member_starts_;
  std::size_t parts_;
  std::vector<std::vector<Use>> uses_;  // of each number
};

}  // namespace penstock
