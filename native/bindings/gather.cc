#include "kernels/gather.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/beside.h"
#include "bindings/buffers.h"
#include "bindings/module.h"
#include "bindings/pool.h"
#include "kernels/gather_ahead.h"
#include "kernels/permute.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// Raises a ValueError if the array has no rows, and an IndexError if it lacks a requested row.
void check_rows(const Buffer& source, const std::int64_t* wanted, std::size_t count) {
  if (!source.ndim()) throw nb::value_error("gather needs arrays with rows, not scalars");
  const std::size_t length = source.rows(), bad = first_outside(wanted, count, length);
  if (bad != count)
    throw nb::index_error(
        ("row " + std::to_string(wanted[bad]) + " is outside [0, " + std::to_string(length) + ")").c_str());
}

// out[i] = source[rows[i]]. The Python side has checked that the dtypes are equal and hold no references.
void gather_rows(nb::handle source, nb::handle rows, nb::handle out) {
  const Buffer index(rows), from(source), to(out, true);
  const auto* wanted = index.words<const std::int64_t>("rows");
  const std::size_t count = index.rows();
  check_rows(from, wanted, count);
  const std::size_t width = from.rows() ? from.bytes() / from.rows() : 0;
  if (!to.ndim() || to.rows() != count || to.bytes() != count * width)
    throw nb::value_error("out must have one row of the source's shape for each of rows");
  if (to.bytes() && to.data() < from.data() + from.bytes() && from.data() < to.data() + to.bytes())
    throw nb::value_error("out must not overlap the source");
  run_freely(to.bytes() > kLongCallBytes, [&] { gather(from.data(), width, wanted, count, to.data()); });
}

// out[places[i]] = sources[owners[i]][rows[i]]. The Python side has checked that the dtypes are equal, hold no
// references, and that no place comes twice.
void gather_several_rows(const nb::list& sources, nb::handle owners, nb::handle rows, nb::handle places,
                         nb::handle out) {
  const Buffer owner_index(owners), row_index(rows), place_index(places), to(out, true);
  const auto *owner = owner_index.words<const std::int64_t>("owners"),
             *wanted = row_index.words<const std::int64_t>("rows"),
             *place = place_index.words<const std::int64_t>("places");
  const std::size_t count = row_index.rows();
  if (owner_index.rows() != count || place_index.rows() != count)
    throw nb::value_error("owners, rows and places must have the same length");
  std::deque<Buffer> from;
  std::vector<const char*> starts;
  const std::size_t width = to.rows() ? to.bytes() / to.rows() : 0;
  for (const nb::handle array : sources) {
    const Buffer& source = from.emplace_back(array);
    if (source.bytes() != source.rows() * width && to.rows())
      throw nb::value_error("the rows of all arrays must have the same size");
    if (to.bytes() && to.data() < source.data() + source.bytes() && source.data() < to.data() + to.bytes())
      throw nb::value_error("out must not overlap the sources");
    starts.push_back(source.data());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::size_t>(owner[i]);
    if (number >= from.size()) throw nb::index_error(("there is no source " + std::to_string(owner[i])).c_str());
    if (static_cast<std::size_t>(wanted[i]) >= from[number].rows())
      throw nb::index_error(
          ("row " + std::to_string(wanted[i]) + " is outside [0, " + std::to_string(from[number].rows()) + ")")
              .c_str());
  }
  if (const std::size_t bad = first_outside(place, count, to.rows()); bad != count)
    throw nb::index_error(
        ("place " + std::to_string(place[bad]) + " is outside [0, " + std::to_string(to.rows()) + ")").c_str());
  run_freely(count * width > kLongCallBytes,
             [&] { gather_several(starts.data(), width, owner, wanted, place, count, to.data()); });
}

// A queue of batches of the same rows of several sources, made ahead of demand, without the GIL.
class Gathering {
 public:
  // The array of source i of a batch is `make(*kinds[i], block)`, a block of the pool, and a batch `join(arrays)`.
  Gathering(const nb::list& sources, nb::handle rows, std::size_t batch, nb::callable make, const nb::list& kinds,
            nb::callable join, const PoolHandle& pool, const SideThread& side)
      : index_(rows), make_(std::move(make)), join_(std::move(join)) {
    const auto* wanted = index_.words<const std::int64_t>("rows");
    const std::size_t count = index_.rows();
    if (!batch || count % batch) throw nb::value_error("rows must be so many whole batches");
    std::vector<RowSource> from;
    std::size_t row_bytes = 1;
    for (const nb::handle array : sources) {
      const Buffer& source = sources_.emplace_back(array);
      check_rows(source, wanted, count);
      from.push_back({source.data(), source.rows() ? source.bytes() / source.rows() : 0});
      row_bytes += from.back().width;
      if (batch > kMostBytes / row_bytes) throw nb::value_error("a batch would take more bytes than there can be");
    }
    if (nb::len(kinds) != from.size()) throw nb::value_error("there must be a kind of array for each source");
    for (const nb::handle kind : kinds) kinds_.push_back({nb::object(kind[0]), nb::object(kind[1])});
    left_ = count / batch;
    ahead_ = std::make_unique<GatherAhead>(std::move(from), wanted, count, batch, pool.pool, side.thread);
  }
  ~Gathering() {
    const nb::gil_scoped_release release;
    ahead_.reset();
  }

  std::size_t size() const { return left_; }

  nb::object popleft() {
    if (!left_) throw nb::index_error("there is no batch left");
    std::vector<std::unique_ptr<Block>> blocks;
    // releasing the GIL for such a short time would mean waiting for other threads, up to 5 ms per batch
    run_freely(!ahead_->has_next(), [&] { blocks = ahead_->take(); });
    nb::list arrays;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      arrays.append(make_(kinds_[i].shape, kinds_[i].dtype, nb::cast(std::move(blocks[i]))));
    nb::object joined = join_(arrays);
    --left_;
    return joined;
  }

  std::pair<std::int64_t, std::int64_t> took() const {
    const Took took = ahead_->took();
    return {took.wall, took.cpu};
  }

 private:
  struct Kind {
    nb::object shape, dtype;
  };
  static constexpr std::size_t kMostBytes = std::size_t{1} << 62;

  const Buffer index_;
  const nb::callable make_, join_;
  std::vector<Kind> kinds_;
  std::deque<Buffer> sources_;        // they stay where they are
  std::atomic<std::size_t> left_{0};  // batches
  std::unique_ptr<GatherAhead> ahead_;
};

}  // namespace

void bind_gather(nb::module_& module) {
  module.def("gather", gather_rows);
  module.def("gather_several", gather_several_rows);
  nb::class_<SideThread>(module, "SideThread").def(nb::init<std::vector<int>>(), nb::arg("cores") = std::vector<int>{});
  nb::class_<Gathering>(module, "Gathering")
      .def(nb::init<const nb::list&, nb::handle, std::size_t, nb::callable, const nb::list&, nb::callable,
                    const PoolHandle&, const SideThread&>())
      .def("__len__", &Gathering::size)
      .def("popleft", &Gathering::popleft)
      .def("took", &Gathering::took);
}

}  // namespace penstock::bindings
