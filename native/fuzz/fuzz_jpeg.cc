// Our decoder of baseline files and libjpeg-turbo give the same pixels, or both refuse with the same words. The last 16
// bytes choose the region, the scale, whether another file is encoded instead, with codes that no encoder writes, and
// changes of the file's Huffman codes, headers, restart markers or scan.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/jpeg.h"
#include "tests/encode.h"

using namespace penstock::kernels;
using penstock::fuzz::demand;

namespace {

using Bytes = std::vector<uint8_t>;

constexpr int64_t kMaxPixels = 1 << 18;

class Choices {
 public:
  Choices(const uint8_t* data, size_t size) {
    for (size_t i = 0; i < size && i < 16; ++i) state_ = state_ * 0x100000001B3u ^ data[size - 1 - i];
  }
  size_t below(size_t count) {
    state_ = (state_ ^ state_ >> 31) * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    return static_cast<size_t>((state_ >> 33) % count);
  }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

// The segments of the header with this marker: where their bodies begin and end.
std::vector<std::pair<size_t, size_t>> segments(const Bytes& file, uint8_t marker) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t at = 2; at + 4 <= file.size() && file[at] == 0xFF;) {
    const size_t length = static_cast<size_t>(file[at + 2]) << 8 | file[at + 3];
    if (length < 2 || at + 2 + length > file.size()) break;
    if (file[at + 1] == marker) found.emplace_back(at + 4, at + 2 + length);
    if (file[at + 1] == 0xDA) break;
    at += 2 + length;
  }
  return found;
}

void set(Bytes& file, size_t at, size_t value) { file[at] = static_cast<uint8_t>(value); }

// Makes one code of a table longer or shorter, gives it another symbol, takes or gives one, or makes the table another.
void change_code(Bytes& file, Choices& choices) {
  const auto tables = segments(file, 0xC4);
  if (tables.empty()) return;
  const auto [begin, end] = tables[choices.below(tables.size())];
  if (end - begin < 18) return;
  uint8_t* const counts = file.data() + begin;  // of length l at l
  const size_t length = 1 + choices.below(16), other = std::clamp<size_t>(length + choices.below(3) - 1, 1, 16);
  const auto symbol = [&, begin = begin, end = end] { return begin + 17 + choices.below(end - begin - 17); };
  switch (choices.below(6)) {
    case 0:
      if (counts[length] > 0) --counts[length], ++counts[other];
      break;
    case 1:
      set(file, symbol(), choices.below(256));
      break;
    case 2:
      std::swap(file[symbol()], file[symbol()]);
      break;
    case 3:  // the file then says more or fewer codes than it has
      set(file, begin + length, counts[length] + choices.below(3) - 1);
      break;
    case 4: {  // one code more, in a longer segment
      const size_t at = symbol(), size = end - begin + 3;
      ++counts[length];
      set(file, begin - 2, size >> 8), set(file, begin - 1, size & 255);
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), static_cast<uint8_t>(choices.below(256)));
      break;
    }
    default:
      set(file, begin, choices.below(2) << 4 | choices.below(4));
  }
}

void change_scan_header(Bytes& file, Choices& choices) {
  const auto scans = segments(file, 0xDA);
  if (scans.empty() || scans[0].second - scans[0].first < 3) return;
  const auto [begin, end] = scans[0];
  set(file, begin + choices.below(end - begin), choices.below(4) << 4 | choices.below(4));
}

// Changes the size of the image by little, or the sampling or table of a component.
void change_frame(Bytes& file, Choices& choices) {
  const auto frames = segments(file, 0xC0);
  if (frames.empty() || frames[0].second - frames[0].first < 9) return;
  const auto [begin, end] = frames[0];
  if (choices.below(3) == 0) {
    const size_t at = begin + 2 + 2 * choices.below(2);
    set(file, at, file[at] + choices.below(33) - 16);
  } else {
    set(file, begin + 6 + choices.below(end - begin - 6), choices.below(3) << 4 | choices.below(3));
  }
}

void change_restarts(Bytes& file, Choices& choices) {
  const auto scans = segments(file, 0xDA), intervals = segments(file, 0xDD);
  if (scans.empty()) return;
  const size_t begin = scans[0].second, size = file.size() - begin;
  const auto place = [&](size_t at) { return file.begin() + static_cast<std::ptrdiff_t>(at); };
  if (choices.below(3) == 0) {
    if (!intervals.empty() && intervals[0].second - intervals[0].first == 2) {
      set(file, intervals[0].second - 1, choices.below(9));
      return;
    }
    const uint8_t interval[] = {0xFF, 0xDD, 0, 4, 0, static_cast<uint8_t>(choices.below(9))};
    file.insert(place(2), std::begin(interval), std::end(interval));
  } else if (size > 2) {
    const uint8_t restart[] = {0xFF, static_cast<uint8_t>(0xD0 + choices.below(8))};
    const size_t at = begin + choices.below(size);
    if (choices.below(3) == 0) {
      file.insert(place(at), std::begin(restart), std::end(restart));
      return;
    }
    for (size_t i = at; i + 1 < file.size(); ++i) {
      if (file[i] != 0xFF || file[i + 1] < 0xD0 || file[i + 1] > 0xD7) continue;
      if (choices.below(3) == 0) {
        file[i + 1] = restart[1];
      } else {
        file.erase(place(i), place(i + choices.below(3)));
      }
      break;
    }
  }
}

