// Archives: members where they are, names put together, what is not there refused; samples by their names.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tar.h"
#include "kernels/tar_samples.h"
#include "tests/check.h"

using penstock::TarGroups;
using penstock::TarMembers;
using penstock::TarOutcome;
using Status = TarOutcome::Status;

using namespace std::string_literals;

namespace {

std::string header(const std::string& name, std::size_t size, char kind = '0', const std::string& prefix = "") {
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  char text[24];
  std::snprintf(text, sizeof text, "%011o", static_cast<unsigned>(size));
  head.replace(124, 11, text);
  head[156] = kind;
  head.replace(257, 5, "ustar");
  head.replace(263, 2, "00");
  head.replace(345, prefix.size(), prefix);
  head.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char byte : head) sum += static_cast<unsigned char>(byte);
  std::snprintf(text, sizeof text, "%06o", sum);
  head.replace(148, 6, text);
  head[154] = '\0';
  return head;
}

std::string member(const std::string& name, const std::string& content, char kind = '0') {
  std::string made = header(name, content.size(), kind) + content;
  made.resize((made.size() + 511) / 512 * 512);
  return made;
}

struct Scan {
  explicit Scan(const std::string& archive, bool whole = true, std::size_t capacity = 16)
      : data(archive.begin(), archive.end()),
        heads(capacity),
        begins(capacity),
        ends(capacity),
        name_ends(capacity),
        names(penstock::kLongestTarName + 4096) {
    outcome = penstock::scan_tar(
        data.data(), static_cast<std::int64_t>(data.size()), whole, 0,
        {heads.data(), begins.data(), ends.data(), name_ends.data(), capacity, names.data(), names.size(), skipped});
  }
  std::string name(std::size_t i) const {
    const auto begin = i ? name_ends[i - 1] : 0;
    return {names.begin() + begin, names.begin() + name_ends[i]};
  }
  std::string content(std::size_t i) const { return {data.begin() + begins[i], data.begin() + ends[i]}; }

  std::vector<unsigned char> data;
  std::vector<std::int64_t> heads, begins, ends, name_ends;
  std::vector<unsigned char> names;
  std::int64_t skipped[3] = {};
  TarOutcome outcome;
};

void check_members() {
  const std::string zeros(1024, '\0');
  const Scan scan(member("a.txt", "one") + member("link", "", '2') + zeros + header("b.txt", 0, '0', "some/folder") +
                  member("long", std::string(300, 'n') + ".txt", 'L') + member("cut", "three") + zeros);
  CHECK(scan.outcome.status == Status::kEnd && scan.outcome.count == 3 && scan.skipped[0] == 1);
  CHECK(scan.name(0) == "a.txt" && scan.content(0) == "one" && scan.heads[0] == 0 && scan.begins[0] == 512);
  CHECK(scan.name(1) == "some/folder/b.txt" && scan.content(1).empty());
  CHECK(scan.name(2) == std::string(300, 'n') + ".txt" && scan.content(2) == "three");
  const Scan pax(member("x", "18 path=new/a.txt\n10 size=4\n", 'x') + header("old", 1) + "four" +
                 std::string(508, '\0') + zeros);
  CHECK(pax.outcome.status == Status::kEnd && pax.name(0) == "new/a.txt" && pax.content(0) == "four");
}

void check_refusals() {
  const std::string good = member("a.txt", "one");
  const auto status = [](const std::string& archive) { return Scan(archive).outcome.status; };
  CHECK(status("") == Status::kNoEnd && status(std::string(100, '\0')) == Status::kEnd);
  const std::string block(512, '\0'), full(10240 - good.size(), '\0');
  CHECK(status(good) == Status::kNoEnd && status(good.substr(0, 600)) == Status::kNoEnd);
  CHECK(status(good + block) == Status::kEnd && status(good + "\0"s) == Status::kEnd);
  CHECK(status(good + block + good + block) == Status::kZeroed);               // one block
  CHECK(status(good + block + block + good + block + block) == Status::kEnd);  // joined
  CHECK(status(good + full + good + full) == Status::kEnd);                    // joined, both filled up
  CHECK(status(good + block + block + good + full) == Status::kZeroed);        // one of them
  CHECK(status(good + full.substr(1024) + good + full) == Status::kZeroed);
  CHECK(Scan(good + block + good + block).outcome.position == static_cast<std::int64_t>(good.size()));
  CHECK(status(good + "x") == Status::kShort && status(good.substr(0, 514)) == Status::kShort);
  CHECK(status(good + std::string(512, 'x')) == Status::kBadHeader);
  CHECK(status(header("a", 0, 'S')) == Status::kSparse && status(header("a", 0, 'M')) == Status::kParted);
  CHECK(status(member("x", "9 path=a\n", 'g')) == Status::kGlobalHeader);
  for (const char* const bad : {"", "path", "99 path=a\n", "7 path\n", "9 path=a ", "-9 path=a\n", "0 path=a\n",
                                "99999999999999999999 path=a\n", "10 size=x\n", " 9 path=a\n"})
    CHECK(status(member("x", bad, 'x') + good) == (*bad ? Status::kBadExtension : Status::kNoEnd));
  for (std::size_t size = 0; size < good.size(); ++size) {  // a part ends anywhere
    const Scan part(good.substr(0, size), false);
    CHECK(part.outcome.count == 0 && part.outcome.position == 0);
    CHECK(part.outcome.status == (size ? Status::kShort : Status::kEnd));
    if (size) CHECK(part.outcome.needed > static_cast<std::int64_t>(size));
  }
}

