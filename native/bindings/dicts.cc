#include "bindings/dicts.h"

#include <cstddef>
#include <utility>
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

}  // namespace

DictKeys::DictKeys(const nb::list& keys) {
  for (const nb::handle key : keys) keys_.push_back(nb::borrow(key));
}

bool DictKeys::take(PyObject* dict, std::vector<nb::object>& values) {
  if (!PyDict_CheckExact(dict) || static_cast<std::size_t>(PyDict_Size(dict)) != keys_.size()) return false;
  if (order_.empty()) find_order(dict);
  if (take_in_order(dict, values)) return true;
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    values[k] = at_key(dict, keys_[k]);
    if (values[k].is_valid()) continue;
    if (PyErr_Occurred()) nb::raise_python_error();
    return false;
  }
  return true;
}

void DictKeys::find_order([[maybe_unused]] PyObject* dict) {
#ifndef Py_GIL_DISABLED
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      if (keys_[k].ptr() == key) order_.push_back(k);
    }
  }
#endif
}

// Takes the values if the keys of the dict are the same objects in the same order as in the first one; false, perhaps
// after some, if not. Runs no Python code.
bool DictKeys::take_in_order([[maybe_unused]] PyObject* dict, [[maybe_unused]] std::vector<nb::object>& values) const {
#ifdef Py_GIL_DISABLED
  return false;  // another thread may change the dict
#else
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  for (const std::size_t k : order_) {
    if (!PyDict_Next(dict, &at, &key, &value) || key != keys_[k].ptr()) return false;
    values[k] = nb::borrow(value);
  }
  return order_.size() == keys_.size();
#endif
}

namespace {

// Returns a list of the dicts' values for each key; None if one of them has other keys.
nb::object take_dicts_apart(const nb::list& dicts, const nb::list& keys) {
  const std::size_t count = nb::len(dicts), width = nb::len(keys);
  nb::list columns;
  for (std::size_t k = 0; k < width; ++k) {
    const nb::object column = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
    if (!column.is_valid()) nb::raise_python_error();
    columns.append(column);
  }
  DictKeys of(keys);
  std::vector<nb::object> values(width);
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object dict = dicts[i];
    if (!of.take(dict.ptr(), values)) return nb::none();
    for (std::size_t k = 0; k < width; ++k) {
      PyObject* const column = PyList_GetItem(columns.ptr(), static_cast<Py_ssize_t>(k));
      PyList_SetItem(column, static_cast<Py_ssize_t>(i), values[k].release().ptr());  // takes it
    }
  }
  return columns;
}

}  // namespace

void bind_dicts(nb::module_& module) { module.def("take_dicts_apart", take_dicts_apart); }

}  // namespace penstock::bindings
