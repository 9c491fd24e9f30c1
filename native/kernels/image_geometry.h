// Finds the source of the pixels of an image's result before decoding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/image_params.h"
#include "kernels/resize.h"

namespace penstock::kernels {

enum class GeometryKind : int { crop = 1, center_crop, random_crop, resize, random_resized_crop, random_flip };

// One geometric operation. Fields that its kind does not use are ignored.
struct GeometryOp {
  GeometryKind kind;
  int64_t top, left;      // crop
  int64_t height, width;  // the size of the result; width 0: `height` is the shorter side (resize)
  Filter filter;
  bool antialias;
  double scale[2], ratio[2];  // random_resized_crop
  double probability;         // random_flip
};

// A box, read from its right edge where flipped.
struct View {
  CropBox box;
  bool flipped;
};

// The result is `window` of the resampled `source`; without a resampling it is `source`.
struct Geometry {
  View source;
  bool resampled;
  Filter filter;
  bool antialias;
  int64_t resized_height, resized_width;
  View window;

  int64_t height() const { return resampled ? window.box.height : source.box.height; }
  int64_t width() const { return resampled ? window.box.width : source.box.width; }
};

// Follows the operations over an image of the given size; draws[i] is the draw of operation i. Returns false, with the
// reason in `error`, if a box does not fit, or for more than one resampling.
bool follow_geometry(const std::vector<GeometryOp>& ops, const uint64_t* draws, int64_t height, int64_t width,
                     Geometry& geometry, std::string& error);

}  // namespace penstock::kernels
