// Images: regions equal the same part of a whole decode, vector paths equal the portable ones, damage is an error.
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/image_run.h"
#include "tests/check.h"
#include "tests/encode.h"

using namespace penstock::kernels;
using penstock::tests::encode;
using penstock::tests::Encoding;

namespace {

constexpr int64_t kMaxPixels = 1 << 24;
std::mt19937 random_bits(7);

int64_t below(int64_t count) { return static_cast<int64_t>(random_bits() % static_cast<uint64_t>(count)); }

struct Rows {
  std::vector<uint8_t> bytes;
  size_t length;
  int64_t count = 0;

  static void take(void* context, int64_t y, const uint8_t* row) {
    Rows& rows = *static_cast<Rows*>(context);
    CHECK(y == rows.count++);
    rows.bytes.insert(rows.bytes.end(), row, row + rows.length);
  }
};

// A whole decode by libjpeg alone.
std::vector<uint8_t> decode_whole(const std::vector<uint8_t>& file, int denominator, int channels, int64_t* height,
                                  int64_t* width) {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file.data(), file.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.scale_num = 1;
  jpeg.scale_denom = static_cast<unsigned>(denominator);
  jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  *height = jpeg.output_height;
  *width = jpeg.output_width;
  const size_t stride = static_cast<size_t>(jpeg.output_width) * static_cast<size_t>(channels);
  std::vector<uint8_t> pixels(stride * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels.data() + stride * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_destroy_decompress(&jpeg);
  return pixels;
}

void check_regions(const Encoding& encoding, unsigned seed, int regions) {
  const std::vector<uint8_t> file = encode(encoding, seed);
  JpegReader reader;
  for (const int channels : {1, 3}) {
    for (const int denominator : {1, 2, 4, 8}) {
      int64_t height, width;
      const std::vector<uint8_t> whole = decode_whole(file, denominator, channels, &height, &width);
      for (int i = 0; i < regions; ++i) {
        Region region;
        region.height = 1 + (i % 2 ? below(height) : below(std::min<int64_t>(height, 4)));
        region.width = 1 + (i % 3 ? below(width) : below(std::min<int64_t>(width, 4)));
        region.top = below(height - region.height + 1);
        region.left = below(width - region.width + 1);
        Rows rows{{}, static_cast<size_t>(region.width * channels)};
        CHECK(reader.open(file.data(), file.size(), kMaxPixels));
        CHECK(reader.read(denominator, channels, region, Rows::take, &rows));
        CHECK(rows.count == region.height);
        for (int64_t y = 0; y < region.height; ++y) {
          const uint8_t* expected = whole.data() + ((region.top + y) * width + region.left) * channels;
          CHECK(!std::memcmp(expected, rows.bytes.data() + static_cast<size_t>(y) * rows.length, rows.length));
        }
      }
    }
  }
}

void test_regions() {
  const int samplings[][4] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {2, 2, 1, 1}, {1, 2, 1, 1}, {4, 1, 1, 1},
                              {4, 2, 1, 1}, {1, 4, 1, 1}, {2, 4, 1, 1}, {3, 1, 1, 1}, {1, 3, 1, 1},
                              {2, 2, 1, 2}, {2, 2, 2, 1}, {1, 1, 2, 2}, {1, 2, 2, 1}, {4, 1, 2, 1}};
  const int sizes[][2] = {{1, 1}, {2, 3}, {7, 9}, {8, 8}, {16, 16}, {17, 33}, {31, 64}, {65, 47}, {97, 130}};
  unsigned seed = 0;
  for (const auto& sampling : samplings) {
    for (const auto& size : sizes) {
      const Encoding encoding{size[0],       size[1],      3, sampling[0], sampling[1], sampling[2], sampling[3],
                              seed % 3 == 0, seed % 4 == 3};
      check_regions(encoding, ++seed, 12);
    }
  }
  for (const auto& size : sizes) check_regions(Encoding{size[0], size[1], 1}, ++seed, 12);
}

bool same_taps_result(const ResizePasses& passes, const Filter filter, bool antialias) {
  const int64_t inputs = 1 + below(900), outputs = 1 + below(400);
  const double start = static_cast<double>(below(64)) / 8, size = static_cast<double>(inputs) - start;
  if (size <= 0) return true;
  Taps taps;
  const Axis axis{start, size, outputs, 0, outputs, below(2) == 1, below(2) == 1};
  make_taps(filter, antialias, axis, taps);
  for (const int64_t channels : {1, 3}) {
    passes.prepare(channels, taps);
    const int64_t width = taps.high - taps.low, length = outputs * channels;
    std::unique_ptr<uint8_t[]> row(new uint8_t[static_cast<size_t>(width * channels) + 64]());
    for (int64_t i = 0; i < width * channels; ++i) row[i] = static_cast<uint8_t>(below(8) ? below(256) : 255);
    const size_t room = static_cast<size_t>(length + 63) / 32 * 32;
    std::vector<int16_t> expected(room), found(room);
    portable_resize().horizontal(row.get(), taps.low, taps, channels, expected.data());
    passes.horizontal(row.get(), taps.low, taps, channels, found.data());
    if (std::memcmp(expected.data(), found.data(), sizeof(int16_t) * static_cast<size_t>(length)) != 0) return false;

    const int64_t count = taps.count;
    std::vector<std::vector<int16_t>> rows(static_cast<size_t>(count), expected);
    std::vector<const int16_t*> pointers;
    for (auto& values : rows) {
      for (auto& value : values) value = static_cast<int16_t>(below(255 * 128 + 1));
      pointers.push_back(values.data());
    }
    std::unique_ptr<uint8_t[]> a(new uint8_t[static_cast<size_t>(length)]), b(new uint8_t[static_cast<size_t>(length)]);
    portable_resize().vertical(pointers.data(), taps.weights.data(), count, length, a.get());
    passes.vertical(pointers.data(), taps.weights.data(), count, length, b.get());
    if (std::memcmp(a.get(), b.get(), static_cast<size_t>(length)) != 0) return false;
  }
  return true;
}

void test_passes() {
  if (avx2_resize() == nullptr) return;
  for (int i = 0; i < 300; ++i) {
    const Filter filter = static_cast<Filter>(below(3));
    CHECK(same_taps_result(*avx2_resize(), filter, below(2) == 1));
  }
}

// Rows of interpolated bytes lie between -2^14 and 2^14 - 2^7.
void test_between_rows() {
  if (avx2_resize() == nullptr) return;
  constexpr int kWeights = 1 << 14, kLargest = kWeights - (1 << 7);
  std::vector<int16_t> rows[2];
  for (int weight = 0; weight <= kWeights; ++weight) {
    const int64_t length = 1 + below(100);
    for (auto& row : rows) {
      row.assign(static_cast<size_t>(length + 63) / 32 * 32, 0);
      for (auto& value : row) {
        const int64_t draw = below(kWeights + kLargest + 1) - kWeights;
        value = static_cast<int16_t>(below(8) ? draw : below(2) ? kLargest : -kWeights);
      }
    }
    std::vector<uint8_t> expected(static_cast<size_t>(length)), found(static_cast<size_t>(length));
    portable_resize().between(rows[0].data(), rows[1].data(), weight, length, expected.data());
    avx2_resize()->between(rows[0].data(), rows[1].data(), weight, length, found.data());
    CHECK(expected == found);
  }
}

void test_weights_sum_to_one() {
  for (int i = 0; i < 2000; ++i) {
    Taps taps;
    const int64_t inputs = 1 + below(3000), outputs = 1 + below(500);
    make_taps(static_cast<Filter>(below(3)), below(2) == 1,
              Axis{0.0, static_cast<double>(inputs), outputs, 0, outputs, below(2) == 1, below(2) == 1}, taps);
    for (int64_t o = 0; o < outputs; ++o) {
      int sum = 0;
      for (int64_t k = 0; k < taps.count; ++k) sum += taps.weights[static_cast<size_t>(o * taps.count + k)];
      CHECK(sum == 1 << 14);
      CHECK(taps.first[static_cast<size_t>(o)] >= 0 && taps.first[static_cast<size_t>(o)] < inputs);
    }
  }
}

void check_row_writers(PixelType type, bool planar, int64_t channels, int64_t height, int64_t width) {
  PixelFormat format;
  format.type = type;
  format.planar = planar;
  format.channels = channels;
  for (int c = 0; c < 3; ++c) {
    format.gain[c] = 1.0f / static_cast<float>(1 + below(300));
    format.offset[c] = static_cast<float>(below(7)) - 3.0f;
  }
  const size_t bytes = static_cast<size_t>(height * width * channels) * format.value_bytes();
  std::unique_ptr<uint8_t[]> row(new uint8_t[static_cast<size_t>(width * channels) + 64]());
  std::unique_ptr<uint8_t[]> a(new uint8_t[bytes]()), memory(new uint8_t[bytes + 64]());
  uint8_t* const b = memory.get() + (64 - reinterpret_cast<uintptr_t>(memory.get()) % 64);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width * channels; ++x) row[x] = static_cast<uint8_t>(below(256));
    portable_write_row()(format, row.get(), y, height, width, a.get());
    avx2_write_row()(format, row.get(), y, height, width, b);
  }
  CHECK(!std::memcmp(a.get(), b, bytes));
}

