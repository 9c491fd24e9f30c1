#include "kernels/random.h"

#include "bindings/buffers.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

void fill_first_draws(std::uint64_t key, nb::handle rows, nb::handle out) {
  const Buffer from(rows), to(out, true);
  const auto* source = from.words<const std::int64_t>("rows");
  auto* draws = to.words<std::uint64_t>("out");
  const std::size_t count = from.rows();
  if (to.rows() != count) throw nb::value_error("out must have the length of rows");
  run_freely(count > (1 << 13), [&] { first_draws(key, source, count, draws); });
}

}  // namespace

void bind_random(nb::module_& module) { module.def("first_draws", fill_first_draws); }

}  // namespace penstock::bindings
