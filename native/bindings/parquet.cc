#include "bindings/buffers.h"
#include "bindings/module.h"
#include "kernels/parquet_footer.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

nb::bytes consistent(nb::handle data) {
  const Buffer footer(data);
  const auto* begin = reinterpret_cast<const std::uint8_t*>(footer.data());
  std::vector<std::uint8_t> found;
  run_freely(footer.bytes() > kLongCallBytes, [&] { found = consistent_chunks({begin, begin + footer.bytes()}); });
  return nb::bytes(found.data(), found.size());
}

}  // namespace

void bind_parquet(nb::module_& module) { module.def("consistent_chunks", consistent); }

}  // namespace penstock::bindings
