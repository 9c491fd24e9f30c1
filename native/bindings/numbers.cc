#include <cstdint>

#include "bindings/buffers.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// out[i] = values[i] as long as `copy(value, out[i])` succeeds; returns false at the first failure.
template <class Number, class Copy>
bool copy_all(const nb::list& values, const Buffer& out, const Copy& copy) {
  auto* to = reinterpret_cast<Number*>(out.data());
  const std::size_t count = out.rows();
  if (out.ndim() != 1 || out.bytes() != count * sizeof(Number) || values.size() != count)
    throw nb::value_error("out must be one-dimensional, and have one number for each value");
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object value = values[i];
    if (!copy(value.ptr(), to[i])) return false;
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

}  // namespace

void bind_numbers(nb::module_& module) {
  module.def("copy_ints", copy_ints);
  module.def("copy_floats", copy_floats);
  module.def("copy_bools", copy_bools);
}

}  // namespace penstock::bindings
