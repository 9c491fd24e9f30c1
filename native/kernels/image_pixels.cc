#include "kernels/image_pixels.h"

#include <bit>
#include <cstring>

namespace penstock::kernels {
namespace {

template <typename Store>
void write_values(const PixelFormat& format, const uint8_t* row, int64_t y, int64_t height, int64_t width,
                  Store store) {
  const int64_t channels = format.channels;
  for (int64_t c = 0; c < channels; ++c) {
    int64_t at = format.planar ? (c * height + y) * width : y * width * channels + c;
    const int64_t step = format.planar ? 1 : channels;
    for (int64_t x = 0; x < width; ++x, at += step) store(at, row[x * channels + c], c);
  }
}

void write_row_portable(const PixelFormat& format, const uint8_t* row, int64_t y, int64_t height, int64_t width,
                        void* out) {
  const auto scaled = [&](uint8_t value, int64_t c) {
    return static_cast<float>(value) * format.gain[c] + format.offset[c];
  };
  switch (format.type) {
    case PixelType::uint8: {
      auto* to = static_cast<uint8_t*>(out);
      write_values(format, row, y, height, width, [&](int64_t at, uint8_t value, int64_t) { to[at] = value; });
      break;
    }
    case PixelType::float16: {
      auto* to = static_cast<uint16_t*>(out);
      write_values(format, row, y, height, width,
                   [&](int64_t at, uint8_t value, int64_t c) { to[at] = half_bits(scaled(value, c)); });
      break;
    }
    case PixelType::float32: {
      auto* to = static_cast<float*>(out);
      write_values(format, row, y, height, width,
                   [&](int64_t at, uint8_t value, int64_t c) { to[at] = scaled(value, c); });
      break;
    }
  }
}

}  // namespace

WriteRow portable_write_row() { return write_row_portable; }

WriteRow best_write_row() {
  static const WriteRow best = avx2_write_row() != nullptr ? avx2_write_row() : portable_write_row();
  return best;
}

void mirror_row(const uint8_t* row, int64_t width, int64_t channels, uint8_t* out) {
  if (channels == 1) {
    for (int64_t x = 0; x < width; ++x) out[x] = row[width - 1 - x];
    return;
  }
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t* from = row + (width - 1 - x) * 3;
    out[3 * x] = from[0], out[3 * x + 1] = from[1], out[3 * x + 2] = from[2];
  }
}

uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7E00u;   // not a number
  if (magnitude >= 0x477FF000u) return sign | 0x7C00u;  // rounds to infinity
  if (magnitude < 0x38800000u) {                        // a subnormal half: let float addition round
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3F000000u);
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000u + 0xFFFu + odd) >> 13);
}

}  // namespace penstock::kernels
