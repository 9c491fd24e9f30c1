#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// Returns the value of the key; null, perhaps without an error, if missing.
nb::object at_key(nb::handle dict, nb::handle key) {
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX >= 0x030D0000
  PyObject* found = nullptr;  // another thread may change the dict
  return PyDict_GetItemRef(dict.ptr(), key.ptr(), &found) > 0 ? nb::steal(found) : nb::object();
#else
  PyObject* const found = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  return found ? nb::borrow(found) : nb::object();
#endif
}

// Returns a list of the dicts' values for each key; None if one of them has other keys.
nb::object take_dicts_apart(const nb::list& dicts, const nb::list& keys) {
  const std::size_t count = nb::len(dicts), width = nb::len(keys);
  nb::list columns;
  std::vector<nb::object> names, into;
  for (std::size_t k = 0; k < width; ++k) {
    names.emplace_back(keys[k]);
    into.push_back(nb::steal(PyList_New(static_cast<Py_ssize_t>(count))));
    if (!into[k].is_valid()) nb::raise_python_error();
    columns.append(into[k]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object dict = dicts[i];
    if (!PyDict_CheckExact(dict.ptr()) || static_cast<std::size_t>(PyDict_Size(dict.ptr())) != width) return nb::none();
    for (std::size_t k = 0; k < width; ++k) {
      nb::object value = at_key(dict, names[k]);
      if (!value.is_valid()) {
        if (PyErr_Occurred()) nb::raise_python_error();
        return nb::none();
      }
      PyList_SetItem(into[k].ptr(), static_cast<Py_ssize_t>(i), value.release().ptr());  // takes it
    }
  }
  return columns;
}

}  // namespace

void bind_dicts(nb::module_& module) { module.def("take_dicts_apart", take_dicts_apart); }

}  // namespace penstock::bindings
