#include "kernels/gather.h"

#include <string>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "kernels/permute.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// out[i] = source[rows[i]]; the Python side has checked that the dtypes are equal and hold no references.
void gather_rows(nb::handle source, nb::handle rows, nb::handle out) {
  const Buffer from(source), index(rows), to(out, true);
  const auto* wanted = index.words<const std::int64_t>("rows");
  const std::size_t length = from.rows(), count = index.rows();
  if (!from.ndim() || !to.ndim()) throw nb::value_error("gather needs arrays with rows, not scalars");
  const std::size_t width = length ? from.bytes() / length : count ? to.bytes() / count : 0;
  if (to.rows() != count || to.bytes() != count * width)
    throw nb::value_error("out must have one row of the source's shape for each of rows");
  const std::size_t bad = first_outside(wanted, count, length);
  if (bad != count)
    throw nb::index_error(
        ("row " + std::to_string(wanted[bad]) + " is outside [0, " + std::to_string(length) + ")").c_str());
  if (to.bytes() && to.data() < from.data() + from.bytes() && from.data() < to.data() + to.bytes())
    throw nb::value_error("out must not overlap the source");
  run_freely(to.bytes() > kLongCallBytes, [&] { gather(from.data(), width, wanted, count, to.data()); });
}

}  // namespace

void bind_gather(nb::module_& module) { module.def("gather", gather_rows); }

}  // namespace penstock::bindings
