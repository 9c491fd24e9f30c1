#include <string>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "kernels/resample.h"
#include "kernels/wav.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

WavStatus layout_of(const Buffer& file, WavLayout* layout) {
  return find_samples(reinterpret_cast<const unsigned char*>(file.data()), file.bytes(), layout);
}

// (status, channels, rate, frames, bytes of samples by the header, and bytes present)
nb::tuple wav_layout(nb::handle data) {
  const Buffer file(data);
  WavLayout layout{};
  const WavStatus status = layout_of(file, &layout);
  const auto held = static_cast<std::int64_t>(file.bytes()) - layout.data;
  return nb::make_tuple(static_cast<int>(status), layout.channels, layout.rate, layout.frames, layout.stated, held);
}

float* floats_of(const Buffer& array, std::size_t count) {
  if (array.bytes() != count * sizeof(float)) throw nb::value_error("out has another size than the samples");
  return reinterpret_cast<float*>(array.data());
}

void wav_samples(nb::handle data, std::int64_t first, std::int64_t count, bool mixed, nb::handle out_array) {
  const Buffer file(data), out(out_array, true);
  WavLayout layout{};
  const WavStatus status = layout_of(file, &layout);
  if (status != WavStatus::kOk && status != WavStatus::kTruncated) throw nb::value_error("there are no samples");
  if (first < 0 || count < 0 || first > layout.frames || count > layout.frames - first)
    throw nb::index_error("frames outside of the file");
  float* const into = floats_of(out, static_cast<std::size_t>(mixed ? count : count * layout.channels));
  run_freely(out.bytes() > kLongCallBytes, [&] {
    read_samples(reinterpret_cast<const unsigned char*>(file.data()), layout, first, count, mixed, into);
  });
}

void resample_into(nb::handle input_array, nb::handle weights_array, std::int64_t down, nb::handle out_array) {
  const Buffer input(input_array), weights(weights_array), out(out_array, true);
  const std::size_t frames = input.bytes() / sizeof(float), count = out.bytes() / sizeof(float);
  if (weights.ndim() != 2 || !weights.rows() || !weights.bytes() || down < 1)
    throw nb::value_error("weights must have the shape (up, taps), and down be at least 1");
  const auto up = static_cast<std::int64_t>(weights.rows());
  const auto taps = static_cast<std::int64_t>(weights.bytes() / sizeof(float)) / up;
  const PolyphaseFilter filter{reinterpret_cast<const float*>(weights.data()), up, down, taps};
  run_freely(count * static_cast<std::size_t>(taps) > kLongCallBytes, [&] {
    resample(filter, reinterpret_cast<const float*>(input.data()), static_cast<std::int64_t>(frames),
             reinterpret_cast<float*>(out.data()), static_cast<std::int64_t>(count));
  });
}

}  // namespace

void bind_audio(nb::module_& module) {
  module.def("wav_layout", wav_layout);
  module.def("wav_samples", wav_samples);
  module.def("resample", resample_into);
}

}  // namespace penstock::bindings
