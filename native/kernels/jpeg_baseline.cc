#include "kernels/jpeg_baseline.h"

#include <algorithm>
#include <cstring>

#include "kernels/jpeg_idct.h"
#include "kernels/jpeg_rows.h"
#include "kernels/jpeg_scan.h"

namespace penstock::kernels {

#ifdef PENSTOCK_FAST_JPEG

namespace {

constexpr int kBands = 2;   // rows of MCUs whose samples are kept
constexpr int kAtOnce = 2;  // MCUs, so that each component has an even number of blocks

// The samples of one component: those of some columns, in the last rows of MCUs.
struct Plane {
  int size = 8;                    // samples of a block, in each direction, at the scale of decoding
  int expand_x = 1, expand_y = 1;  // pixels of a sample
  int64_t width = 0, height = 0;   // of the whole image
  int64_t left = 0;                // the first kept column
  int64_t band = 0;                // rows of a row of MCUs, a power of two
  int64_t stride = 0;
  std::vector<uint8_t> samples;
  alignas(16) int16_t steps[64];

  void keep(int64_t first, int64_t count, int64_t rows) {
    left = first;
    band = rows;
    stride = (count + kRowSlack + 63) / 64 * 64;
    const auto size_needed = static_cast<size_t>(kBands * band * stride + 2 * kRowSlack);
    if (samples.size() < size_needed) samples.resize(size_needed);
  }

  uint8_t* row(int64_t y) { return samples.data() + kRowSlack + (y & (kBands * band - 1)) * stride; }
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

class BaselineReader::Decoder {
 public:
  int64_t read(const jpeg_decompress_struct& header, const uint8_t* data, const uint8_t* end, int denominator,
               int channels, const Region& region, RowSink sink, void* context) {
    if (!scan_.open(header, data, end) || !plan(header, denominator, channels, region)) return 0;
    int64_t emitted = 0;  // the last row not before all rows of MCUs are seen to be sound that libjpeg-turbo would read
    for (int64_t row = 0; row <= last_row_; ++row) {
      if (!(row < first_row_ ? scan_.skip(mcus_x_) : decode_row(row))) break;
      if (row == last_row_ && !(scan_.skip(mcus_x_ * rows_after_) && (!reads_all_ || scan_.is_at_end()))) break;
      if (row < first_row_) continue;
      const int64_t done = (row + 1) * mcu_height_ - (between_rows_ ? 1 : 0) - region.top;
      const int64_t ready = row == last_row_ ? region.height : std::min(done, region.height - 1);
      for (; emitted < ready; ++emitted) sink(context, emitted, pixels(region, region.top + emitted));
    }
    return emitted;
  }

 private:
  // Finds the rows and columns of MCUs, and what is kept of them. Returns false for what is left to libjpeg-turbo.
  bool plan(const jpeg_decompress_struct& header, int denominator, int channels, const Region& region) {
    const int scale = 8 / denominator, most_x = header.max_h_samp_factor, most_y = header.max_v_samp_factor;
    count_ = channels == 1 ? 1 : header.num_components, row_channels_ = channels;
    mcus_x_ = scan_.mcus_x();
    mcu_height_ = int64_t{scan_.block_rows()} * scale;
    const int64_t mcu_width = int64_t{scan_.block_columns()} * scale;
    const int64_t right = region.left + region.width - 1, bottom = region.top + region.height - 1;
    between_rows_ = false;
    int64_t first_column = region.left / mcu_width, last_column = right / mcu_width;
    first_row_ = region.top / mcu_height_, last_row_ = bottom / mcu_height_;
    for (int i = 0; i < count_; ++i) {
      const jpeg_component_info& part = header.comp_info[i];
      Plane& plane = planes_[i];
      plane.size = scale, plane.expand_x = plane.expand_y = 1;
      if (i > 0) {
        while (plane.size < 8 && most_x % (part.h_samp_factor * plane.size / scale * 2) == 0 &&
               most_y % (part.v_samp_factor * plane.size / scale * 2) == 0) {
          plane.size *= 2;
        }
        plane.expand_x = most_x * scale / (part.h_samp_factor * plane.size);
        plane.expand_y = most_y * scale / (part.v_samp_factor * plane.size);
      }
      plane.width = ceil_div(int64_t{header.image_width} * scale, 8 * plane.expand_x);
      plane.height = ceil_div(int64_t{header.image_height} * scale, 8 * plane.expand_y);
      const bool expands = plane.expand_x > 1 || plane.expand_y > 1;
      if (expands && (scale == 1 || (plane.expand_x > 1 && plane.width <= 2))) return false;  // not smoothly
      for (int k = 0; k < 64; ++k)
        plane.steps[k] = static_cast<int16_t>(header.quant_tbl_ptrs[part.quant_tbl_no]->quantval[k]);
      if (plane.expand_x > 1) {  // the neighbors of the first and of the last sample
        const int64_t samples = mcu_width / plane.expand_x;
        first_column = std::min(first_column, std::max<int64_t>(region.left / 2 - 1, 0) / samples);
        last_column = std::max(last_column, std::min(right / 2 + 1, plane.width - 1) / samples);
      }
      if (plane.expand_y > 1) {
        between_rows_ = true;
        const int64_t samples = mcu_height_ / plane.expand_y;
        first_row_ = std::min(first_row_, std::max<int64_t>(region.top / 2 - 1, 0) / samples);
        last_row_ = std::max(last_row_, std::min(bottom / 2 + 1, plane.height - 1) / samples);
      }
    }
    first_column_ = first_column, columns_ = last_column - first_column + 1;
    // An only component may say that it is sampled more than once: libjpeg-turbo then reads as many rows at a time.
    const int64_t at_once = header.num_components == 1 ? header.comp_info[0].v_samp_factor : 1;
    const int64_t rows = ceil_div(header.image_height, int64_t{8} * scan_.block_rows());
    rows_after_ = std::min(rows, ceil_div(last_row_ + 1, at_once) * at_once) - (last_row_ + 1);
    reads_all_ = last_row_ + 1 + rows_after_ == rows;
    for (int i = 0; i < count_; ++i) {
      Plane& plane = planes_[i];
      const int64_t width = mcu_width / plane.expand_x;
      plane.keep(first_column * width, columns_ * width, mcu_height_ / plane.expand_y);
    }
    const auto most = static_cast<size_t>(region.width + 2 * kRowSlack);
    if (row_.size() < 3 * most) {
      row_.resize(3 * most);
      for (int i = 0; i < 2; ++i) tall_[i].resize(most), sums_[i].resize(most);
    }
    return true;
  }