void test_row_writers() {
  if (avx2_write_row() == nullptr) return;
  for (int i = 0; i < 200; ++i) {
    const auto type = static_cast<PixelType>(below(3));
    check_row_writers(type, below(2) == 1, below(2) == 1 ? 3 : 1, 1 + below(3), 1 + below(70));
  }
  for (const int64_t width : {1000, 1008, 1001}) {  // large images, whose floats are written past the caches
    for (const bool planar : {false, true}) check_row_writers(PixelType::float32, planar, 3, 23, width);
  }
}

void test_halves() {
  CHECK(half_bits(0.0f) == 0x0000 && half_bits(-0.0f) == 0x8000 && half_bits(1.0f) == 0x3C00);
  CHECK(half_bits(65504.0f) == 0x7BFF && half_bits(65519.9f) == 0x7BFF && half_bits(65520.0f) == 0x7C00);
  CHECK(half_bits(1.0f + 0x1p-11f) == 0x3C00 && half_bits(1.0f + 0x3p-11f) == 0x3C02);  // ties to even
  CHECK(half_bits(0x1p-24f) == 0x0001 && half_bits(0x1p-25f) == 0x0000 && half_bits(0x3p-25f) == 0x0002);
  CHECK(half_bits(0x1.ff8p-15f) == 0x03FF && half_bits(0x1p-14f) == 0x0400);
}