// Changes some bits of the scan, puts a marker or a stuffed byte into it, or ends it.
void change_scan(Bytes& file, Choices& choices) {
  const auto scans = segments(file, 0xDA);
  if (scans.empty() || scans[0].second >= file.size()) return;
  const auto place = [&] { return scans[0].second + choices.below(file.size() - scans[0].second); };
  const size_t at = place();
  switch (choices.below(4)) {
    case 0:
      for (size_t bits = 1 + choices.below(3); bits > 0; --bits) {
        const size_t of = place();
        set(file, of, file[of] ^ 1u << choices.below(8));
      }
      break;
    case 1: {
      const uint8_t marker[] = {0xFF, static_cast<uint8_t>(choices.below(2) == 0 ? 0 : choices.below(256))};
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), std::begin(marker), std::end(marker));
      break;
    }
    case 2:
      file.erase(file.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    default:
      file.resize(at);
  }
}

void change(Bytes& file, Choices& choices) {
  using Change = void (*)(Bytes&, Choices&);
  constexpr Change kChanges[] = {change_code, change_scan_header, change_frame, change_restarts, change_scan};
  kChanges[choices.below(std::size(kChanges))](file, choices);
}

Bytes encoded(Choices& choices) {
  const auto up_to = [&](size_t most) { return 1 + static_cast<int>(choices.below(most)); };
  penstock::tests::Encoding encoding{up_to(90), up_to(90)};
  encoding.components = choices.below(5) == 0 ? 1 : 3;
  encoding.horizontal = up_to(2), encoding.vertical = up_to(2);
  encoding.quality = up_to(100);
  encoding.optimized = choices.below(4) == 0;
  encoding.random_codes = !encoding.optimized && choices.below(3) > 0;
  if (choices.below(3) == 0) encoding.restart_interval = up_to(9);
  return penstock::tests::encode(encoding, static_cast<unsigned>(choices.below(1u << 31)));
}

struct Outcome {
  bool is_read = false;
  Bytes pixels;
  std::string error;
};

struct Rows {
  Bytes* pixels;
  size_t length;
  int64_t count;

  static void take(void* context, int64_t y, const uint8_t* row) {
    Rows& rows = *static_cast<Rows*>(context);
    demand(y == rows.count++, "a row out of order");
    rows.pixels->insert(rows.pixels->end(), row, row + rows.length);
  }
};

Outcome outcome_of(JpegReader& reader, const Bytes& file, Choices choices) {
  Outcome outcome;
  if (reader.open(file.data(), file.size(), kMaxPixels)) {
    const int denominator = 1 << choices.below(4), channels = choices.below(3) == 0 ? 1 : 3;
    const auto height = static_cast<size_t>((reader.height() + denominator - 1) / denominator);
    const auto width = static_cast<size_t>((reader.width() + denominator - 1) / denominator);
    const size_t top = choices.below(height), left = choices.below(width);
    const Region region{static_cast<int64_t>(top), static_cast<int64_t>(left),
                        static_cast<int64_t>(1 + choices.below(height - top)),
                        static_cast<int64_t>(1 + choices.below(width - left))};
    Rows rows{&outcome.pixels, static_cast<size_t>(region.width * channels), 0};
    outcome.is_read = reader.read(denominator, channels, region, Rows::take, &rows);
  }
  if (!outcome.is_read) outcome.error = reader.error();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static JpegReader ours, alone(true);
  Choices choices(data, size);
  Bytes file = choices.below(3) == 0 ? encoded(choices) : Bytes(data, data + size);
  for (size_t changes = choices.below(4); changes > 0; --changes) change(file, choices);
  file.shrink_to_fit();
  const Outcome mine = outcome_of(ours, file, choices), theirs = outcome_of(alone, file, choices);
  demand(mine.is_read == theirs.is_read, "read by one of two");
  if (mine.is_read) {
    demand(mine.pixels == theirs.pixels, "other pixels");
  } else {
    demand(mine.error == theirs.error, "another error");
  }
  return 0;
}