void check_groups() {
  TarGroups groups;
  const std::vector<std::string> list{"d/1.jpg",  "d/1.SEG.png", "README",    "d/1.cls",
                                      "d/.x.jpg", "d/x.",        "d.e/1.jpg", "1.jpg"};
  std::string names;
  std::vector<std::int64_t> ends;
  for (const std::string& name : list) ends.push_back(static_cast<std::int64_t>((names += name).size()));
  std::vector<std::int32_t> extensions(list.size());
  std::vector<unsigned char> fresh(list.size()), keys(names.size());
  std::vector<std::int64_t> key_ends(list.size());
  std::size_t failed = 0;
  const auto add = [&](std::size_t count) {
    return groups.add(reinterpret_cast<const unsigned char*>(names.data()), ends.data(), count, extensions.data(),
                      fresh.data(), keys.data(), key_ends.data(), failed);
  };
  CHECK(add(list.size()) == TarGroups::Status::kOk);
  CHECK((extensions == std::vector<std::int32_t>{0, 1, -1, 2, -1, -1, 0, 0}));
  CHECK((fresh == std::vector<unsigned char>{1, 0, 0, 0, 0, 0, 1, 1}));
  CHECK((groups.extensions() == std::vector<std::string>{"jpg", "seg.png", "cls"}));
  CHECK(std::string(keys.begin(), keys.begin() + key_ends[2]) == "d/1d.e/11");
  CHECK(add(1) == TarGroups::Status::kOk && fresh[0] == 1);  // after another sample
  CHECK(add(1) == TarGroups::Status::kTwice && failed == 0);
}

void check_keys() {
  const unsigned char text[] = {'a', 'b', 'c'};
  const auto span = [&](const std::vector<std::int64_t>& ends, std::size_t sample) {
    std::size_t begin = 9, end = 9;
    penstock::key_span({text, 3, ends.data(), ends.size()}, sample, begin, end);
    return std::pair(begin, end);
  };
  CHECK(span({1, 1, 3}, 0) == std::pair(std::size_t{0}, std::size_t{1}));
  CHECK(span({1, 1, 3}, 1) == std::pair(std::size_t{1}, std::size_t{1}));
  CHECK(span({1, 1, 3}, 2) == std::pair(std::size_t{1}, std::size_t{3}));
  for (const std::int64_t end : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{0}, INT64_MAX, INT64_MIN})
    CHECK(span({1, end}, 1) == std::pair(std::size_t{0}, std::size_t{0}));
  CHECK(span({-1, 2}, 1) == std::pair(std::size_t{0}, std::size_t{0}));
}

void check_samples() {
  const unsigned char text[] = {'a', 'b', 'c'};
  const std::vector<std::int64_t> ends{1, 2, 3}, members{0, 2, 2, 4};
  const std::vector<std::int32_t> extensions{1, 0, 2, 9}, wanted{0, 1, -1};  // 9: the index was truncated
  const penstock::TarSamples three{{text, 3, ends.data(), 3}, members.data(), extensions.data(), 4, wanted.data(), 3};
  penstock::TarSamples one = three;
  one.keys.count = 1;
  const penstock::SamplesOfArchives samples({three, one}, {0, 4, 5}, {{0, 1}, {1, 0}, {5}});
  CHECK(samples.parts() == 3);
  std::size_t archive = 9, sample = 9;
  CHECK(samples.find(2, archive, sample) && archive == 0 && sample == 2);
  CHECK(samples.find(4, archive, sample) && archive == 1 && sample == 0);
  for (const std::int64_t row : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{5}, INT64_MAX, INT64_MIN})
    CHECK(!samples.find(row, archive, sample));  // row 3 stands for what could not be read
  const std::vector<std::int64_t> rows{4, 1, 0, 2};
  std::vector<std::int64_t> found(12);
  CHECK(samples.find_members(rows.data(), 4, found.data()) == 8);
  CHECK((found == std::vector<std::int64_t>{5, 4, -1, -1, -1, -1, 1, 0, -1, -1, -1, -1}));
  const std::int64_t absent[] = {0, 3};
  CHECK(samples.find_members(absent, 2, found.data()) == -1);
}

}  // namespace

int main() {
  check_samples();
  check_keys();
  check_members();
  check_refusals();
  check_groups();
}