  PENSTOCK_FAST_JPEG bool decode_row(int64_t row) {
    if (first_column_ > 0 && !scan_.skip(first_column_)) return false;
    uint8_t* out[3];
    for (int i = 0; i < count_; ++i) out[i] = planes_[i].row(row * planes_[i].band);
    for (int64_t x = 0; x < columns_; x += kAtOnce) {
      const int64_t count = std::min<int64_t>(kAtOnce, columns_ - x);
      if (!scan_.decode(count, count_)) return false;
      for (int i = 0; i < count_; ++i) {
        if (!transform(i, count, out[i])) return false;
        out[i] += count * scan_.across(i) * planes_[i].size;
      }
    }
    const int64_t rest = mcus_x_ - first_column_ - columns_;
    return rest == 0 || scan_.skip(rest);
  }

  // Transforms the blocks of a component in the `count` MCUs that were decoded last.
  PENSTOCK_FAST_JPEG bool transform(int component, int64_t count, uint8_t* begin) {
    const Plane& plane = planes_[component];
    const int across = scan_.across(component), down = scan_.down(component), size = plane.size;
    const int64_t down_by = size * plane.stride;
    Waiting waiting;
    for (int m = 0; m < count; ++m, begin += across * size) {
      const ScannedBlock* block = scan_.blocks(m, component);
      uint8_t* out = begin;
      for (int i = 0; i < down; ++i, out += down_by) {
        for (int j = 0; j < across; ++j, ++block) {
          if (!transform(*block, plane, out + j * size, waiting)) return false;
        }
      }
    }
    const bool any = waiting.count[0] > 0, in_corner = waiting.count[1] > 0;
    if (!any && !in_corner) return true;
    BlockPair& pair = waiting.pairs[any ? 0 : 1];
    const BlockPair& other = waiting.pairs[in_corner ? 1 : 0];  // a block alone is transformed twice
    pair.block[1] = other.block[0], pair.out[1] = other.out[0];
    return finish(pair, plane, !any);
  }

  // Blocks that wait for another, to be transformed as a pair: of any values, and of values in their corner only.
  struct Waiting {
    BlockPair pairs[2];
    int count[2] = {0, 0};
  };

  PENSTOCK_FAST_JPEG_INLINE static bool transform(const ScannedBlock& block, const Plane& plane, uint8_t* out,
                                                  Waiting& waiting) {
    const int64_t mean = int64_t{block.values[0]} * static_cast<uint16_t>(plane.steps[0]);
    if (block.dc != block.values[0] || mean > kLargestMean || mean < -kLargestMean) return false;
    if (block.is_flat() || plane.size == 1) {
      fill(flat_sample(static_cast<int>(mean)), plane, out);
      return true;
    }
    const int kind = block.is_in_corner() ? 1 : 0, place = waiting.count[kind];
    BlockPair& pair = waiting.pairs[kind];
    pair.block[place] = block.values, pair.out[place] = out;
    waiting.count[kind] = 1 - place;
    return place == 0 || finish(pair, plane, kind == 1);
  }

  PENSTOCK_FAST_JPEG_INLINE static void fill(uint8_t sample, const Plane& plane, uint8_t* out) {
    const int64_t stride = plane.stride;  // stores of bytes may change members, as far as the compiler knows
    if (plane.size == 8) {
      for (int y = 0; y < 8; ++y, out += stride) std::memset(out, sample, 8);
    } else {
      for (int y = 0; y < plane.size; ++y) std::memset(out + y * stride, sample, static_cast<size_t>(plane.size));
    }
  }

