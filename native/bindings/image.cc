// Images: the fused kernel over a list of file contents, resizing, and the parameters that both paths share.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/module.h"
#include "kernels/files.h"
#include "kernels/image_run.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using kernels::GeometryOp;
using kernels::ImageProgram;
using kernels::ImageRunner;
using kernels::ImageStatus;
using kernels::PixelType;

// One geometric operation per row: kind, top, left, height, width, filter, antialias, scale (2), ratio (2),
// probability.
constexpr size_t kOpFields = 12;

using OpTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using DrawTable = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Affine = nb::ndarray<const float, nb::shape<2, 3>, nb::c_contig, nb::device::cpu>;
using Pixels = nb::ndarray<const uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::device::cpu>;

// The images left to the caller, then the first that failed: its index (-1: none), status and message.
using Outcome = std::tuple<std::vector<int64_t>, int64_t, int, std::string>;

ImageProgram make_program(const OpTable& ops, int channels, bool exact, bool exif, int64_t max_pixels, int type,
                          bool planar, const Affine& affine) {
  if (ops.shape(0) > 0 && ops.shape(1) != kOpFields) throw nb::value_error("operations: expected 12 fields each");
  if (channels != 1 && channels != 3) throw nb::value_error("channels: expected 1 or 3");
  if (type < 0 || type > 2) throw nb::value_error("type: expected 0, 1 or 2");
  ImageProgram program;
  program.exact = exact;
  program.exif = exif;
  program.max_pixels = max_pixels;
  program.format.type = static_cast<PixelType>(type);
  program.format.planar = planar;
  program.format.channels = channels;
  for (int c = 0; c < 3; ++c) {
    program.format.gain[c] = affine(0, c);
    program.format.offset[c] = affine(1, c);
  }
  for (size_t i = 0; i < ops.shape(0); ++i) {
    const double* row = ops.data() + i * kOpFields;
    GeometryOp op{};
    op.kind = static_cast<kernels::GeometryKind>(static_cast<int>(row[0]));
    op.top = static_cast<int64_t>(row[1]), op.left = static_cast<int64_t>(row[2]);
    op.height = static_cast<int64_t>(row[3]), op.width = static_cast<int64_t>(row[4]);
    op.filter = static_cast<kernels::Filter>(static_cast<int>(row[5]));
    op.antialias = row[6] != 0.0;
    op.scale[0] = row[7], op.scale[1] = row[8], op.ratio[0] = row[9], op.ratio[1] = row[10];
    op.probability = row[11];
    program.ops.push_back(op);
  }
  return program;
}

// The values, kept alive while the kernel reads them without the GIL: bytes or, with `files`, paths of files that are
// read one by one into the thread's own memory.
class Contents {
 public:
  struct View {
    const uint8_t* data;
    size_t size;
  };

  Contents(const nb::list& values, bool files) : files_(files) {
    for (nb::handle value : values) {
      nb::object owner = nb::borrow(value);
      if (files && PyUnicode_Check(value.ptr())) {
        owner = nb::steal(PyUnicode_EncodeFSDefault(value.ptr()));
        if (!owner.is_valid()) throw nb::python_error();
      }
      const bool is_bytes = PyBytes_Check(owner.ptr()) && files == bool(PyUnicode_Check(value.ptr()));
      const auto* data = is_bytes ? reinterpret_cast<const uint8_t*>(PyBytes_AsString(owner.ptr())) : nullptr;
      views_.push_back({data, is_bytes ? static_cast<size_t>(PyBytes_Size(owner.ptr())) : 0});
      owners_.push_back(std::move(owner));
    }
  }

  size_t size() const { return views_.size(); }

  // Returns the bytes of value i, valid until the next call in this thread; none if a file cannot be read completely.
  View operator[](size_t i) const { return files_ && views_[i].data ? read(views_[i]) : views_[i]; }

