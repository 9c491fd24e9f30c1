// Writes small JPEG files for the tests: any sampling, gray, colour or CMYK, baseline or progressive.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <jpeglib.h>  // needs <cstdio> before it

namespace penstock::tests {

struct Encoding {
  int height, width;
  int components = 3;                              // 1, 3 or 4
  int horizontal = 2, vertical = 2;                // sampling factors of luma (and key)
  int chroma_horizontal = 1, chroma_vertical = 1;  // and of chroma
  bool progressive = false;
  int restart_rows = 0;
  int quality = 85;
  bool optimized = false;    // Huffman codes of its own
  int restart_interval = 0;  // in MCUs, if not in rows
};

// Smooth shapes with some noise: what a photo is to a decoder.
inline std::vector<uint8_t> picture(int height, int width, int channels, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * channels);
  const int a = static_cast<int>(random() % 7) + 1, b = static_cast<int>(random() % 5) + 1;
  size_t at = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        pixels[at++] = static_cast<uint8_t>((x * a + y * b * (c + 1) + (x * y) / 16 + random() % 24) & 255);
      }
    }
  }
  return pixels;
}

inline std::vector<uint8_t> encode(const Encoding& encoding, unsigned seed) {
  std::vector<uint8_t> pixels = picture(encoding.height, encoding.width, encoding.components, seed);
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &data, &size);
  jpeg.image_width = static_cast<JDIMENSION>(encoding.width);
  jpeg.image_height = static_cast<JDIMENSION>(encoding.height);
  jpeg.input_components = encoding.components;
  jpeg.in_color_space = encoding.components == 1 ? JCS_GRAYSCALE : encoding.components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, encoding.quality, TRUE);
  jpeg.optimize_coding = encoding.optimized;
  if (encoding.components == 4 && seed % 2 != 0) jpeg_set_colorspace(&jpeg, JCS_YCCK);
  if (encoding.components > 1) {
    jpeg.comp_info[0].h_samp_factor = encoding.horizontal;
    jpeg.comp_info[0].v_samp_factor = encoding.vertical;
    for (int c = 1; c < encoding.components; ++c) {
      jpeg.comp_info[c].h_samp_factor = encoding.chroma_horizontal;
      jpeg.comp_info[c].v_samp_factor = encoding.chroma_vertical;
    }
    if (encoding.components == 4) {
      jpeg.comp_info[3].h_samp_factor = encoding.horizontal;
      jpeg.comp_info[3].v_samp_factor = encoding.vertical;
    }
  }
  if (encoding.progressive) jpeg_simple_progression(&jpeg);
  jpeg.restart_in_rows = encoding.restart_rows;
  jpeg.restart_interval = static_cast<unsigned>(encoding.restart_interval);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = pixels.data() + static_cast<size_t>(jpeg.next_scanline) * encoding.width * encoding.components;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::vector<uint8_t> bytes(data, data + size);
  std::free(data);
  return bytes;
}

}  // namespace penstock::tests
