// Reads JPEG images with libjpeg-turbo: only the requested rows and columns, at full, 1/2, 1/4 or 1/8 scale.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "kernels/jpeg_baseline.h"
#include "kernels/jpeg_region.h"

namespace penstock::kernels {

// More scans than any encoder writes; a progressive file can claim thousands, each as expensive as a whole decode.
inline constexpr int kMaxScans = 200;

// Returns whether the bytes begin like a JPEG file.
bool looks_like_jpeg(const uint8_t* data, size_t size);

// The EXIF orientation (1 to 8) in the bytes of a JPEG file; 1 if there is none.
int exif_orientation(const uint8_t* data, size_t size);

// One per thread, reused for any number of images. Every method that returns bool leaves a message in error() when
// it returns false, and the reader is then ready for the next open(). Warnings of libjpeg that mean lost pixels
// (truncated or corrupt data) are errors. A file without an end marker is read if it has all its pixels.
class JpegReader {
 public:
  // With `alone`, libjpeg-turbo reads all files: for comparisons.
  explicit JpegReader(bool alone = false);
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Reads the header. The bytes must stay until the image is read. Refuses more than max_pixels before it allocates.
  bool open(const uint8_t* data, size_t size, int64_t max_pixels);

  int64_t width() const { return jpeg_.image_width; }
  int64_t height() const { return jpeg_.image_height; }
  int components() const { return jpeg_.num_components; }

  // Decodes the region of the image at scale 1/denominator (1, 2, 4, 8; sizes are rounded up), to `channels` (1 or 3)
  // bytes per pixel, and passes its rows to the sink in order. The pixels are those of a whole decode.
  bool read(int denominator, int channels, const Region& region, RowSink sink, void* context);

  const std::string& error() const { return error_text_; }

  // Whether the last image was read without libjpeg-turbo, except for its header.
  bool was_unaided() const { return unaided_; }

 private:
  struct ErrorTrap {
    jpeg_error_mgr manager;  // first: libjpeg returns a pointer to it
    std::jmp_buf jump;
  };

  template <typename Body>
  bool guarded(Body& body);
  bool renew();
  void forget();
  void start(int denominator, int channels, const Region& region);
  void start_output(int denominator, int channels);
  bool partial_is_exact(int denominator) const;
  void read_rows(int channels, const Region& region, int64_t done, RowSink sink, void* context);
  bool has_begun() const { return jpeg_.global_state > 202; }  // libjpeg: past the header
  bool has_all_scans() const;
  bool is_at_marker() const;
  bool fail();
  [[noreturn]] void refuse_truncated();
  [[noreturn]] void refuse(const char* reason);

  static void on_error(j_common_ptr jpeg);
  static void on_message(j_common_ptr jpeg, int level);
  static void on_progress(j_common_ptr jpeg);
  static boolean on_empty(j_decompress_ptr jpeg);
  static void on_skip(j_decompress_ptr jpeg, long count);

  const bool alone_;
  bool unaided_ = false;
  BaselineReader baseline_;
  jpeg_decompress_struct jpeg_{};
  ErrorTrap trap_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  bool created_ = false;
  bool ended_ = false;  // whether the file ended before an end marker
  size_t size_ = 0;
  int64_t row_offset_ = 0;  // bytes from the start of a decoded row to the region's left edge
  char reason_[JMSG_LENGTH_MAX] = {};
  std::string error_text_;
  std::vector<uint8_t> rows_;  // a few decoded rows, each row_stride_ bytes
  size_t row_stride_ = 0;
  std::vector<uint8_t> converted_;  // one row of CMYK made RGB or gray
};

}  // namespace penstock::kernels
