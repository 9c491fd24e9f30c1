// The random parameters of image operations, from one 64-bit draw each: the fused and the composed path share them.
#pragma once

#include <cstdint>

namespace penstock::kernels {

struct CropBox {
  int64_t top, left, height, width;
};

// Uniforms in [0, 1) by splitmix64 (Steele, Lea, Flood 2014) from a seed.
class Uniforms {
 public:
  explicit Uniforms(uint64_t seed) : state_(seed) {}
  double next();
  double between(double low, double high) { return low + (high - low) * next(); }
  int64_t below(int64_t count);  // an integer of [0, count)

 private:
  uint64_t state_;
};

// A box of random area (a share in `scale` of the image's) and aspect (log-uniform in `ratio`): ten tries, then the
// largest centered box of an allowed aspect (Szegedy et al. 2014, with torchvision's rounding and fallback).
CropBox random_resized_crop_box(int64_t height, int64_t width, const double scale[2], const double ratio[2],
                                uint64_t draw);

// A box of the given size, which must fit, anywhere in the image.
CropBox random_crop_box(int64_t height, int64_t width, int64_t box_height, int64_t box_width, uint64_t draw);

// A centered box of the given size, which must fit; half pixels are rounded to even, as in torchvision.
CropBox center_crop_box(int64_t height, int64_t width, int64_t box_height, int64_t box_width);

// Whether to flip: true with the given probability.
bool random_flip_choice(double probability, uint64_t draw);

// The size of an image whose shorter side becomes `shorter`; the longer side is rounded down, and is at least 1.
void shorter_side_size(int64_t height, int64_t width, int64_t shorter, int64_t* resized_height, int64_t* resized_width);

}  // namespace penstock::kernels
