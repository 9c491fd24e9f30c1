// Writes small JPEG files for the tests: any sampling, gray, colour or CMYK, baseline or progressive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
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
  bool optimized = false;     // Huffman codes of its own
  bool random_codes = false;  // of any lengths: no encoder writes such
  int restart_interval = 0;   // in MCUs, if not in rows
  bool scan_each = false;     // a scan for each component, not progressive
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

// Gives a table random codes for these symbols: a tree grown by splitting random leaves, some of them always the
// deepest.
inline void randomize_code(JHUFF_TBL& table, std::vector<uint8_t> symbols, std::mt19937& random) {
  std::vector<int> lengths{0};
  const unsigned deepest_of_8 = random() % 9;
  while (lengths.size() < symbols.size() + 1) {  // the last code, all ones, must have no symbol
    auto leaf = lengths.begin() + static_cast<std::ptrdiff_t>(random() % lengths.size());
    if (random() % 8 < deepest_of_8) leaf = std::max_element(lengths.begin(), lengths.end());
    if (*leaf == 16) leaf = std::min_element(lengths.begin(), lengths.end());
    const int length = ++*leaf;
    lengths.push_back(length);
  }
  lengths.erase(std::max_element(lengths.begin(), lengths.end()));
  std::fill(std::begin(table.bits), std::end(table.bits), UINT8{0});
  for (const int length : lengths) ++table.bits[length];
  for (size_t i = symbols.size() - 1; i > 0; --i) std::swap(symbols[i], symbols[random() % (i + 1)]);
  std::copy(symbols.begin(), symbols.end(), table.huffval);
}

inline void randomize_codes(jpeg_compress_struct& jpeg, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> sizes, coefficients{0x00, 0xF0};
  for (int size = 0; size <= 11; ++size) sizes.push_back(static_cast<uint8_t>(size));
  for (int run = 0; run < 16; ++run) {
    for (int size = 1; size <= 10; ++size) coefficients.push_back(static_cast<uint8_t>(run << 4 | size));
  }
  for (int i = 0; i < 2; ++i) {
    randomize_code(*jpeg.dc_huff_tbl_ptrs[i], sizes, random);
    randomize_code(*jpeg.ac_huff_tbl_ptrs[i], coefficients, random);
  }
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
  jpeg_scan_info scans[4]{};
  for (int c = 0; c < encoding.components; ++c)
    scans[c].comps_in_scan = 1, scans[c].component_index[0] = c, scans[c].Se = 63;
  if (encoding.scan_each) jpeg.scan_info = scans, jpeg.num_scans = encoding.components;
  if (encoding.random_codes) randomize_codes(jpeg, seed);
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
