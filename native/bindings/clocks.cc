#include "kernels/clocks.h"

#include <cstdint>
#include <thread>

#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// Keeps the GIL: releasing and taking it again takes longer than reading the clocks.
nb::tuple read_thread_times() {
  const ThreadTimes times = thread_times();
  return nb::make_tuple(times.wall, times.cpu, times.starved, times.yields, times.reads);
}

// Long enough for a thread that is woken by the release to take the GIL.
constexpr std::int64_t kOffer = 50'000;  // ns

// Offers the GIL to other threads for a moment, and returns the ns that this thread then waited to have it again. The
// time in which it had the GIL but no core does not count.
std::int64_t wait_for_gil() {
  ThreadTimes before;
  {
    const nb::gil_scoped_release released;
    const std::int64_t began = thread_times().wall;
    do {
      std::this_thread::yield();  // the other thread may be waiting for this core
      before = thread_times();
    } while (before.wall < began + kOffer);
  }
  const ThreadTimes after = thread_times();
  const std::int64_t waited = (after.wall - before.wall) - (after.cpu - before.cpu) - (after.starved - before.starved);
  return waited > 0 ? waited : 0;
}

}  // namespace

void bind_clocks(nb::module_& module) {
  module.def("thread_times", read_thread_times);
  module.def("wait_for_gil", wait_for_gil);
}

}  // namespace penstock::bindings
