#include <charconv>
#include <cstdint>
#include <system_error>

#include "bindings/buffers.h"
#include "bindings/items.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// out[i] = values[i] as long as `copy(value, out[i])` succeeds; returns false at the first failure.
template <class Number, class Copy>
bool copy_all(const nb::list& values, const Buffer& out, const Copy& copy) {
  auto* to = reinterpret_cast<Number*>(out.data());
  const std::size_t count = out.rows();
  const Items items(values);
  if (out.ndim() != 1 || out.bytes() != count * sizeof(Number) || items.size() != count)
    throw nb::value_error("out must be one-dimensional, and have one number for each value");
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kItemsAhead < count) __builtin_prefetch(items[i + kItemsAhead]);
    if (!copy(items[i], to[i])) return false;
  }
  return true;
}

bool copy_ints(const nb::list& values, nb::handle out) {
  return copy_all<std::int64_t>(values, Buffer(out, true), [](PyObject* value, std::int64_t& to) {
    if (!PyLong_CheckExact(value)) return false;
    int overflow = 0;
    to = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0;
  });
}

bool copy_floats(const nb::list& values, nb::handle out) {
  return copy_all<double>(values, Buffer(out, true), [](PyObject* value, double& to) {
    if (!PyFloat_CheckExact(value)) return false;
    to = PyFloat_AsDouble(value);
    return true;
  });
}

bool copy_bools(const nb::list& values, nb::handle out) {
  return copy_all<std::uint8_t>(values, Buffer(out, true), [](PyObject* value, std::uint8_t& to) {
    to = value == Py_True;
    return to || value == Py_False;
  });
}

// The number that a value of type `bytes` writes in digits, after a minus if negative.
bool parse_int(PyObject* value, std::int64_t& to) {
  if (!PyBytes_CheckExact(value)) return false;
  const char* const begin = PyBytes_AsString(value);
  const char* const end = begin + PyBytes_Size(value);
  const auto [stop, error] = std::from_chars(begin, end, to);
  return error == std::errc() && stop == end;
}

bool parse_ints(const nb::list& values, nb::handle out) {
  return copy_all<std::int64_t>(values, Buffer(out, true), parse_int);
}

// Writes the positions of `True` to `out` and returns their number; -1 if a value is neither `True` nor `False`.
std::int64_t true_positions(const nb::list& values, nb::handle into) {
  const Buffer out(into, true);
  auto* const to = out.words<std::int64_t>("positions");
  const Items items(values);
  const std::size_t count = items.size();
  if (out.rows() != count) throw nb::value_error("out must have room for one position for each value");
  std::int64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_true = items[i] == Py_True;
    if (!is_true && items[i] != Py_False) return -1;
    to[found] = static_cast<std::int64_t>(i);  // the next position replaces it, unless the value is true
    found += is_true;
  }
  return found;
}

}  // namespace

void bind_numbers(nb::module_& module) {
  module.def("copy_ints", copy_ints);
  module.def("copy_floats", copy_floats);
  module.def("copy_bools", copy_bools);
  module.def("parse_ints", parse_ints);
  module.def("true_positions", true_positions);
}

}  // namespace penstock::bindings
