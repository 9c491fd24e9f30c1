#include "kernels/resize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace penstock::kernels {
namespace {

constexpr int kWeightBits = 14;
constexpr int kRowBits = 7;        // fractional bits between the passes
constexpr int kMiddle = 128;       // rows are kept as differences from it
constexpr double kBias = 1 << 20;  // makes floor() of small negative numbers a truncation

int64_t floor_biased(double value) { return static_cast<int64_t>(value + kBias) - static_cast<int64_t>(kBias); }

double triangle(double x) {
  x = std::fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

// Keys' cubic convolution kernel.
double cubic(double x, double a) {
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

double filter_at(Filter filter, double x, double a) { return filter == Filter::bilinear ? triangle(x) : cubic(x, a); }

// Rounds the running sum of the weights, not each weight: the sum is exact, and no error grows with the count.
void quantise(const double* exact, int64_t count, int16_t* weights, bool reversed) {
  double sum = 0.0;
  for (int64_t k = 0; k < count; ++k) sum += exact[k];
  const double unit = (1 << kWeightBits) / sum;
  double running = 0.0;
  int64_t before = 0;
  for (int64_t k = 0; k < count; ++k) {
    running += exact[k];
    const int64_t now = floor_biased(running * unit + 0.5);
    weights[reversed ? count - 1 - k : k] = static_cast<int16_t>(now - before);
    before = now;
  }
}

struct Span {
  int64_t first, count;
};

// The box in its own coordinates: input 0 is the pixel with the box's near edge, at `offset` inside that pixel.
struct Box {
  double offset, step;
  int64_t inputs;

  Span nearest(int64_t output, double* exact) const {
    const int64_t at = static_cast<int64_t>(offset + (static_cast<double>(output) + 0.5) * step);
    exact[0] = 1.0;
    return {std::min(at, inputs - 1), 1};
  }

  Span smooth(Filter filter, int64_t output, double* exact) const {
    const double widening = std::max(step, 1.0);
    const double support = (filter == Filter::bilinear ? 1.0 : 2.0) * widening;
    const double narrowing = 1.0 / widening;
    const double centre = offset + (static_cast<double>(output) + 0.5) * step;
    const int64_t first = static_cast<int64_t>(std::max(centre - support + 0.5, 0.0));
    const int64_t last = std::min(static_cast<int64_t>(centre + support + 0.5), inputs);
    for (int64_t k = first; k < last; ++k) {
      exact[k - first] = filter_at(filter, (static_cast<double>(k) - centre + 0.5) * narrowing, -0.5);
    }
    return {first, last - first};
  }

  // The taps that fall outside the box are those of its edge pixels.
  Span plain(Filter filter, int64_t output, double* exact) const {
    const int64_t reach = filter == Filter::bilinear ? 1 : 2;
    const double centre = offset + (static_cast<double>(output) + 0.5) * step - 0.5;
    const int64_t at = floor_biased(centre);
    const int64_t first = std::clamp<int64_t>(at - reach + 1, 0, inputs - 1);
    const int64_t last = std::clamp<int64_t>(at + reach, 0, inputs - 1);
    std::fill_n(exact, last - first + 1, 0.0);
    for (int64_t k = at - reach + 1; k <= at + reach; ++k) {
      exact[std::clamp<int64_t>(k, 0, inputs - 1) - first] += filter_at(filter, static_cast<double>(k) - centre, -0.75);
    }
    return {first, last - first + 1};
  }
};

// What `plain` and `quantise` give for two taps inside of the box; returns the first, or -1.
int64_t two_taps(const Box& box, int64_t output, int16_t* weights, bool reversed) {
  const double centre = box.offset + (static_cast<double>(output) + 0.5) * box.step - 0.5;
  const int64_t at = floor_biased(centre);
  if (at < 0 || at + 1 >= box.inputs) return -1;
  const double near = triangle(static_cast<double>(at) - centre), far = triangle(static_cast<double>(at + 1) - centre);
  const double unit = (1 << kWeightBits) / (near + far);
  const int64_t weight = floor_biased(near * unit + 0.5);
  weights[reversed ? 1 : 0] = static_cast<int16_t>(weight);
  weights[reversed ? 0 : 1] = static_cast<int16_t>(floor_biased((near + far) * unit + 0.5) - weight);
  return at;
}

int64_t most_taps(Filter filter, bool antialias, double step) {
  if (filter == Filter::nearest) return 2;
  const double reach = filter == Filter::bilinear ? 1.0 : 2.0;
  const int64_t count = antialias ? static_cast<int64_t>(std::ceil(reach * std::max(step, 1.0))) * 2 + 1
                                  : static_cast<int64_t>(reach) * 2;
  return count + count % 2;
}

void prepare_portable(int64_t, Taps&) {}

void horizontal_portable(const uint8_t* row, int64_t origin, const Taps& taps, int64_t channels, int16_t* out) {
  const int64_t outputs = static_cast<int64_t>(taps.first.size());
  for (int64_t i = 0; i < outputs; ++i) {
    const uint8_t* pixels = row + (taps.first[i] - origin) * channels;
    const int16_t* weights = taps.weights.data() + i * taps.count;
    for (int64_t c = 0; c < channels; ++c) {
      int32_t sum = (1 << (kWeightBits - kRowBits - 1)) - (kMiddle << kWeightBits);
      for (int64_t k = 0; k < taps.count; ++k) sum += weights[k] * pixels[k * channels + c];
      out[i * channels + c] = static_cast<int16_t>(std::clamp(sum >> (kWeightBits - kRowBits), INT16_MIN, INT16_MAX));
    }
  }
}

void vertical_portable(const int16_t* const* rows, const int16_t* weights, int64_t count, int64_t length,
                       uint8_t* out) {
  for (int64_t x = 0; x < length; ++x) {
    int32_t sum = (1 << (kWeightBits + kRowBits - 1)) + (kMiddle << (kWeightBits + kRowBits));
    for (int64_t k = 0; k < count; ++k) sum += weights[k] * rows[k][x];
    out[x] = static_cast<uint8_t>(std::clamp(sum >> (kWeightBits + kRowBits), 0, 255));
  }
}

void between_portable(const int16_t* first, const int16_t* second, int weight, int64_t length, uint8_t* out) {
  const int16_t* const rows[2] = {first, second};
  const int16_t weights[2] = {static_cast<int16_t>((1 << kWeightBits) - weight), static_cast<int16_t>(weight)};
  vertical_portable(rows, weights, 2, length, out);
}

// Moves the weights from rows of `most` to rows of the even count in use, and the outputs near the far edge to the
// left, with zeros before their weights, so that at most one input past `high` is read.
void compact(int64_t most, Taps& taps) {
  taps.count += taps.count % 2;
  for (int64_t i = 0; i < static_cast<int64_t>(taps.first.size()); ++i) {
    const int64_t first = taps.first[i];
    const int64_t shift = std::clamp<int64_t>(first + taps.count - taps.high, 0, first - taps.low);
    const int16_t* from = taps.weights.data() + i * most;
    int16_t* to = taps.weights.data() + i * taps.count;
    std::memmove(to + shift, from, sizeof(int16_t) * static_cast<size_t>(taps.count - shift));
    std::fill_n(to, shift, int16_t{0});
    taps.first[i] = static_cast<int32_t>(first - shift);
  }
}

}  // namespace

void make_taps(Filter filter, bool antialias, const Axis& axis, Taps& taps) {
  const double end = axis.start + axis.size;
  const double near = std::floor(axis.start), far = std::ceil(end);
  const Box box{axis.mirror_source ? far - end : axis.start - near, axis.size / static_cast<double>(axis.resized),
                static_cast<int64_t>(far - near)};
  const int64_t most = most_taps(filter, antialias, box.step);
  taps.first.resize(axis.outputs);
  taps.weights.assign(axis.outputs * most, 0);
  taps.exact.resize(most);
  taps.count = 0;
  taps.low = INT64_MAX;
  taps.high = 0;
  taps.overshoots = filter == Filter::bicubic;
  for (int64_t i = 0; i < axis.outputs; ++i) {
    const int64_t output = axis.window + (axis.mirror_outputs ? axis.outputs - 1 - i : i);
    double* exact = taps.exact.data();
    int16_t* const weights = taps.weights.data() + i * most;
    Span span{-1, 2};
    if (filter == Filter::bilinear && !antialias) span.first = two_taps(box, output, weights, axis.mirror_source);
    if (span.first < 0) {
      span = filter == Filter::nearest ? box.nearest(output, exact)
             : antialias               ? box.smooth(filter, output, exact)
                                       : box.plain(filter, output, exact);
      quantise(exact, span.count, weights, axis.mirror_source);
    }
    const int64_t first = axis.mirror_source ? static_cast<int64_t>(far) - span.first - span.count
                                             : static_cast<int64_t>(near) + span.first;
    taps.first[i] = static_cast<int32_t>(first);
    taps.low = std::min(taps.low, first);
    taps.high = std::max(taps.high, first + span.count);
    taps.count = std::max(taps.count, span.count);
  }
  compact(most, taps);
}

const ResizePasses& portable_resize() {
  static constexpr ResizePasses passes{prepare_portable, horizontal_portable, vertical_portable, between_portable};
  return passes;
}

const ResizePasses& best_resize() {
  static const ResizePasses& passes = avx2_resize() != nullptr ? *avx2_resize() : portable_resize();
  return passes;
}

void RowResizer::begin(Taps& horizontal, const Taps& vertical, int64_t origin, int64_t channels) {
  best_resize().prepare(channels, horizontal);
  horizontal_ = &horizontal;
  vertical_ = &vertical;
  origin_ = origin;
  channels_ = channels;
  length_ = static_cast<int64_t>(horizontal.first.size()) * channels;
  pitch_ = (length_ + 63) / 32 * 32;
  next_ = 0;
  mask_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(vertical.count))) - 1;
  if (static_cast<int64_t>(ring_.size()) < (mask_ + 1) * pitch_) ring_.resize((mask_ + 1) * pitch_);
  window_.resize(vertical.count);
  if (static_cast<int64_t>(resized_.size()) < length_ + 64) resized_.resize(length_ + 64);
}

