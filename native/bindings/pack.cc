#include "kernels/pack.h"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/beside.h"
#include "bindings/buffers.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::size_t kLongPack = 1000;         // sequences; about 50 microseconds
constexpr std::size_t kTokensAtOnce = 1 << 14;  // some 10 microseconds
constexpr std::size_t kFields = 5;              // of a piece: document, start, length, position, bin

std::int64_t pack(nb::handle lengths_array, nb::handle bins_array, std::int64_t capacity, bool best) {
  const Buffer from(lengths_array), to(bins_array, true);
  const auto* given = from.words<const std::int64_t>("lengths");
  auto* out = to.words<std::int64_t>("bins");
  if (from.rows() != to.rows()) throw nb::value_error("bins must have the length of lengths");
  if (capacity < 1 || capacity > kMaxCapacity)
    throw nb::value_error(("capacity must be from 1 to 2**24, not " + std::to_string(capacity)).c_str());
  if (from.rows() >> 31) throw nb::value_error("there must be fewer than 2**31 sequences");
  const std::vector<std::int64_t> lengths(given, given + from.rows());  // a copy that no other thread changes
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

// One-dimensional arrays of a dtype and any stride, held for the lifetime of this object.
class Held {
 public:
  // Writes the length of each to `lengths`. Another class, dtype or dimension raises a TypeError.
  Held(const nb::list& arrays, nb::handle dtype, nb::handle lengths_array) : dtype_(nb::borrow(dtype)) {
    const Buffer out(lengths_array, true);
    auto* lengths = out.words<std::int64_t>("lengths");
    const std::size_t count = nb::len(arrays);
    if (out.rows() != count) throw nb::value_error("lengths must have the length of arrays");
    arrays_.reserve(count);
    lines_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      arrays_.push_back(arrays[i]);
      const auto line = line_of(arrays_.back().ptr(), dtype.ptr());
      if (!line) refuse(i);
      lines_.push_back(*line);
      lengths[i] = line->length;
    }
  }

  std::size_t size() const { return lines_.size(); }
  const Line& operator[](std::size_t index) const { return lines_[index]; }
  nb::handle dtype() const { return dtype_; }

 private:
  [[noreturn]] void refuse(std::size_t index) const {
    throw nb::type_error(
        ("document " + std::to_string(index) + " must be a one-dimensional array of " + nb::str(dtype_).c_str())
            .c_str());
  }

  nb::object dtype_;
  std::vector<nb::object> arrays_;  // an array that something refers to is not resized
  std::vector<Line> lines_;
};

// All documents of several holders, numbered consecutively.
class Documents {
 public:
  Documents(const nb::list& held, nb::handle dtype) {
    for (const nb::handle each : held) {
      if (!nb::isinstance<Held>(each)) throw nb::type_error("documents must be a list of Held");
      const auto* documents = nb::cast<const Held*>(each);
      if (!documents->dtype().is(dtype) && !documents->dtype().equal(dtype))
        throw nb::type_error((std::string("documents must have the dtype of the tokens, ") + nb::str(dtype).c_str() +
                              ", not " + nb::str(documents->dtype()).c_str())
                                 .c_str());
      kept_.push_back(nb::borrow(each));
      held_.push_back(documents);
      count_ += documents->size();
      ends_.push_back(count_);
    }
  }

  const Line& operator[](std::int64_t index) const {
    const auto number = static_cast<std::size_t>(index);
    if (number >= count_)
      throw nb::index_error(("document " + std::to_string(index) + " of " + std::to_string(count_)).c_str());
    const auto at = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin());
    return (*held_[at])[number - (at ? ends_[at - 1] : 0)];
  }

 private:
  std::vector<nb::object> kept_;  // while they are read from without the GIL
  std::vector<const Held*> held_;
  std::vector<std::size_t> ends_;
  std::size_t count_ = 0;
};

std::vector<Segment> segments_of(const Documents& documents, const Buffer& table) {
  if (table.ndim() != 2 || table.bytes() != table.rows() * kFields * sizeof(std::int64_t))
    throw nb::type_error("pieces must be an array of 64-bit integers of shape (p, 5)");
  std::vector<Segment> segments;
  segments.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto* piece = reinterpret_cast<const std::int64_t*>(table.data()) + i * kFields;
    const std::int64_t start = piece[1], length = piece[2];
    const Line& document = documents[piece[0]];
    if (start < 0 || length < 0 || length > document.length || start > document.length - length)
      throw nb::value_error(("piece " + std::to_string(i) + " is not inside document " + std::to_string(piece[0]) +
                             " of " + std::to_string(document.length) + " tokens")
                                .c_str());
    const char* const tokens = document.data + start * document.stride;
    segments.push_back({tokens, document.stride, length, piece[3], piece[4]});
  }
  return segments;
}

