#include "kernels/pack.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::size_t kLongPack = 1000;  // sequences; about 50 microseconds
constexpr std::size_t kFields = 5;       // of a piece: document, start, length, position, bin

std::int64_t pack(nb::handle lengths_array, nb::handle bins_array, std::int64_t capacity, bool best) {
  const Buffer from(lengths_array), to(bins_array, true);
  const auto* given = from.words<const std::int64_t>("lengths");
  auto* out = to.words<std::int64_t>("bins");
  if (from.rows() != to.rows()) throw nb::value_error("bins must have the length of lengths");
  if (capacity < 1 || capacity > kMaxCapacity)
    throw nb::value_error(("capacity must be from 1 to 2**24, not " + std::to_string(capacity)).c_str());
  if (from.rows() >> 31) throw nb::value_error("there must be fewer than 2**31 sequences");
  const std::vector<std::int64_t> lengths(given, given + from.rows());  // memory that nobody else changes meanwhile
  std::vector<std::int64_t> bins(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0 || lengths[i] > capacity)
      throw nb::value_error(("sequence " + std::to_string(i) + " has " + std::to_string(lengths[i]) +
                             " tokens, and a bin has room for 0 to " + std::to_string(capacity))
                                .c_str());
  std::int64_t opened = 0;
  run_freely(lengths.size() > kLongPack, [&] {
    opened = (best ? pack_best_fit : pack_first_fit)(lengths.data(), lengths.size(), capacity, bins.data());
  });
  std::copy(bins.begin(), bins.end(), out);
  return opened;
}

// One-dimensional arrays of one dtype and any stride, held from when they are first asked for.
class Documents {
 public:
  Documents(const nb::list& arrays, nb::handle like)
      : arrays_(arrays), dtype_(like.attr("dtype")), held_(nb::len(arrays), nullptr) {}
  ~Documents() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
  }
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  const Py_buffer& operator[](std::int64_t index) {
    if (static_cast<std::uint64_t>(index) >= held_.size())
      throw nb::index_error(("document " + std::to_string(index) + " of " + std::to_string(held_.size())).c_str());
    const Py_buffer*& view = held_[static_cast<std::size_t>(index)];
    if (!view) view = hold(static_cast<std::size_t>(index));
    return *view;
  }

  bool overlap(const Buffer& memory) const {
    for (const Py_buffer& view : views_) {
      if (!view.shape[0]) continue;
      const auto* first = static_cast<const char*>(view.buf);
      const auto* last = first + (view.shape[0] - 1) * view.strides[0];
      if (last < first) std::swap(first, last);
      if (memory.data() < last + view.itemsize && first < memory.data() + memory.bytes()) return true;
    }
    return false;
  }

 private:
  const Py_buffer* hold(std::size_t index) {
    const nb::object array = arrays_[index], dtype = array.attr("dtype");
    if (!dtype.is(dtype_) && !dtype.equal(dtype_))
      throw nb::type_error(("document " + std::to_string(index) + " must have the dtype of the tokens, " +
                            nb::str(dtype_).c_str() + ", not " + nb::str(dtype).c_str())
                               .c_str());
    views_.emplace_back();
    if (PyObject_GetBuffer(array.ptr(), &views_.back(), PyBUF_STRIDES)) {
      views_.pop_back();
      nb::raise_python_error();
    }
    if (views_.back().ndim != 1)
      throw nb::type_error(("document " + std::to_string(index) + " must have one dimension").c_str());
    return &views_.back();
  }

  const nb::list& arrays_;
  nb::object dtype_;
  std::vector<const Py_buffer*> held_;
  std::deque<Py_buffer> views_;  // which stay where they are
};

std::vector<Segment> segments_of(Documents& documents, const Buffer& table) {
  if (table.ndim() != 2 || table.bytes() != table.rows() * kFields * sizeof(std::int64_t))
    throw nb::type_error("pieces must be an array of 64-bit integers of shape (p, 5)");
  std::vector<Segment> segments;
  segments.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto* piece = reinterpret_cast<const std::int64_t*>(table.data()) + i * kFields;
    const std::int64_t start = piece[1], length = piece[2];
    const Py_buffer& document = documents[piece[0]];
    if (start < 0 || length < 0 || length > document.shape[0] || start > document.shape[0] - length)
      throw nb::value_error(("piece " + std::to_string(i) + " is not inside document " + std::to_string(piece[0]) +
                             " of " + std::to_string(document.shape[0]) + " tokens")
                                .c_str());
    const auto* tokens = static_cast<const char*>(document.buf) + start * document.strides[0];
    segments.push_back({tokens, document.strides[0], length, piece[3], piece[4]});
  }
  return segments;
}

bool overlap(const Buffer& one, const Buffer& other) {
  return one.data() < other.data() + other.bytes() && other.data() < one.data() + one.bytes();
}

// The Python side has checked the dtypes of what is not a document, and that none holds references.
void fill(const nb::list& arrays, nb::handle pieces, nb::handle pad_array, nb::handle tokens_array,
          nb::handle ids_array, nb::handle positions_array) {
  const Buffer table(pieces), pad(pad_array), tokens(tokens_array, true), ids(ids_array, true),
      positions(positions_array, true);
  const std::size_t width = pad.bytes(), count = tokens.rows();
  const std::size_t places = ids.bytes() / sizeof(std::int32_t), capacity = count ? places / count : 0;
  if (tokens.ndim() != 2 || !width || places != count * capacity || tokens.bytes() != places * width ||
      ids.rows() != count || ids.bytes() != places * sizeof(std::int32_t) || positions.rows() != count ||
      positions.bytes() != ids.bytes())
    throw nb::value_error("tokens, segment_ids and positions must be arrays of one shape (count, capacity)");
  Documents documents(arrays, tokens_array);
  const std::vector<Segment> segments = segments_of(documents, table);
  if (documents.overlap(tokens) || documents.overlap(ids) || documents.overlap(positions) || overlap(tokens, ids) ||
      overlap(tokens, positions) || overlap(ids, positions))
    throw nb::value_error("tokens, segment_ids and positions must not overlap the documents or one another");
  const Bins bins{tokens.data(),
                  reinterpret_cast<std::int32_t*>(ids.data()),
                  reinterpret_cast<std::int32_t*>(positions.data()),
                  count,
                  capacity,
                  width};
  const std::string token(pad.data(), width);
  std::size_t bad = 0;
  run_freely(tokens.bytes() > kLongCallBytes, [&] {
    bad = first_misfit(segments.data(), segments.size(), bins);
    if (bad == segments.size()) fill_bins(segments.data(), segments.size(), token.data(), bins);
  });
  if (bad != segments.size())
    throw nb::value_error(("piece " + std::to_string(bad) + " does not fit: " + std::to_string(segments[bad].length) +
                           " tokens from position " + std::to_string(segments[bad].position) + " on in bin " +
                           std::to_string(segments[bad].bin) + " of " + std::to_string(count))
                              .c_str());
}

}  // namespace

void bind_pack(nb::module_& module) {
  module.def("pack_bins", pack);
  module.def("fill_bins", fill);
}

}  // namespace penstock::bindings
