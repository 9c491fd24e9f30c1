#include "kernels/image_params.h"

#include <algorithm>
#include <cmath>

namespace penstock::kernels {
namespace {

int64_t half_to_even(int64_t twice) { return (twice >> 1) + ((twice & 3) == 3 ? 1 : 0); }

}  // namespace

double Uniforms::next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

int64_t Uniforms::below(int64_t count) {
  return std::min(static_cast<int64_t>(next() * static_cast<double>(count)), count - 1);
}

CropBox random_resized_crop_box(int64_t height, int64_t width, const double scale[2], const double ratio[2],
                                uint64_t draw) {
  Uniforms uniforms(draw);
  const double rows = static_cast<double>(height), columns = static_cast<double>(width);
  const double low = std::log(ratio[0]), high = std::log(ratio[1]);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = rows * columns * uniforms.between(scale[0], scale[1]);
    const double aspect = std::exp(uniforms.between(low, high));
    const double box_width = std::nearbyint(std::sqrt(area * aspect));
    const double box_height = std::nearbyint(std::sqrt(area / aspect));
    if (box_width >= 1.0 && box_width <= columns && box_height >= 1.0 && box_height <= rows) {
      const auto h = static_cast<int64_t>(box_height), w = static_cast<int64_t>(box_width);
      const int64_t top = uniforms.below(height - h + 1);
      const int64_t left = uniforms.below(width - w + 1);
      return {top, left, h, w};
    }
  }
  int64_t h = height, w = width;
  const double aspect = columns / rows;
  if (aspect < ratio[0]) {
    h = std::clamp<int64_t>(static_cast<int64_t>(std::nearbyint(columns / ratio[0])), 1, height);
  } else if (aspect > ratio[1]) {
    w = std::clamp<int64_t>(static_cast<int64_t>(std::nearbyint(rows * ratio[1])), 1, width);
  }
  return {(height - h) / 2, (width - w) / 2, h, w};
}

CropBox random_crop_box(int64_t height, int64_t width, int64_t box_height, int64_t box_width, uint64_t draw) {
  Uniforms uniforms(draw);
  const int64_t top = uniforms.below(height - box_height + 1);
  const int64_t left = uniforms.below(width - box_width + 1);
  return {top, left, box_height, box_width};
}

CropBox center_crop_box(int64_t height, int64_t width, int64_t box_height, int64_t box_width) {
  return {half_to_even(height - box_height), half_to_even(width - box_width), box_height, box_width};
}

bool random_flip_choice(double probability, uint64_t draw) { return Uniforms(draw).next() < probability; }

void shorter_side_size(int64_t height, int64_t width, int64_t shorter, int64_t* resized_height,
                       int64_t* resized_width) {
  *resized_height = height <= width ? shorter : std::max<int64_t>(shorter * height / width, 1);
  *resized_width = width <= height ? shorter : std::max<int64_t>(shorter * width / height, 1);
}

}  // namespace penstock::kernels
