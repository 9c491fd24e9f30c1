// Our decoder of baseline files gives the pixels of libjpeg-turbo: random files, regions and scales.
//
//     test_jpeg 50000
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/jpeg.h"
#include "tests/check.h"
#include "tests/encode.h"

using namespace penstock::kernels;
using penstock::tests::encode;
using penstock::tests::Encoding;

namespace {

constexpr int64_t kMaxPixels = 1 << 24;

class Draws {
 public:
  explicit Draws(unsigned seed) : bits_(seed) {}
  int below(int64_t count) { return static_cast<int>(bits_() % static_cast<uint64_t>(count)); }
  int up_to(int64_t most) { return 1 + below(most); }

 private:
  std::mt19937 bits_;
};

struct Rows {
  std::vector<uint8_t> bytes;
  size_t length;

  static void take(void* context, int64_t, const uint8_t* row) {
    Rows& rows = *static_cast<Rows*>(context);
    rows.bytes.insert(rows.bytes.end(), row, row + rows.length);
  }
};

Encoding random_encoding(Draws& draws) {
  const int most = draws.below(4) == 0 ? 400 : 70;
  Encoding encoding{draws.up_to(most), draws.up_to(most)};
  encoding.components = draws.below(5) == 0 ? 1 : 3;
  encoding.horizontal = draws.up_to(2), encoding.vertical = draws.up_to(2);
  encoding.quality = draws.up_to(100);
  encoding.optimized = draws.below(2) == 0;
  encoding.random_codes = !encoding.optimized && draws.below(2) == 0;
  if (draws.below(4) == 0) encoding.restart_interval = draws.up_to(20);
  return encoding;
}

std::vector<uint8_t> with_exif(const std::vector<uint8_t>& file) {
  const uint8_t exif[] = {0xFF, 0xE1, 0, 14, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0};
  std::vector<uint8_t> longer(file);
  longer.insert(longer.begin() + 2, std::begin(exif), std::end(exif));
  return longer;
}

std::vector<uint8_t> read(JpegReader& reader, const std::vector<uint8_t>& file, int denominator, int channels,
                          const Region& region) {
  Rows rows{{}, static_cast<size_t>(region.width * channels)};
  CHECK(reader.open(file.data(), file.size(), kMaxPixels));
  CHECK(reader.read(denominator, channels, region, Rows::take, &rows));
  return rows.bytes;
}

// Returns the number of reads in which libjpeg-turbo took no part.
int compare_files(int count) {
  JpegReader ours, alone(true);
  int unaided = 0;
  for (int i = 0; i < count; ++i) {
    Draws draws(static_cast<unsigned>(i));
    std::vector<uint8_t> file = encode(random_encoding(draws), static_cast<unsigned>(i));
    if (draws.below(4) == 0) file = with_exif(file);
    for (int j = 0; j < 4; ++j) {
      CHECK(ours.open(file.data(), file.size(), kMaxPixels));
      const int denominator = 1 << draws.below(4), channels = draws.below(3) == 0 ? 1 : 3;
      const int64_t height = (ours.height() + denominator - 1) / denominator;
      const int64_t width = (ours.width() + denominator - 1) / denominator;
      Region region{draws.below(height), draws.below(width), 0, 0};
      region.height = draws.up_to(height - region.top), region.width = draws.up_to(width - region.left);
      const std::vector<uint8_t> expected = read(alone, file, denominator, channels, region);
      CHECK(read(ours, file, denominator, channels, region) == expected);
      unaided += ours.was_unaided();
    }
  }
  return unaided;
}

struct Outcome {
  std::vector<uint8_t> pixels;
  std::string error;
};

// Reads a region with both decoders: the pixels are those of libjpeg-turbo, or the error is.
Outcome read_with_both(const std::vector<uint8_t>& file, const Region& region) {
  static JpegReader ours, alone(true);
  Outcome outcomes[2];
  for (JpegReader* reader : {&ours, &alone}) {
    Outcome& outcome = outcomes[reader == &alone];
    bool is_read = reader->open(file.data(), file.size(), kMaxPixels);
    if (is_read) {
      Region inside = region;
      inside.height = std::min(inside.height, reader->height()), inside.width = std::min(inside.width, reader->width());
      Rows rows{{}, static_cast<size_t>(inside.width * 3)};
      is_read = reader->read(1, 3, inside, Rows::take, &rows);
      if (is_read) outcome.pixels = rows.bytes;
    }
    if (!is_read) outcome.error = reader->error();
  }
  CHECK(outcomes[0].pixels == outcomes[1].pixels);
  CHECK(outcomes[0].error == outcomes[1].error);
  return outcomes[0];
}

// One bit after another is turned.
void compare_damaged(const std::vector<uint8_t>& sound, const Region& region) {
  for (size_t at = 2; at < sound.size(); ++at) {
    std::vector<uint8_t> file(sound);
    file[at] = static_cast<uint8_t>(file[at] ^ 1u << at % 8);
    read_with_both(file, region);
  }
}

// A file of any shorter length is truncated, or has all its pixels, as it has without its end marker.
void compare_cut(const std::vector<uint8_t>& whole, const Region& region) {
  const Outcome expected = read_with_both(whole, region);
  CHECK(expected.error.empty());
  for (size_t size = 2; size < whole.size(); ++size) {
    std::vector<uint8_t> file(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    file.shrink_to_fit();
    const Outcome outcome = read_with_both(file, region);
    if (outcome.error.empty()) {
      CHECK(outcome.pixels == expected.pixels);
    } else {
      CHECK(size < whole.size() - 2 && outcome.error.find("truncated") != std::string::npos);
    }
  }
}

void compare_cut_files() {
  const Region all{0, 0, 1 << 16, 1 << 16};
  Encoding plain{40, 56}, restarting{40, 56}, random{40, 56}, gray{40, 56}, progressive{40, 56}, scan_each{40, 56};
  restarting.restart_interval = 5, random.random_codes = true, gray.components = 1;
  progressive.progressive = scan_each.scan_each = true;
  for (const Encoding& encoding : {plain, restarting, random, gray, progressive, scan_each}) {
    compare_cut(encode(encoding, 6), all);
  }
  compare_cut(encode(plain, 7), Region{8, 8, 16, 24});
}

// Bytes that fill, before a stuffed zero: it still says that 0xFF is data.
void compare_filled_files() {
  const Region all{0, 0, 1 << 16, 1 << 16};
  const std::vector<uint8_t> whole = encode(Encoding{40, 56}, 6);
  const Outcome expected = read_with_both(whole, all);
  const uint8_t start_of_scan[] = {0xFF, 0xDA};
  auto at = std::search(whole.begin(), whole.end(), std::begin(start_of_scan), std::end(start_of_scan)) - whole.begin();
  int count = 0;
  for (auto i = static_cast<size_t>(at) + 2; i + 2 < whole.size(); ++i) {
    if (whole[i] != 0xFF || whole[i + 1] != 0) continue;
    std::vector<uint8_t> file(whole);
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(i), 2, uint8_t{0xFF});
    CHECK(read_with_both(file, all).pixels == expected.pixels);
    ++count;
  }
  CHECK(count > 0);
  for (unsigned seed = 0; seed < 100; ++seed) {  // after the last pixel, where libjpeg-turbo has read ahead or not
    std::vector<uint8_t> file = encode(Encoding{13, 17}, seed);
    file.erase(file.end() - 2, file.end());
    file.insert(file.end(), {0xFF, 0xFF, 0x00, 0xD9});
    read_with_both(file, all);
  }
}

void compare_damaged_files() {
  const Region whole{0, 0, 1 << 16, 1 << 16};
  Encoding encoding{40, 56};
  encoding.restart_interval = 5;
  compare_damaged(encode(encoding, 3), whole);
  Encoding coarse{40, 56};  // one value more or less is a large one, often without others
  coarse.quality = 1, coarse.random_codes = true;
  compare_damaged(encode(coarse, 4), whole);
  Encoding gray{40, 56};
  gray.components = 1;
  std::vector<uint8_t> sampled_twice = encode(gray, 5);  // says so, which is allowed and means nothing
  const uint8_t frame[] = {0xFF, 0xC0};
  const auto found = std::search(sampled_twice.begin(), sampled_twice.end(), std::begin(frame), std::end(frame));
  found[11] = 0x22;
  compare_damaged(sampled_twice, Region{0, 0, 4, 1 << 16});
}

}  // namespace

int main(int count, char** arguments) {
  const int files = count > 1 ? std::atoi(arguments[1]) : 1000;
  const int unaided = compare_files(files);
  if (BaselineReader::is_supported()) CHECK(unaided > 2 * files);  // the rest is of small or unusual files
  compare_damaged_files();
  compare_filled_files();
  compare_cut_files();
  return 0;
}