 private:
  static View read(const View& path) {
    thread_local std::vector<uint8_t> memory;
    const char* name = reinterpret_cast<const char*>(path.data);
    if (std::strlen(name) != path.size) return {nullptr, 0};
    OpenFile file;
    open_files(&name, 1, &file);
    if (file.descriptor < 0) return {nullptr, 0};
    if (memory.size() < static_cast<size_t>(file.size)) memory.resize(static_cast<size_t>(file.size));
    const bool whole = read_whole(file, reinterpret_cast<char*>(memory.data()));
    close_file(file);
    return whole ? View{memory.data(), static_cast<size_t>(file.size)} : View{nullptr, 0};
  }

  bool files_;
  std::vector<nb::object> owners_;
  std::vector<View> views_;
};

const uint64_t* draws_of(const DrawTable& draws, size_t i) { return draws.data() + i * draws.shape(1); }

void check_draws(const Contents& contents, const OpTable& ops, const DrawTable& draws) {
  if (draws.shape(0) != contents.size() || draws.shape(1) != ops.shape(0)) {
    throw nb::value_error("draws: expected one a value and operation");
  }
}

// The destination of one image. `array` is (height, width, channels), or (channels, height, width) if planar.
struct Place {
  uint8_t* out;
  int64_t height, width;
};

Place place_of(const ImageProgram& program, const AnyArray& array, size_t dimension, size_t offset) {
  const kernels::PixelFormat& format = program.format;
  const nb::dlpack::dtype type = array.dtype();
  const bool is_float = format.type != PixelType::uint8;
  const auto code = static_cast<uint8_t>(is_float ? nb::dlpack::dtype_code::Float : nb::dlpack::dtype_code::UInt);
  const size_t h = dimension + (format.planar ? 1 : 0), c = dimension + (format.planar ? 0 : 2);
  if (array.ndim() != dimension + 3 || type.code != code || type.lanes != 1 || type.bits != 8 * format.value_bytes() ||
      static_cast<int64_t>(array.shape(c)) != format.channels) {
    throw nb::value_error("out: expected an array of the program's shape and dtype");
  }
  int64_t step = 1;
  for (size_t d = dimension + 3; d-- > dimension;) {
    if (array.shape(d) > 1 && array.stride(d) != step) throw nb::value_error("out: expected contiguous images");
    step *= static_cast<int64_t>(array.shape(d));
  }
  auto* base = static_cast<uint8_t*>(array.data());
  const int64_t begin = dimension == 1 ? static_cast<int64_t>(offset) * array.stride(0) : 0;
  return {base + begin * static_cast<int64_t>(format.value_bytes()), static_cast<int64_t>(array.shape(h)),
          static_cast<int64_t>(array.shape(h + 1))};
}

std::vector<Place> places_of(const ImageProgram& program, nb::object out, size_t count) {
  std::vector<Place> places;
  places.reserve(count);
  if (nb::isinstance<nb::list>(out)) {
    for (nb::handle item : nb::list(out)) places.push_back(place_of(program, nb::cast<AnyArray>(item), 0, 0));
  } else {
    const auto array = nb::cast<AnyArray>(out);
    if (array.ndim() != 4 || array.shape(0) != count) throw nb::value_error("out: expected one image a value");
    for (size_t i = 0; i < count; ++i) places.push_back(place_of(program, array, 1, i));
  }
  if (places.size() != count) throw nb::value_error("out: expected one image a value");
  return places;
}

Outcome run_images(const nb::list& values, const OpTable& ops, const DrawTable& draws, int channels, bool exact,
                   bool exif, int64_t max_pixels, int type, bool planar, const Affine& affine, nb::object out,
                   bool files) {
  const ImageProgram program = make_program(ops, channels, exact, exif, max_pixels, type, planar, affine);
  const Contents contents(values, files);
  check_draws(contents, ops, draws);
  const std::vector<Place> places = places_of(program, out, contents.size());
  Outcome outcome{{}, -1, 0, ""};
  nb::gil_scoped_release unlocked;
  ImageRunner& runner = ImageRunner::of_this_thread();
  for (size_t i = 0; i < places.size(); ++i) {
    const auto [data, size] = contents[i];
    const ImageStatus status =
        runner.run(program, data, size, draws_of(draws, i), places[i].height, places[i].width, places[i].out);
    if (status == ImageStatus::done) continue;
    if (status == ImageStatus::elsewhere) {
      std::get<0>(outcome).push_back(static_cast<int64_t>(i));
      continue;
    }
    std::get<1>(outcome) = static_cast<int64_t>(i);
    std::get<2>(outcome) = static_cast<int>(status);
    std::get<3>(outcome) = runner.error();
    break;
  }
  return outcome;
}