// Every beginning of a file, in memory that holds not a byte more, is an image or an error.
void test_truncated() {
  ImageProgram program;
  program.max_pixels = kMaxPixels;
  program.ops.push_back(GeometryOp{GeometryKind::resize, 0, 0, 12, 10, Filter::bilinear, true, {}, {}, 0.0});
  const uint64_t draws[1] = {0};
  for (const bool progressive : {false, true}) {
    const std::vector<uint8_t> file = encode(Encoding{40, 56, 3, 2, 2, 1, 1, progressive}, 3);
    ImageRunner runner;
    int failures = 0;
    for (size_t size = 0; size <= file.size(); ++size) {
      std::unique_ptr<uint8_t[]> exact(new uint8_t[size + (size == 0)]);
      std::memcpy(exact.get(), file.data(), size);
      std::unique_ptr<uint8_t[]> out(new uint8_t[12 * 10 * 3]);
      const ImageStatus status = runner.run(program, exact.get(), size, draws, 12, 10, out.get());
      if (size < 3) CHECK(status == ImageStatus::elsewhere);
      if (size == file.size()) CHECK(status == ImageStatus::done);
      failures += status == ImageStatus::undecodable;
      if (status == ImageStatus::undecodable) CHECK(!runner.error().empty());
      (void)exif_orientation(exact.get(), size);
    }
    CHECK(failures > static_cast<int>(file.size()) * 9 / 10);
  }
}

void test_limits() {
  const std::vector<uint8_t> file = encode(Encoding{40, 56}, 3);
  JpegReader reader;
  CHECK(!reader.open(file.data(), file.size(), 40 * 56 - 1));
  CHECK(reader.error().find("56 x 40 pixels") != std::string::npos);
  CHECK(reader.open(file.data(), file.size(), 40 * 56));
}

}  // namespace

int main() {
  test_regions();
  test_passes();
  test_between_rows();
  test_weights_sum_to_one();
  test_row_writers();
  test_halves();
  test_truncated();
  test_limits();
}
