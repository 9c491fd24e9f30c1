// Any bytes are an archive or an error with its place: members within the bytes, in order, the same for parts of them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/tar.h"
#include "kernels/tar_samples.h"

using penstock::TarGroups;
using penstock::TarMembers;
using penstock::TarOutcome;
using Status = TarOutcome::Status;
using penstock::fuzz::demand;

namespace {

struct Found {
  std::vector<int64_t> heads, begins, ends;
  std::vector<std::vector<uint8_t>> names;
  TarOutcome last;
};

// All there is, `capacity` members a step.
Found scan(const uint8_t* data, int64_t size, bool whole, size_t capacity) {
  const auto heads = std::make_unique<int64_t[]>(capacity), begins = std::make_unique<int64_t[]>(capacity),
             ends = std::make_unique<int64_t[]>(capacity), name_ends = std::make_unique<int64_t[]>(capacity);
  const size_t room = penstock::kLongestTarName + 300;
  const auto names = std::make_unique<unsigned char[]>(room);
  const auto extensions = std::make_unique<int32_t[]>(capacity);
  const auto fresh = std::make_unique<unsigned char[]>(capacity), keys = std::make_unique<unsigned char[]>(room);
  const auto key_ends = std::make_unique<int64_t[]>(capacity);
  int64_t skipped[3] = {};
  const TarMembers members{heads.get(), begins.get(), ends.get(), name_ends.get(),
                           capacity,    names.get(),  room,       skipped};
  Found found;
  TarGroups groups;
  bool grouped = true;
  int64_t position = 0;
  for (;;) {
    found.last = penstock::scan_tar(data, size, whole, position, members);
    const TarOutcome& outcome = found.last;
    demand(outcome.position >= position && outcome.position <= size, "a position outside");
    demand(outcome.count <= capacity, "more members than room");
    int64_t before = 0;
    for (size_t i = 0; i < outcome.count; ++i) {
      demand(heads[i] >= position && heads[i] + 512 <= begins[i], "a head outside");
      demand(begins[i] <= ends[i] && ends[i] <= size, "a member outside");
      demand(name_ends[i] > before && static_cast<size_t>(name_ends[i]) <= room, "a name outside");
      found.heads.push_back(heads[i]);
      found.begins.push_back(begins[i]);
      found.ends.push_back(ends[i]);
      found.names.emplace_back(names.get() + before, names.get() + name_ends[i]);
      before = name_ends[i];
    }
    demand(static_cast<size_t>(before) + outcome.name_size <= room, "the name at fault is outside");
    if (grouped) {
      size_t failed = 0;
      grouped = groups.add(names.get(), name_ends.get(), outcome.count, extensions.get(), fresh.get(), keys.get(),
                           key_ends.get(), failed) == TarGroups::Status::kOk;
      demand(grouped || failed < outcome.count, "a member at fault that there is not");
      for (size_t i = 0; grouped && i < outcome.count; ++i)
        demand(extensions[i] < static_cast<int32_t>(groups.extensions().size()), "an extension that there is not");
    }
    if (outcome.status != Status::kMore) return found;
    demand(outcome.position > position || outcome.count > 0, "a scan that stands still");
    position = outcome.position;
  }
}

// The bytes with checksums in what looks like a header, so that what is behind them is reached.
std::vector<uint8_t> repaired(const uint8_t* data, size_t size) {
  std::vector<uint8_t> copy(data, data + size);
  for (size_t at = 0; at + 512 <= size; at += 512) {
    uint8_t* const head = copy.data() + at;
    if (std::memcmp(head + 257, "ustar", 5) != 0) continue;
    std::memset(head + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < 512; ++i) sum += head[i];
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    std::memcpy(head + 148, text, 7);
  }
  return copy;
}

void check(const uint8_t* data, size_t size) {
  const auto length = static_cast<int64_t>(size);
  const Found all = scan(data, length, true, 1000), slowly = scan(data, length, true, 1);
  demand(all.heads == slowly.heads && all.ends == slowly.ends && all.names == slowly.names, "steps change members");
  demand(all.last.status == slowly.last.status && all.last.position == slowly.last.position, "steps change the end");
  for (const int64_t part : {length / 2, length * 3 / 4}) {
    const auto copy = std::make_unique<uint8_t[]>(static_cast<size_t>(part));  // not a byte more than there is
    for (int64_t i = 0; i < part; ++i) copy[static_cast<size_t>(i)] = data[i];
    const Found some = scan(copy.get(), part, false, 1000);
    if (all.last.status == Status::kZeroed) continue;  // how the archive ends, a part does not tell
    demand(some.heads.size() <= all.heads.size(), "a part with more members");
    for (size_t i = 0; i < some.heads.size(); ++i)
      demand(some.heads[i] == all.heads[i] && some.ends[i] == all.ends[i], "a part with other members");
    if (some.last.status == Status::kShort) demand(some.last.needed > part, "nothing is needed");
  }
}

// The bytes as the ends of keys, whatever they say: a key lies in the text, or is empty.
void check_keys(const uint8_t* data, size_t size) {
  std::vector<int64_t> ends(size / sizeof(int64_t));
  if (!ends.empty()) std::memcpy(ends.data(), data, ends.size() * sizeof(int64_t));
  for (size_t sample = 0; sample < ends.size(); ++sample) {
    size_t begin = 1, end = 0;
    penstock::key_span({data, size, ends.data(), ends.size()}, sample, begin, end);
    demand(begin <= end && end <= size, "a key outside of the text");
  }
}

// The bytes as an index of samples, whatever they say: members lie within the index, or are missing.
void check_samples(const uint8_t* data, size_t size) {
  const size_t count = size / 24;
  if (!count) return;
  std::vector<int64_t> ends(count), members(count + 1);
  std::vector<int32_t> extensions(2 * count), wanted(5);
  std::memcpy(ends.data(), data, count * 8);
  std::memcpy(members.data(), data + count * 8, count * 8);
  std::memcpy(extensions.data(), data + count * 16, count * 8);
  for (size_t i = 0; i < members.size(); ++i)
    if (data[i] & 1) members[i] &= 15;  // mostly near each other, so that samples have some
  for (size_t i = 0; i < extensions.size(); ++i)
    if (data[i] & 2) extensions[i] &= 7;
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<int8_t>(data[i]) % 4;
  const auto total = static_cast<int64_t>(2 * count);
  const penstock::TarSamples archive{{data, size, ends.data(), count},
                                     members.data(),
                                     extensions.data(),
                                     extensions.size(),
                                     wanted.data(),
                                     wanted.size()};
  const auto rows = static_cast<int64_t>(count);
  const penstock::SamplesOfArchives samples({archive, archive}, {0, rows + 1, 2 * rows + 1}, {{2, 0}, {1}, {0, 1}});
  std::vector<int64_t> asked, found(3 * count);
  for (int64_t row = 0; row < rows; ++row) asked.push_back(data[row] & 4 ? row : row + rows + 1);
  const int64_t missing = samples.find_members(asked.data(), count, found.data());
  int64_t absent = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t low = asked[i / 3] > rows ? total : 0;
    demand(found[i] == -1 || (found[i] >= low && found[i] < low + total), "a member outside of the index");
    absent += found[i] == -1;
  }
  demand(missing == absent, "another number of missing members");
  demand(samples.find_members(&rows, 1, found.data()) == -1, "a sample at a row without one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check(data, size);
  check_keys(data, size);
  check_samples(data, size);
  const std::vector<uint8_t> sound = repaired(data, size);
  check(sound.data(), sound.size());
  return 0;
}
