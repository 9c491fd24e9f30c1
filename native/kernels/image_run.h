// One image from file bytes to its place in a batch: geometry, decoding of necessary pixels, resampling, writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/image_geometry.h"
#include "kernels/image_pixels.h"
#include "kernels/jpeg.h"
#include "kernels/resize.h"

namespace penstock::kernels {

// The program for every image; `format.channels` is that of the decoded pixels.
struct ImageProgram {
  bool exact = false;  // never decode at reduced scale
  bool exif = false;   // rotate the image by its EXIF orientation
  int64_t max_pixels = 0;
  std::vector<GeometryOp> ops;
  PixelFormat format;
};

enum class ImageStatus : int {
  done = 0,
  elsewhere = 1,  // not a JPEG, or one to be rotated: left to the caller
  undecodable = 2,
  misfit = 3,      // an operation does not fit the image's size
  wrong_size = 4,  // the result is not of the requested size
};

// Runs programs, one image at a time. One per thread: its decoder and scratch memory serve all images.
class ImageRunner {
 public:
  // The size of the result, from the header alone.
  ImageStatus measure(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws,
                      int64_t* height, int64_t* width);

  // The geometry of the result, from the header alone; valid after `done`, until the next call.
  ImageStatus follow(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws,
                     Geometry* geometry);

  // Writes the result, height x width pixels in the program's format, at `out`.
  ImageStatus run(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws, int64_t height,
                  int64_t width, void* out);

  // Resamples pixels in memory: rows of width * channels bytes, contiguous, to contiguous rows.
  void resize(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels, Filter filter, bool antialias,
              int64_t resized_height, int64_t resized_width, uint8_t* out);

  // The reason for a status of failure.
  const std::string& error() const { return error_; }

  static ImageRunner& of_this_thread();

 private:
  struct Target;

  ImageStatus open(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws);
  bool copy_pixels(const ImageProgram& program, void* out);
  bool resample_pixels(const ImageProgram& program, void* out);
  static void take_copied_row(void* context, int64_t y, const uint8_t* row);
  static void take_decoded_row(void* context, int64_t y, const uint8_t* row);
  static void take_resized_row(void* context, int64_t y, const uint8_t* row);

  JpegReader reader_;
  Geometry geometry_{};
  Taps horizontal_, vertical_;
  RowResizer resizer_;
  std::vector<uint8_t> row_;
  std::string error_;
};

}  // namespace penstock::kernels