bool overlap(const std::vector<Segment>& segments, std::size_t width, const Buffer& memory) {
  const char *begin = memory.data(), *end = begin + memory.bytes();
  return std::any_of(segments.begin(), segments.end(), [=](const Segment& segment) {
    if (!segment.length) return false;
    const char *first = segment.tokens, *last = first + (segment.length - 1) * segment.stride;
    if (last < first) std::swap(first, last);
    return begin < last + width && first < end;
  });
}

bool overlap(const Buffer& one, const Buffer& other) {
  return one.data() < other.data() + other.bytes() && other.data() < one.data() + one.bytes();
}

// Bins being filled. Long work continues in the background, without the GIL.
class Filling {
 public:
  // The Python side has checked the dtypes of the other arrays, and that none holds references.
  Filling(const nb::list& held, nb::handle pieces, nb::handle pad_array, nb::handle tokens_array, nb::handle ids_array,
          nb::handle positions_array, const SideThread* side)
      : pad_(pad_array),
        tokens_(tokens_array, true),
        ids_(ids_array, true),
        positions_(positions_array, true),
        documents_(held, tokens_array.attr("dtype")),
        bins_(bins()),
        segments_(segments_of(documents_, Buffer(pieces))) {
    const std::size_t width = bins_.width;
    if (overlap(segments_, width, tokens_) || overlap(segments_, width, ids_) ||
        overlap(segments_, width, positions_) || overlap(tokens_, ids_) || overlap(tokens_, positions_) ||
        overlap(ids_, positions_))
      throw nb::value_error("tokens, segment_ids and positions must not overlap the documents or one another");
    check();
    filling_.emplace(segments_.data(), segments_.size(), pad_.data(), bins_);
    const std::size_t count = bins_.count, at_once = std::max<std::size_t>(kTokensAtOnce / (bins_.capacity + 1), 1);
    if (side)
      beside_.begin(
          (count + at_once - 1) / at_once,
          [=, this](std::size_t piece) { filling_->fill(piece * at_once, std::min((piece + 1) * at_once, count)); },
          *side);
    else
      run_freely(tokens_.bytes() > kLongCallBytes, [=, this] { filling_->fill(0, count); });
  }

  auto wait() { return beside_.wait(); }

 private:
  Bins bins() const {
    const std::size_t width = pad_.bytes(), count = tokens_.rows();
    const std::size_t places = ids_.bytes() / sizeof(std::int32_t), capacity = count ? places / count : 0;
    if (tokens_.ndim() != 2 || !width || places != count * capacity || tokens_.bytes() != places * width ||
        ids_.rows() != count || ids_.bytes() != places * sizeof(std::int32_t) || positions_.rows() != count ||
        positions_.bytes() != ids_.bytes())
      throw nb::value_error("tokens, segment_ids and positions must be arrays of one shape (count, capacity)");
    return {tokens_.data(),
            reinterpret_cast<std::int32_t*>(ids_.data()),
            reinterpret_cast<std::int32_t*>(positions_.data()),
            count,
            capacity,
            width};
  }

  void check() const {
    const std::size_t bad = first_misfit(segments_.data(), segments_.size(), bins_);
    if (bad != segments_.size())
      throw nb::value_error(("piece " + std::to_string(bad) +
                             " does not fit: " + std::to_string(segments_[bad].length) + " tokens from position " +
                             std::to_string(segments_[bad].position) + " on in bin " +
                             std::to_string(segments_[bad].bin) + " of " + std::to_string(bins_.count))
                                .c_str());
  }

  const Buffer pad_, tokens_, ids_, positions_;
  const Documents documents_;
  const Bins bins_;
  const std::vector<Segment> segments_;
  std::optional<BinFilling> filling_;
  Beside beside_;
};

}  // namespace

void bind_pack(nb::module_& module) {
  nb::class_<Held>(module, "Held").def(nb::init<const nb::list&, nb::handle, nb::handle>());
  module.def("pack_bins", pack);
  nb::class_<Filling>(module, "Filling")
      .def(nb::init<const nb::list&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, const SideThread*>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("wait", &Filling::wait);
}

}  // namespace penstock::bindings