  PENSTOCK_FAST_JPEG static bool finish(const BlockPair& pair, const Plane& plane, bool in_corner) {
    switch (plane.size) {
      case 8:
        return in_corner ? transform_8<true>(pair, plane.stride, plane.steps)
                         : transform_8<false>(pair, plane.stride, plane.steps);
      case 4:
        return transform_4(pair, plane.stride, plane.steps);
      default:
        return transform_2(pair, plane.stride, plane.steps);
    }
  }

  PENSTOCK_FAST_JPEG const uint8_t* pixels(const Region& region, int64_t y) {
    const uint8_t* const luma = planes_[0].row(y) + region.left - planes_[0].left;
    if (count_ == 1 && row_channels_ == 1) return luma;
    uint8_t* const row = row_.data();
    if (count_ == 1) {
      for (int64_t x = 0; x < region.width; ++x) row[3 * x] = row[3 * x + 1] = row[3 * x + 2] = luma[x];
      return row;
    }
    if (planes_[1].expand_x == 1) {
      convert_row(luma, tall_samples(1, region, y), tall_samples(2, region, y), region.width, row);
      return row;
    }
    const int64_t before = region.left % 2, width = before + region.width;  // pixels come in pairs
    const int16_t *const blue = weighted(1, region, y), *const red = weighted(2, region, y);
    if (planes_[1].expand_y > 1) {
      widen_and_convert_row<true>(luma - before, blue, red, width, row);
    } else {
      widen_and_convert_row<false>(luma - before, blue, red, width, row);
    }
    return row + 3 * before;
  }

  // The rows of samples next to row y of pixels: the one that it lies in, and the one that it is nearer to.
  struct Rows {
    const uint8_t *near, *far;
  };

  static Rows rows_at(Plane& plane, int64_t y) {
    const uint8_t* const near = plane.row(plane.expand_y > 1 ? y / 2 : y);
    if (plane.expand_y == 1) return {near, near};
    return {near, plane.row(std::clamp<int64_t>(y % 2 == 0 ? y / 2 - 1 : y / 2 + 1, 0, plane.height - 1))};
  }

  // The samples of a component with as many columns as pixels, for the pixels of row y.
  PENSTOCK_FAST_JPEG const uint8_t* tall_samples(int component, const Region& region, int64_t y) {
    Plane& plane = planes_[component];
    const auto [near, far] = rows_at(plane, y);
    const int64_t first = region.left - plane.left;
    if (plane.expand_y == 1) return near + first;
    uint8_t* const out = tall_[component - 1].data();
    mix_rows(near + first, far + first, y % 2 == 0 ? 1 : 2, region.width, out);
    return out;
  }

  // The sums of the samples of a component with half as many columns, for the pixels of row y.
  PENSTOCK_FAST_JPEG const int16_t* weighted(int component, const Region& region, int64_t y) {
    Plane& plane = planes_[component];
    const auto [near, far] = rows_at(plane, y);
    const int64_t first = region.left / 2, last = (region.left + region.width - 1) / 2, count = last - first + 1;
    const int64_t before = first - plane.left - 1;
    int16_t* const sums = sums_[component - 1].data() + 16;
    if (plane.expand_y > 1) {
      weigh_rows<true>(near + before, far + before, count + 2, sums - 1);
    } else {
      weigh_rows<false>(near + before, near + before, count + 2, sums - 1);
    }
    if (first == 0) sums[-1] = sums[0];
    if (last == plane.width - 1) sums[count] = sums[count - 1];
    return sums;
  }

  static constexpr int64_t kLargestMean = 4000;  // four times what encoders write; far beyond, libjpeg-turbo wraps

  Scan scan_;
  Plane planes_[3];
  int count_ = 0;  // of the components that are made pixels
  int row_channels_ = 0;
  int64_t mcus_x_ = 0, mcu_height_ = 0;
  int64_t rows_after_ = 0;  // of MCUs that are read only to see whether they are sound
  int64_t first_row_ = 0, last_row_ = 0, first_column_ = 0, columns_ = 0;  // of MCUs
  bool reads_all_ = false;                                                 // whether no row of MCUs is left
  bool between_rows_ = false;                                              // whether chroma lies between rows of pixels
  std::vector<uint8_t> row_, tall_[2];
  std::vector<int16_t> sums_[2];
};

bool BaselineReader::is_supported() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

BaselineReader::BaselineReader() {
  if (is_supported()) decoder_ = std::make_unique<Decoder>();
}

int64_t BaselineReader::read(const jpeg_decompress_struct& header, const uint8_t* scan, const uint8_t* end,
                             int denominator, int channels, const Region& region, RowSink sink, void* context) {
  return decoder_ ? decoder_->read(header, scan, end, denominator, channels, region, sink, context) : 0;
}

#else

class BaselineReader::Decoder {};

bool BaselineReader::is_supported() { return false; }

BaselineReader::BaselineReader() = default;

int64_t BaselineReader::read(const jpeg_decompress_struct&, const uint8_t*, const uint8_t*, int, int, const Region&,
                             RowSink, void*) {
  return 0;
}

#endif

BaselineReader::~BaselineReader() = default;

}  // namespace penstock::kernels
