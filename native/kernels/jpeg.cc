#include "kernels/jpeg.h"

#include <algorithm>
#include <cstring>

#include <jerror.h>

namespace penstock::kernels {
namespace {

constexpr int kRowsPerRead = 16;  // reading recently stored bytes at once makes the core wait for its store buffer
constexpr size_t kSlack = 64;     // bytes that vector loads may read past the end of a row

// Warnings that lose no pixel; all others (premature end, bad Huffman codes, lost sync) mean a damaged image.
bool harmless(int message) {
  return message == JWRN_ADOBE_XFORM || message == JWRN_EXTRANEOUS_DATA || message == JWRN_JFIF_MAJOR ||
         message == JWRN_NOT_SEQUENTIAL;
}

uint8_t multiply_255(int a, int b) {
  const int product = a * b + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

// CMYK is inverted, 255 is no ink, as written by Adobe: also without Adobe's marker, like Pillow and browsers.
void convert_cmyk(const uint8_t* cmyk, uint8_t* out, int64_t width, int channels) {
  for (int64_t x = 0; x < width; ++x, cmyk += 4, out += channels) {
    const int key = cmyk[3];
    const uint8_t r = multiply_255(cmyk[0], key);
    const uint8_t g = multiply_255(cmyk[1], key);
    const uint8_t b = multiply_255(cmyk[2], key);
    if (channels == 3) {
      out[0] = r, out[1] = g, out[2] = b;
    } else {
      out[0] = static_cast<uint8_t>((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);  // ITU-R 601 luma
    }
  }
}

uint32_t read_number(const uint8_t* bytes, int count, bool little) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[little ? count - 1 - i : i];
  return value;
}

// `tiff` is the body of the APP1 marker after "Exif\0\0"; the orientation is tag 0x0112 of its first directory.
int tiff_orientation(const uint8_t* tiff, size_t size) {
  if (size < 8) return 1;
  const bool little = tiff[0] == 'I';
  if (!(little ? tiff[1] == 'I' : tiff[0] == 'M' && tiff[1] == 'M') || read_number(tiff + 2, 2, little) != 42) return 1;
  const size_t start = read_number(tiff + 4, 4, little);
  if (start > size || size - start < 2) return 1;
  const size_t count = std::min<size_t>(read_number(tiff + start, 2, little), (size - start - 2) / 12);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* entry = tiff + start + 2 + 12 * i;
    if (read_number(entry, 2, little) != 0x0112 || read_number(entry + 2, 2, little) != 3) continue;
    const uint32_t value = read_number(entry + 8, 2, little);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

bool looks_like_jpeg(const uint8_t* data, size_t size) {
  return size >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF;
}

int exif_orientation(const uint8_t* data, size_t size) {
  size_t at = 2;
  while (at + 4 <= size && data[at] == 0xFF) {
    const uint8_t marker = data[at + 1];
    if (marker == 0xFF) {  // fill byte
      ++at;
      continue;
    }
    if (marker == 0xDA || marker == 0xD9) break;
    const size_t length = read_number(data + at + 2, 2, false);
    if (length < 2 || length > size - at - 2) break;
    const uint8_t* body = data + at + 4;
    if (marker == 0xE1 && length >= 8 && std::memcmp(body, "Exif\0\0", 6) == 0) {
      return tiff_orientation(body + 6, length - 8);
    }
    at += 2 + length;
  }
  return 1;
}

JpegReader::JpegReader(bool alone) : alone_(alone) {
  source_.init_source = [](j_decompress_ptr) {};
  source_.term_source = [](j_decompress_ptr) {};
  source_.fill_input_buffer = on_empty;
  source_.skip_input_data = on_skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  progress_.progress_monitor = on_progress;
}

JpegReader::~JpegReader() { forget(); }

// A decompressor keeps the tables of earlier files for files without their own, so each file gets a new one: the result
// must not depend on earlier files. That costs a microsecond.
bool JpegReader::renew() {
  forget();
  ended_ = false;
  jpeg_.err = jpeg_std_error(&trap_.manager);
  trap_.manager.error_exit = on_error;
  trap_.manager.emit_message = on_message;
  jpeg_.client_data = this;
  auto create = [this] { jpeg_create_decompress(&jpeg_); };
  created_ = guarded(create);
  jpeg_.src = &source_;
  jpeg_.progress = &progress_;
  return created_;
}

void JpegReader::forget() {
  if (created_) jpeg_destroy_decompress(&jpeg_);
  created_ = false;
}

// Runs the body; a libjpeg error inside it jumps back here. The body must hold nothing with a destructor.
template <typename Body>
bool JpegReader::guarded(Body& body) {
  if (setjmp(trap_.jump) != 0) return false;
  body();
  return true;
}

bool JpegReader::fail() {
  error_text_ = reason_;
  forget();
  return false;
}

bool JpegReader::open(const uint8_t* data, size_t size, int64_t max_pixels) {
  size_ = size;
  source_.next_input_byte = data;
  source_.bytes_in_buffer = size;
  if (!renew()) return fail();
  auto header = [this] { jpeg_read_header(&jpeg_, TRUE); };
  if (!guarded(header)) return fail();
  const int parts = jpeg_.num_components;
  if (parts != 1 && parts != 3 && parts != 4) {
    std::snprintf(reason_, sizeof reason_, "it has %d color components, and only 1, 3 and 4 are supported", parts);
    return fail();
  }
  if (width() * height() > max_pixels) {
    std::snprintf(reason_, sizeof reason_, "it has %lld x %lld pixels, more than the limit of max_pixels=%lld",
                  static_cast<long long>(width()), static_cast<long long>(height()),
                  static_cast<long long>(max_pixels));
    return fail();
  }
  return true;
}

void JpegReader::start_output(int denominator, int channels) {
  jpeg_.scale_num = static_cast<unsigned>(8 / denominator);
  jpeg_.scale_denom = 8;
  jpeg_.do_block_smoothing = FALSE;  // smoothing would make the pixels of a region depend on its edges
  if (jpeg_.num_components == 4) {
    jpeg_.out_color_space = JCS_CMYK;
  } else {
    jpeg_.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  }
  jpeg_start_decompress(&jpeg_);  // reads all scans, if there are several
  if (has_all_scans()) return;
  if (ended_) refuse_truncated();
  if (!jpeg_.progressive_mode) refuse("it has no scan of one of its color components");  // a preview is valid
}

// Whether the scans that were read hold all values of the image.
bool JpegReader::has_all_scans() const {
  for (int c = 0; c < jpeg_.num_components; ++c) {
    if (jpeg_.comp_info[c].quant_table == nullptr) return false;  // it is set by the component's first scan
    for (int k = 0; jpeg_.coef_bits != nullptr && k < DCTSIZE2; ++k) {
      if (jpeg_.coef_bits[c][k] != 0) return false;  // bits of a progressive file that are still to come; -1: all
    }
  }
  return true;
}

// Whether libjpeg-turbo's partial decoding gives the pixels of a whole one: luma sampled as usual, others once. With a
// quarter of the columns or rows in chroma, pixels differ at reduced scale.
bool JpegReader::partial_is_exact(int denominator) const {
  for (int c = 1; c < jpeg_.num_components; ++c) {
    const jpeg_component_info &first = jpeg_.comp_info[0], &other = jpeg_.comp_info[c];
    const bool once = other.h_samp_factor == 1 && other.v_samp_factor == 1;
    const bool same = other.h_samp_factor == first.h_samp_factor && other.v_samp_factor == first.v_samp_factor;
    if (!once && !(same && c == 3)) return false;
  }
  return denominator == 1 || (jpeg_.max_h_samp_factor <= 2 && jpeg_.max_v_samp_factor <= 2);
}

// Starts the decoder at the region's first row, at columns that include the region and the neighborhood of its edges:
// smooth chroma upsampling, used if chroma has half the columns, reads one chroma sample to each side. A crop of less
// than three chroma samples would be upsampled differently from the whole image.
void JpegReader::start(int denominator, int channels, const Region& region) {
  start_output(denominator, channels);
  row_offset_ = region.left * jpeg_.output_components;
  if (!partial_is_exact(denominator)) return;
  const int64_t total = jpeg_.output_width;
  const int64_t least = std::min<int64_t>(4 * jpeg_.max_h_samp_factor, total);
  const int64_t left = std::clamp<int64_t>(region.left - 1, 0, total - least);
  const int64_t right = std::clamp<int64_t>(region.left + region.width + 1, left + least, total);
  if (right - left < total) {
    JDIMENSION offset = static_cast<JDIMENSION>(left);
    JDIMENSION width = static_cast<JDIMENSION>(right - left);
    jpeg_crop_scanline(&jpeg_, &offset, &width);
    row_offset_ -= static_cast<int64_t>(offset) * jpeg_.output_components;
  }
  if (region.top > 0) jpeg_skip_scanlines(&jpeg_, static_cast<JDIMENSION>(region.top));
}

// Passes the rows from `done` on to the sink.
void JpegReader::read_rows(int channels, const Region& region, int64_t done, RowSink sink, void* context) {
  const JDIMENSION end = static_cast<JDIMENSION>(region.top + region.height);
  const bool cmyk = jpeg_.out_color_space == JCS_CMYK;
  JSAMPROW rows[kRowsPerRead];
  for (int i = 0; i < kRowsPerRead; ++i) rows[i] = rows_.data() + static_cast<size_t>(i) * row_stride_;
  while (jpeg_.output_scanline < end) {
    const JDIMENSION first = jpeg_.output_scanline;
    const JDIMENSION wanted = std::min<JDIMENSION>(kRowsPerRead, end - first);
    JDIMENSION count = 0;
    while (count < wanted) {
      const JDIMENSION more = jpeg_read_scanlines(&jpeg_, rows + count, wanted - count);
      if (more == 0) ERREXIT(&jpeg_, JERR_INPUT_EOF);
      count += more;
    }
    for (JDIMENSION i = 0; i < count; ++i) {
      if (first + i < region.top + done) continue;  // read only because it could not be skipped
      const uint8_t* row = rows[i] + row_offset_;
      if (cmyk) {
        convert_cmyk(row, converted_.data(), region.width, channels);
        row = converted_.data();
      }
      sink(context, first + i - region.top, row);
    }
  }
  if (end == jpeg_.output_height && !jpeg_has_multiple_scans(&jpeg_) && !is_at_marker()) {
    refuse("it is truncated: other bytes than an end marker follow its last row, such as zeros in place of pixels");
  }
}

// After the last row of the only scan: whether a marker follows, or nothing.
bool JpegReader::is_at_marker() const {
  if (jpeg_.unread_marker != 0) return true;
  const uint8_t *at = source_.next_input_byte, *end = at + source_.bytes_in_buffer;
  while (end > at && end[-1] == 0xFF) --end;  // the first byte of a marker that was cut
  const auto is_marker = [](uint8_t first, uint8_t second) { return first == 0xFF && second != 0 && second != 0xFF; };
  return at == end || std::adjacent_find(at, end, is_marker) != end;
}

bool JpegReader::read(int denominator, int channels, const Region& region, RowSink sink, void* context) {
  const uint8_t* const scan = source_.next_input_byte;
  const int64_t done = alone_ ? 0
                              : baseline_.read(jpeg_, scan, scan + source_.bytes_in_buffer, denominator, channels,
                                               region, sink, context);
  unaided_ = done == region.height;
  if (unaided_) return true;
  // Room for the whole width: the rounded width of a crop is known only after decoding has begun.
  row_stride_ = static_cast<size_t>(width()) * (jpeg_.num_components == 4 ? 4 : channels) + kSlack;
  if (rows_.size() < kRowsPerRead * row_stride_) rows_.resize(kRowsPerRead * row_stride_);
  if (jpeg_.num_components == 4) converted_.resize(static_cast<size_t>(region.width * channels) + kSlack);
  auto body = [&] {
    start(denominator, channels, region);
    read_rows(channels, region, done, sink, context);
  };
  if (!guarded(body)) return fail();
  jpeg_abort_decompress(&jpeg_);
  return true;
}

void JpegReader::on_error(j_common_ptr jpeg) {
  auto* self = static_cast<JpegReader*>(jpeg->client_data);
  if (self->ended_) self->refuse_truncated();
  jpeg->err->format_message(jpeg, self->reason_);
  std::longjmp(self->trap_.jump, 1);
}

void JpegReader::on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  const auto* self = static_cast<JpegReader*>(jpeg->client_data);
  const int message = jpeg->err->msg_code;
  // Bytes that are left before a marker to restart at, or at the end of a file that lacks its end marker, mean that
  // those before them are not what they were.
  const bool is_lost =
      message == JWRN_EXTRANEOUS_DATA && self->has_begun() && (self->jpeg_.restart_interval > 0 || self->ended_);
  if (is_lost || !harmless(message)) on_error(jpeg);
}

void JpegReader::on_progress(j_common_ptr jpeg) {
  auto* self = static_cast<JpegReader*>(jpeg->client_data);
  if (self->jpeg_.input_scan_number <= kMaxScans) return;
  std::snprintf(self->reason_, sizeof self->reason_, "it has more than %d scans", kMaxScans);
  std::longjmp(self->trap_.jump, 1);
}

// Past the header, the file goes on with an end marker. If pixels are missing, libjpeg warns, except for those of
// arithmetic codes, in which zeros at the end may be left out.
boolean JpegReader::on_empty(j_decompress_ptr jpeg) {
  static constexpr JOCTET kEnd[] = {0xFF, JPEG_EOI};
  auto* self = static_cast<JpegReader*>(jpeg->client_data);
  if (!self->has_begun() || jpeg->arith_code) self->refuse_truncated();
  self->ended_ = true;
  jpeg->src->next_input_byte = kEnd;
  jpeg->src->bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void JpegReader::refuse_truncated() {
  if (has_begun() && jpeg_.output_scanline > 0) {
    std::snprintf(reason_, sizeof reason_, "it is truncated: its %zu bytes end in row %u of %u", size_,
                  jpeg_.output_scanline, jpeg_.output_height);
  } else {
    std::snprintf(reason_, sizeof reason_, "it is truncated: its %zu bytes end %s", size_,
                  has_begun() ? "before the first row" : "before the pixels begin");
  }
  std::longjmp(trap_.jump, 1);
}

void JpegReader::refuse(const char* reason) {
  std::snprintf(reason_, sizeof reason_, "%s", reason);
  std::longjmp(trap_.jump, 1);
}

void JpegReader::on_skip(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  jpeg_source_mgr* source = jpeg->src;
  if (static_cast<size_t>(count) > source->bytes_in_buffer) {
    on_empty(jpeg);
    return;
  }
  source->next_input_byte += count;
  source->bytes_in_buffer -= static_cast<size_t>(count);
}

}  // namespace penstock::kernels
