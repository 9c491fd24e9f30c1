// What is asked of a reader of images, and how it answers.
#pragma once

#include <cstdint>

namespace penstock::kernels {

// The requested part of an image, in pixels at the scale of decoding.
struct Region {
  int64_t top, left, height, width;
};

// Receives row `y` of a region, counted from its top: width * channels bytes, and 64 readable bytes after them.
using RowSink = void (*)(void* context, int64_t y, const uint8_t* row);

}  // namespace penstock::kernels
