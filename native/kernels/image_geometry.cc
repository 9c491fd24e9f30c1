#include "kernels/image_geometry.h"

namespace penstock::kernels {
namespace {

std::string size_text(int64_t height, int64_t width) { return std::to_string(height) + "x" + std::to_string(width); }

// Crops the view to `box`, given in the view's own coordinates.
void narrow(View& view, const CropBox& box) {
  CropBox& whole = view.box;
  whole.left += view.flipped ? whole.width - box.left - box.width : box.left;
  whole.top += box.top;
  whole.height = box.height;
  whole.width = box.width;
}

bool fits(const char* name, const GeometryOp& op, int64_t height, int64_t width, std::string& error) {
  if (op.height <= height && op.width <= width && op.top <= height - op.height && op.left <= width - op.width) {
    return true;
  }
  error = std::string(name) + ": a box of " + size_text(op.height, op.width);
  if (op.kind == GeometryKind::crop) error += " at (" + std::to_string(op.top) + ", " + std::to_string(op.left) + ")";
  error += " does not fit into an image of " + size_text(height, width) + " (height x width)";
  return false;
}

void resample(Geometry& geometry, const GeometryOp& op, int64_t height, int64_t width) {
  geometry.resampled = true;
  geometry.filter = op.filter;
  geometry.antialias = op.antialias;
  geometry.resized_height = height;
  geometry.resized_width = width;
  geometry.window = View{{0, 0, height, width}, false};
}

}  // namespace

bool follow_geometry(const std::vector<GeometryOp>& ops, const uint64_t* draws, int64_t height, int64_t width,
                     Geometry& geometry, std::string& error) {
  geometry = Geometry{};
  geometry.source.box = CropBox{0, 0, height, width};
  for (size_t i = 0; i < ops.size(); ++i) {
    const GeometryOp& op = ops[i];
    View& view = geometry.resampled ? geometry.window : geometry.source;
    const int64_t h = view.box.height, w = view.box.width;
    const bool resamples = op.kind == GeometryKind::resize || op.kind == GeometryKind::random_resized_crop;
    if (resamples && geometry.resampled) {
      error = "more than one resampling";
      return false;
    }
    switch (op.kind) {
      case GeometryKind::crop:
        if (!fits("crop", op, h, w, error)) return false;
        narrow(view, CropBox{op.top, op.left, op.height, op.width});
        break;
      case GeometryKind::center_crop:
        if (!fits("center_crop", op, h, w, error)) return false;
        narrow(view, center_crop_box(h, w, op.height, op.width));
        break;
      case GeometryKind::random_crop:
        if (!fits("random_crop", op, h, w, error)) return false;
        narrow(view, random_crop_box(h, w, op.height, op.width, draws[i]));
        break;
      case GeometryKind::resize: {
        int64_t resized_height = op.height, resized_width = op.width;
        if (op.width == 0) shorter_side_size(h, w, op.height, &resized_height, &resized_width);
        resample(geometry, op, resized_height, resized_width);
        break;
      }
      case GeometryKind::random_resized_crop:
        narrow(view, random_resized_crop_box(h, w, op.scale, op.ratio, draws[i]));
        resample(geometry, op, op.height, op.width);
        break;
      case GeometryKind::random_flip:
        if (random_flip_choice(op.probability, draws[i])) view.flipped = !view.flipped;
        break;
    }
  }
  return true;
}

}  // namespace penstock::kernels