using Sizes = std::vector<std::tuple<int64_t, int64_t>>;

// Returns the size of each result; (0, 0) for images left to the caller, and from the first failure on.
std::tuple<Sizes, Outcome> measure_images(const nb::list& values, const OpTable& ops, const DrawTable& draws, bool exif,
                                          int64_t max_pixels, bool files) {
  const float identity[6] = {1, 1, 1, 0, 0, 0};
  const size_t shape[2] = {2, 3};
  const ImageProgram program =
      make_program(ops, 3, false, exif, max_pixels, 0, false, Affine(identity, 2, shape, nb::handle()));
  const Contents contents(values, files);
  check_draws(contents, ops, draws);
  const size_t count = contents.size();
  Sizes sizes(count);
  Outcome outcome{{}, -1, 0, ""};
  nb::gil_scoped_release unlocked;
  ImageRunner& runner = ImageRunner::of_this_thread();
  for (size_t i = 0; i < count; ++i) {
    int64_t height = 0, width = 0;
    const auto [data, size] = contents[i];
    const ImageStatus status = runner.measure(program, data, size, draws_of(draws, i), &height, &width);
    sizes[i] = {height, width};
    if (status == ImageStatus::elsewhere) {
      std::get<0>(outcome).push_back(static_cast<int64_t>(i));
    } else if (status != ImageStatus::done) {
      std::get<1>(outcome) = static_cast<int64_t>(i);
      std::get<2>(outcome) = static_cast<int>(status);
      std::get<3>(outcome) = runner.error();
      break;
    }
  }
  return {sizes, outcome};
}

// One image per row: top, left, height, width and flip of the source; whether it is resampled, the filter, antialias,
// height and width; top, left, height, width and flip of the window into the resampled image.
constexpr size_t kGeometryFields = 15;

using GeometryTable = nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Writes the geometry of each image, from the headers alone; zeros for images left to the caller.
Outcome follow_images(const nb::list& values, const OpTable& ops, const DrawTable& draws, bool exif, int64_t max_pixels,
                      const GeometryTable& out) {
  const float identity[6] = {1, 1, 1, 0, 0, 0};
  const size_t shape[2] = {2, 3};
  const ImageProgram program =
      make_program(ops, 3, false, exif, max_pixels, 0, false, Affine(identity, 2, shape, nb::handle()));
  const Contents contents(values, false);
  check_draws(contents, ops, draws);
  if (out.shape(0) != contents.size() || out.shape(1) != kGeometryFields) {
    throw nb::value_error("out: expected 15 fields for each value");
  }
  Outcome outcome{{}, -1, 0, ""};
  nb::gil_scoped_release unlocked;
  ImageRunner& runner = ImageRunner::of_this_thread();
  for (size_t i = 0; i < contents.size(); ++i) {
    kernels::Geometry g{};
    const auto [data, size] = contents[i];
    const ImageStatus status = runner.follow(program, data, size, draws_of(draws, i), &g);
    const kernels::CropBox &box = g.source.box, &window = g.resampled ? g.window.box : g.source.box;
    const int64_t row[kGeometryFields] = {box.top,
                                          box.left,
                                          box.height,
                                          box.width,
                                          g.source.flipped,
                                          g.resampled,
                                          static_cast<int64_t>(g.filter),
                                          g.antialias,
                                          g.resized_height,
                                          g.resized_width,
                                          g.resampled ? window.top : 0,
                                          g.resampled ? window.left : 0,
                                          window.height,
                                          window.width,
                                          g.resampled && g.window.flipped};
    std::copy(row, row + kGeometryFields, out.data() + i * kGeometryFields);
    if (status == ImageStatus::elsewhere) {
      std::get<0>(outcome).push_back(static_cast<int64_t>(i));
    } else if (status != ImageStatus::done) {
      std::get<1>(outcome) = static_cast<int64_t>(i);
      std::get<2>(outcome) = static_cast<int>(status);
      std::get<3>(outcome) = runner.error();
      break;
    }
  }
  return outcome;
}

