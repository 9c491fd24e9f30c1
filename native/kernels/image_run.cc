#include "kernels/image_run.h"

#include <atomic>
#include <cstring>

namespace penstock::kernels {
namespace {

constexpr size_t kSlack = 64;  // bytes that vector loads may read past the end of a row

// The largest reduction by the decoder: the box stays at least as large as its resized size.
int reduction(const ImageProgram& program, const Geometry& geometry) {
  if (program.exact || geometry.filter == Filter::nearest) return 1;
  for (const int denominator : {8, 4, 2}) {
    if (geometry.source.box.height >= denominator * geometry.resized_height &&
        geometry.source.box.width >= denominator * geometry.resized_width) {
      return denominator;
    }
  }
  return 1;
}

}  // namespace

struct ImageRunner::Target {
  ImageRunner* runner;
  const PixelFormat* format;
  uint8_t* out;
  int64_t height, width;
  int64_t top;  // the image row at which the decoded rows begin
  bool mirror;
};

ImageRunner& ImageRunner::of_this_thread() {
  static thread_local ImageRunner runner;
  return runner;
}

ImageStatus ImageRunner::open(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws) {
  if (!looks_like_jpeg(data, size)) return ImageStatus::elsewhere;
  if (program.exif && exif_orientation(data, size) != 1) return ImageStatus::elsewhere;
  if (!reader_.open(data, size, program.max_pixels)) {
    error_ = reader_.error();
    return ImageStatus::undecodable;
  }
  if (!follow_geometry(program.ops, draws, reader_.height(), reader_.width(), geometry_, error_)) {
    return ImageStatus::misfit;
  }
  return ImageStatus::done;
}

ImageStatus ImageRunner::measure(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws,
                                 int64_t* height, int64_t* width) {
  const ImageStatus status = open(program, data, size, draws);
  *height = status == ImageStatus::done ? geometry_.height() : 0;
  *width = status == ImageStatus::done ? geometry_.width() : 0;
  return status;
}

ImageStatus ImageRunner::follow(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws,
                                Geometry* geometry) {
  const ImageStatus status = open(program, data, size, draws);
  *geometry = status == ImageStatus::done ? geometry_ : Geometry{};
  return status;
}

ImageStatus ImageRunner::run(const ImageProgram& program, const uint8_t* data, size_t size, const uint64_t* draws,
                             int64_t height, int64_t width, void* out) {
  const ImageStatus status = open(program, data, size, draws);
  if (status != ImageStatus::done) return status;
  if (geometry_.height() != height || geometry_.width() != width) {
    error_ = "the image is " + std::to_string(geometry_.height()) + "x" + std::to_string(geometry_.width()) +
             " (height x width), and its place is " + std::to_string(height) + "x" + std::to_string(width);
    return ImageStatus::wrong_size;
  }
  const bool read = geometry_.resampled ? resample_pixels(program, out) : copy_pixels(program, out);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // streaming stores need this fence
  if (read) return ImageStatus::done;
  error_ = reader_.error();
  return ImageStatus::undecodable;
}

bool ImageRunner::copy_pixels(const ImageProgram& program, void* out) {
  const PixelFormat& format = program.format;
  const CropBox& box = geometry_.source.box;
  const int channels = static_cast<int>(format.channels);
  row_.resize(static_cast<size_t>(box.width * channels) + kSlack);
  Target target{this, &format, static_cast<uint8_t*>(out), box.height, box.width, 0, geometry_.source.flipped};
  return reader_.read(1, channels, Region{box.top, box.left, box.height, box.width}, take_copied_row, &target);
}

void ImageRunner::take_copied_row(void* context, int64_t y, const uint8_t* row) {
  const Target& target = *static_cast<Target*>(context);
  const PixelFormat& format = *target.format;
  const int64_t length = target.width * format.channels;
  if (target.mirror) {
    uint8_t* mirrored = format.is_plain() ? target.out + y * length : target.runner->row_.data();
    mirror_row(row, target.width, format.channels, mirrored);
    row = mirrored;
  } else if (format.is_plain()) {
    std::memcpy(target.out + y * length, row, static_cast<size_t>(length));
  }
  if (!format.is_plain()) best_write_row()(format, row, y, target.height, target.width, target.out);
}

bool ImageRunner::resample_pixels(const ImageProgram& program, void* out) {
  const Geometry& g = geometry_;
  const CropBox &box = g.source.box, &window = g.window.box;
  const int denominator = reduction(program, g);
  const double scale = 1.0 / denominator;  // a power of two: exact
  const Axis columns{scale * static_cast<double>(box.left),
                     scale * static_cast<double>(box.width),
                     g.resized_width,
                     window.left,
                     window.width,
                     g.source.flipped,
                     g.window.flipped};
  const Axis rows{scale * static_cast<double>(box.top), scale * static_cast<double>(box.height), g.resized_height,
                  window.top, window.height};
  make_taps(g.filter, g.antialias, columns, horizontal_);
  make_taps(g.filter, g.antialias, rows, vertical_);
  const Region region{vertical_.low, horizontal_.low, vertical_.high - vertical_.low,
                      horizontal_.high - horizontal_.low};
  resizer_.begin(horizontal_, vertical_, region.left, program.format.channels);
  Target target{this, &program.format, static_cast<uint8_t*>(out), window.height, window.width, region.top, false};
  return reader_.read(denominator, static_cast<int>(program.format.channels), region, take_decoded_row, &target);
}

void ImageRunner::take_decoded_row(void* context, int64_t y, const uint8_t* row) {
  const Target& target = *static_cast<Target*>(context);
  const bool plain = target.format->is_plain();
  target.runner->resizer_.push(target.top + y, row, plain ? target.out : nullptr,
                               target.width * target.format->channels, plain ? nullptr : take_resized_row, context);
}

void ImageRunner::take_resized_row(void* context, int64_t y, const uint8_t* row) {
  const Target& target = *static_cast<Target*>(context);
  best_write_row()(*target.format, row, y, target.height, target.width, target.out);
}

void ImageRunner::resize(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels, Filter filter,
                         bool antialias, int64_t resized_height, int64_t resized_width, uint8_t* out) {
  const Axis columns{0.0, static_cast<double>(width), resized_width, 0, resized_width};
  const Axis rows{0.0, static_cast<double>(height), resized_height, 0, resized_height};
  make_taps(filter, antialias, columns, horizontal_);
  make_taps(filter, antialias, rows, vertical_);
  resizer_.begin(horizontal_, vertical_, 0, channels);
  const size_t length = static_cast<size_t>(width * channels);
  row_.resize(length + kSlack);
  for (int64_t y = vertical_.low; y < vertical_.high; ++y) {
    std::memcpy(row_.data(), pixels + y * static_cast<int64_t>(length), length);
    resizer_.push(y, row_.data(), out, resized_width * channels, nullptr, nullptr);
  }
}

}  // namespace penstock::kernels
