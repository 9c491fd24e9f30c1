// Reads the usual JPEG images about twice as fast as libjpeg-turbo, with the same pixels, where the processor has AVX2.
//
// These are baseline files of 8 bits with one component, or three of Y, Cb and Cr whose chroma is sampled once or half
// as often (4:4:4, 4:2:2, 4:4:0, 4:2:0). All others, and all that are damaged, are left to libjpeg-turbo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include <jpeglib.h>

#include "kernels/jpeg_region.h"

namespace penstock::kernels {

// One per thread, reused for any number of images: tables are made again only for other Huffman codes.
class BaselineReader {
 public:
  BaselineReader();
  ~BaselineReader();
  BaselineReader(const BaselineReader&) = delete;
  BaselineReader& operator=(const BaselineReader&) = delete;

  // Whether processor and compiler have what is needed; otherwise no row is read.
  static bool is_supported();

  // Passes the rows of a region of an image to the sink, in order, and returns how many: all, or those before the first
  // doubt about the file. `header` is that of the file, whose scan lies in [scan, end).
  int64_t read(const jpeg_decompress_struct& header, const uint8_t* scan, const uint8_t* end, int denominator,
               int channels, const Region& region, RowSink sink, void* context);

 private:
  class Decoder;
  std::unique_ptr<Decoder> decoder_;  // null if it is not supported
};

}  // namespace penstock::kernels
