#include "kernels/tar_samples.h"

#include <algorithm>
#include <utility>

#include "kernels/starts.h"

namespace penstock {

namespace {

constexpr std::size_t kAhead = 8;  // samples; rows in random order would wait for memory, for half of the time

}  // namespace

SamplesOfArchives::SamplesOfArchives(std::vector<TarSamples> archives, std::vector<std::int64_t> starts,
                                     const std::vector<std::vector<std::uint32_t>>& choices)
    : archives_(std::move(archives)), starts_(std::move(starts)), parts_(choices.size()) {
  std::int64_t members = 0;
  for (const TarSamples& archive : archives_) {
    member_starts_.push_back(members);
    members += static_cast<std::int64_t>(archive.member_count);
  }
  for (std::size_t part = 0; part < parts_; ++part)
    for (std::size_t choice = 0; choice < choices[part].size(); ++choice) {
      const std::size_t number = choices[part][choice];
      if (number >= uses_.size()) uses_.resize(number + 1);
      uses_[number].push_back({part, choice});
    }
}

bool SamplesOfArchives::find(std::int64_t row, std::size_t& archive, std::size_t& sample) const noexcept {
  if (row < 0 || starts_.empty() || row >= starts_.back()) return false;
  archive = file_of_row(starts_, row);
  if (archive >= archives_.size()) return false;
  sample = static_cast<std::size_t>(row - starts_[archive]);
  return sample < archives_[archive].keys.count;
}

void SamplesOfArchives::prefetch_keys(const std::int64_t* rows, std::size_t count, std::size_t i) const noexcept {
  std::size_t archive, sample, begin, end;
  if (i + 2 * kAhead < count && find(rows[i + 2 * kAhead], archive, sample))
    __builtin_prefetch(&keys(archive).ends[sample]);
  if (i + kAhead < count && find(rows[i + kAhead], archive, sample)) {
    key_span(keys(archive), sample, begin, end);
    __builtin_prefetch(keys(archive).text + begin);
  }
}

void SamplesOfArchives::prefetch_members(const std::int64_t* rows, std::size_t count, std::size_t i) const noexcept {
  std::size_t number, sample;
  if (i + 2 * kAhead < count && find(rows[i + 2 * kAhead], number, sample))
    __builtin_prefetch(&archives_[number].members[sample]);
  if (i + kAhead < count && find(rows[i + kAhead], number, sample)) {
    const TarSamples& archive = archives_[number];
    const auto first = static_cast<std::uint64_t>(archive.members[sample]);
    if (first < archive.member_count) __builtin_prefetch(&archive.extensions[first]);
  }
}

std::int64_t SamplesOfArchives::find_members(const std::int64_t* rows, std::size_t count, std::int64_t* members) const {
  std::fill_n(members, count * parts_, -1);
  auto missing = static_cast<std::int64_t>(count * parts_);
  std::vector<std::size_t> chosen(parts_);
  std::size_t number = 0, sample = 0;
  for (std::size_t i = 0; i < count; ++i, members += parts_) {
    prefetch_members(rows, count, i);
    if (!find(rows[i], number, sample)) return -1;
    const TarSamples& archive = archives_[number];
    const auto begin = static_cast<std::uint64_t>(archive.members[sample]),
               end = static_cast<std::uint64_t>(archive.members[sample + 1]);
    if (end > archive.member_count) continue;
    for (std::uint64_t member = begin; member < end; ++member) {
      const auto extension = static_cast<std::uint32_t>(archive.extensions[member]);
      if (extension >= archive.wanted_count) continue;
      const auto use = static_cast<std::uint32_t>(archive.wanted[extension]);
      if (use >= uses_.size()) continue;
      for (const auto [part, choice] : uses_[use]) {
        if (members[part] >= 0 && choice >= chosen[part]) continue;
        missing -= members[part] < 0;
        members[part] = member_starts_[number] + static_cast<std::int64_t>(member);
        chosen[part] = choice;
      }
    }
  }
  return missing;
}

}  // namespace penstock
