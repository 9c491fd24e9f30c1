// Writes rows of 8-bit pixels in the format of the batch: interleaved or planar, as bytes or normalized floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::kernels {

enum class PixelType : int { uint8 = 0, float16 = 1, float32 = 2 };

// Floats are value * gain[c] + offset[c], rounded after each step, in float32; float16 is that value rounded to even.
struct PixelFormat {
  PixelType type = PixelType::uint8;
  bool planar = false;  // channels first
  int64_t channels = 3;
  float gain[3] = {1.0f, 1.0f, 1.0f};
  float offset[3] = {0.0f, 0.0f, 0.0f};

  size_t value_bytes() const { return type == PixelType::uint8 ? 1 : type == PixelType::float16 ? 2 : 4; }
  bool is_plain() const { return type == PixelType::uint8 && (!planar || channels == 1); }
};

// Writes row y, `width` pixels with 64 readable bytes after them, of an image of `height` rows that begins at `out`.
using WriteRow = void (*)(const PixelFormat& format, const uint8_t* row, int64_t y, int64_t height, int64_t width,
                          void* out);

WriteRow portable_write_row();
WriteRow avx2_write_row();  // null without support of processor and compiler
WriteRow best_write_row();

// Reverses the pixels of a row.
void mirror_row(const uint8_t* row, int64_t width, int64_t channels, uint8_t* out);

// The nearest float16, ties to even, as bits.
uint16_t half_bits(float value);

}  // namespace penstock::kernels