void RowResizer::push(int64_t y, const uint8_t* row, uint8_t* direct, int64_t stride, Emit emit, void* context) {
  const int64_t outputs = static_cast<int64_t>(vertical_->first.size());
  const int64_t count = vertical_->count;
  if (next_ >= outputs || y < vertical_->first[next_]) return;
  const ResizePasses& passes = best_resize();
  passes.horizontal(row, origin_, *horizontal_, channels_, ring_.data() + (y & mask_) * pitch_);
  for (; next_ < outputs; ++next_) {
    const int64_t first = vertical_->first[next_];
    const int64_t last = std::min(first + count, vertical_->high) - 1;  // beyond it every weight is zero
    if (last > y) return;
    for (int64_t k = 0; k < count; ++k) {
      window_[k] = ring_.data() + (std::min(first + k, last) & mask_) * pitch_;
    }
    uint8_t* out = direct != nullptr ? direct + next_ * stride : resized_.data();
    const int16_t* const weights = vertical_->weights.data() + next_ * count;
    if (count == 2 && !vertical_->overshoots) {
      passes.between(window_[0], window_[1], weights[1], length_, out);
    } else {
      passes.vertical(window_.data(), weights, count, length_, out);
    }
    if (emit != nullptr) emit(context, next_, out);
  }
}

}  // namespace penstock::kernels
