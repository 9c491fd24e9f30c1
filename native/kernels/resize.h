// Resamples rows of 8-bit pixels: taps are the integer weights of one axis, and the passes apply them.
//
// All arithmetic after the weights is on integers, so that every path (vector or scalar, fused or composed, and the
// NumPy twin) gives the same pixels: weights have 14 fractional bits and sum to exactly 1; the horizontal pass keeps
// the difference from 128 with 7 fractional bits in int16, which has room for bicubic overshoot (-128 to 383); the
// vertical pass rounds to uint8, and is the only one to clip.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::kernels {

enum class Filter : int { nearest = 0, bilinear = 1, bicubic = 2 };

// The places of the outputs of one axis on the input. Positions are in pixels of the decoded image.
struct Axis {
  double start, size;           // the source box: [start, start + size)
  int64_t resized;              // number of outputs of the whole box
  int64_t window, outputs;      // the requested ones: [window, window + outputs)
  bool mirror_source = false;   // the box is read from its far end
  bool mirror_outputs = false;  // the requested outputs are written from the last to the first
};

// For output i: the inputs first[i] .. first[i] + count - 1, with weights[i * count ..]. `count` is even, so that taps
// can be applied in pairs; the weights beyond an output's own are zero.
struct Taps {
  int64_t count = 0;
  std::vector<int32_t> first;    // shape (outputs,)
  std::vector<int16_t> weights;  // shape (outputs, count)
  int64_t low = 0, high = 0;     // the inputs with weight: [low, high)
  bool overshoots = false;       // whether weights may be negative
  std::vector<double> exact;     // scratch, shape (count,)

  // The same for vectors over rows of three channels, which prepare() fills in a layout of its own: the number of bytes
  // of the row that a vector (or lane) reads, 0 if neighboring outputs lie too far apart; the begins of these bytes in
  // a row that begins at `low`; their permutation; and their weights.
  int window = 0;
  std::vector<int32_t> window_begins;
  std::vector<uint8_t> window_shuffles;
  std::vector<int16_t> window_weights;
};

// Fills `taps`, with inputs counted from pixel 0 of the image. With `antialias` the filter is as wide as the reduction
// (Pillow, torchvision); without it, bilinear is plain two-tap interpolation at half-pixel centers and bicubic the
// four-tap kernel with a = -0.75 (OpenCV, torch).
void make_taps(Filter filter, bool antialias, const Axis& axis, Taps& taps);

// Makes one row of int16 (outputs * channels) of one row of uint8; `row` begins at pixel `origin` of the image and has
// 64 readable bytes after the last pixel. Writes up to 16 bytes past the end of `out`.
using HorizontalPass = void (*)(const uint8_t* row, int64_t origin, const Taps& taps, int64_t channels, int16_t* out);

// Makes `length` bytes of `count` rows of int16 and their weights (count even).
using VerticalPass = void (*)(const int16_t* const* rows, const int16_t* weights, int64_t count, int64_t length,
                              uint8_t* out);

// Does the same with two rows that do not overshoot; `weight` is that of the second, 0 to 2^14.
using BetweenPass = void (*)(const int16_t* first, const int16_t* second, int weight, int64_t length, uint8_t* out);

// Fills the data of the horizontal pass besides the taps.
using PrepareTaps = void (*)(int64_t channels, Taps& taps);

struct ResizePasses {
  PrepareTaps prepare;
  HorizontalPass horizontal;
  VerticalPass vertical;
  BetweenPass between;
};

const ResizePasses& portable_resize();
const ResizePasses* avx2_resize();  // null without support of processor and compiler
const ResizePasses& best_resize();

// Converts rows that arrive one by one, top to bottom, to resized rows, keeping only the rows for the next output.
class RowResizer {
 public:
  using Emit = void (*)(void* context, int64_t y, const uint8_t* row);

  // The taps must outlive the rows. `origin` is the image column at which the pushed rows begin.
  void begin(Taps& horizontal, const Taps& vertical, int64_t origin, int64_t channels);

  // Takes image row y (rows outside [vertical.low, vertical.high) may be left out) and emits completed rows. With
  // `direct` set, the row is written at direct + y * stride instead of into scratch memory before it is emitted.
  void push(int64_t y, const uint8_t* row, uint8_t* direct, int64_t stride, Emit emit, void* context);

 private:
  const Taps* horizontal_ = nullptr;
  const Taps* vertical_ = nullptr;
  int64_t origin_ = 0, channels_ = 0, length_ = 0, pitch_ = 0, mask_ = 0, next_ = 0;
  std::vector<int16_t> ring_;           // shape (mask + 1, pitch): row y lies at y & mask
  std::vector<const int16_t*> window_;  // shape (count,): the rows of the next output
  std::vector<uint8_t> resized_;        // one finished row, with 64 bytes of slack
};

}  // namespace penstock::kernels
