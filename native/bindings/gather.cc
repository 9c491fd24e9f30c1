#include "kernels/gather.h"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <deque>
#include <string>

#include "bindings/beside.h"
#include "bindings/buffers.h"
#include "bindings/module.h"
#include "kernels/permute.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// A source whose rows go to `to`. The Python side has checked that the dtypes are equal and hold no references.
struct Copy {
  Copy(nb::handle source, nb::handle out) : from(source), to(out, true) {}

  // Raises what is wrong with the rows, or with the memory.
  void check(const std::int64_t* wanted, std::size_t count) {
    const std::size_t length = from.rows();
    if (!from.ndim() || !to.ndim()) throw nb::value_error("gather needs arrays with rows, not scalars");
    width = length ? from.bytes() / length : count ? to.bytes() / count : 0;
    if (to.rows() != count || to.bytes() != count * width)
      throw nb::value_error("out must have one row of the source's shape for each of rows");
    const std::size_t bad = first_outside(wanted, count, length);
    if (bad != count)
      throw nb::index_error(
          ("row " + std::to_string(wanted[bad]) + " is outside [0, " + std::to_string(length) + ")").c_str());
    if (to.bytes() && to.data() < from.data() + from.bytes() && from.data() < to.data() + to.bytes())
      throw nb::value_error("out must not overlap the source");
  }

  // Rows `first` to `first + count` of what is wanted.
  void run(const std::int64_t* wanted, std::size_t first, std::size_t count) const {
    gather(from.data(), width, wanted + first, count, to.data() + first * width);
  }

  Buffer from, to;
  std::size_t width = 0;
};

// out[i] = source[rows[i]]
void gather_rows(nb::handle source, nb::handle rows, nb::handle out) {
  const Buffer index(rows);
  const auto* wanted = index.words<const std::int64_t>("rows");
  Copy copy(source, out);
  copy.check(wanted, index.rows());
  run_freely(copy.to.bytes() > kLongCallBytes, [&] { copy.run(wanted, 0, index.rows()); });
}

// The same of several sources, going on beside whoever began it, without the GIL.
class Gathering {
 public:
  Gathering(const nb::sequence& sources, nb::handle rows, const nb::sequence& outs, const SideThread& side)
      : index_(rows), wanted_(index_.words<const std::int64_t>("rows")) {
    if (nb::len(sources) != nb::len(outs)) throw nb::value_error("there must be an out for each source");
    for (std::size_t i = 0, count = nb::len(sources); i < count; ++i)
      copies_.emplace_back(nb::object(sources[i]), nb::object(outs[i])).check(wanted_, index_.rows());
    std::size_t width = 1;
    for (const Copy& copy : copies_) width += copy.width;
    const std::size_t count = index_.rows(), at_once = std::max(kPieceBytes / width, kLeastRows);
    beside_.begin((count + at_once - 1) / at_once,
                  [this, at_once, count](std::size_t piece) {
                    const std::size_t first = piece * at_once;
                    for (const Copy& copy : copies_) copy.run(wanted_, first, std::min(at_once, count - first));
                  },
                  side);
  }

  auto wait() { return beside_.wait(); }

 private:
  static constexpr std::size_t kPieceBytes = 128 << 10;  // some 10 microseconds of copying
  static constexpr std::size_t kLeastRows = 16;

  const Buffer index_;
  const std::int64_t* const wanted_;
  std::deque<Copy> copies_;  // they stay where they are
  Beside beside_;
};

}  // namespace

void bind_gather(nb::module_& module) {
  module.def("gather", gather_rows);
  nb::class_<SideThread>(module, "SideThread").def(nb::init<>());
  nb::class_<Gathering>(module, "Gathering")
      .def(nb::init<const nb::sequence&, nb::handle, const nb::sequence&, const SideThread&>())
      .def("wait", &Gathering::wait);
}

}  // namespace penstock::bindings