void resize_pixels(const Pixels& pixels, int filter, bool antialias,
                   const nb::ndarray<uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>& out) {
  for (size_t d = 0; d < 3; ++d) {
    if (pixels.shape(d) == 0 || out.shape(d) == 0) throw nb::value_error("resize_pixels: an image without pixels");
  }
  if (pixels.shape(2) != out.shape(2)) throw nb::value_error("resize_pixels: channels differ");
  nb::gil_scoped_release unlocked;
  ImageRunner::of_this_thread().resize(
      pixels.data(), static_cast<int64_t>(pixels.shape(0)), static_cast<int64_t>(pixels.shape(1)),
      static_cast<int64_t>(pixels.shape(2)), static_cast<kernels::Filter>(filter), antialias,
      static_cast<int64_t>(out.shape(0)), static_cast<int64_t>(out.shape(1)), out.data());
}

using Box = std::tuple<int64_t, int64_t, int64_t, int64_t>;

Box as_tuple(const kernels::CropBox& box) { return {box.top, box.left, box.height, box.width}; }

}  // namespace

void bind_image(nb::module_& module) {
  module.def("run_images", run_images, "values"_a, "ops"_a, "draws"_a, "channels"_a, "exact"_a, "exif"_a,
             "max_pixels"_a, "type"_a, "planar"_a, "affine"_a, "out"_a.noconvert(), "files"_a);
  module.def("measure_images", measure_images, "values"_a, "ops"_a, "draws"_a, "exif"_a, "max_pixels"_a, "files"_a);
  module.def("follow_images", follow_images, "values"_a, "ops"_a, "draws"_a, "exif"_a, "max_pixels"_a,
             "out"_a.noconvert());
  module.def("resize_pixels", resize_pixels, "pixels"_a.noconvert(), "filter"_a, "antialias"_a, "out"_a.noconvert());
  module.def("exif_orientation", [](const nb::bytes& data) {
    return kernels::exif_orientation(static_cast<const uint8_t*>(data.data()), data.size());
  });
  module.def("random_resized_crop_box", [](int64_t height, int64_t width, std::tuple<double, double> scale,
                                           std::tuple<double, double> ratio, uint64_t draw) {
    const double scales[2] = {std::get<0>(scale), std::get<1>(scale)};
    const double ratios[2] = {std::get<0>(ratio), std::get<1>(ratio)};
    return as_tuple(kernels::random_resized_crop_box(height, width, scales, ratios, draw));
  });
  module.def("random_crop_box",
             [](int64_t height, int64_t width, int64_t box_height, int64_t box_width, uint64_t draw) {
               return as_tuple(kernels::random_crop_box(height, width, box_height, box_width, draw));
             });
  module.def("center_crop_box", [](int64_t height, int64_t width, int64_t box_height, int64_t box_width) {
    return as_tuple(kernels::center_crop_box(height, width, box_height, box_width));
  });
  module.def("shorter_side_size", [](int64_t height, int64_t width, int64_t shorter) {
    int64_t resized_height = 0, resized_width = 0;
    kernels::shorter_side_size(height, width, shorter, &resized_height, &resized_width);
    return std::make_tuple(resized_height, resized_width);
  });
  module.def("random_flip_choice", kernels::random_flip_choice);
}

}  // namespace penstock::bindings
