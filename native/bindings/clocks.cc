#include "kernels/clocks.h"

#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// Keeps the GIL: releasing and taking it again takes longer than reading the clocks.
nb::tuple read_thread_times() {
  const ThreadTimes times = thread_times();
  return nb::make_tuple(times.wall, times.cpu, times.starved, times.yields, times.reads);
}

}  // namespace

void bind_clocks(nb::module_& module) { module.def("thread_times", read_thread_times); }

}  // namespace penstock::bindings
