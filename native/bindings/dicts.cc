#include <cstddef>
#include <cstdint>
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

// Puts value k of each key into list k, as the next item.
struct Lists {
  std::vector<nb::object> keys, lists;
  std::vector<std::size_t> order;  // of the keys in the first dict: those of the others are probably the same objects

  void put(std::size_t k, Py_ssize_t i, nb::object value) const {
    PyList_SetItem(lists[k].ptr(), i, value.release().ptr());  // takes it
  }

  // Finds the order in which the first dict has the keys.
  void find_order([[maybe_unused]] PyObject* dict) {
#ifndef Py_GIL_DISABLED
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
      for (std::size_t k = 0; k < keys.size(); ++k) {
        if (keys[k].ptr() == key) order.push_back(k);
      }
    }
#endif
  }

  // Puts the values of dict i, the first ones there, if its keys are the same objects in the same order; false, perhaps
  // after some, if not. Runs no Python code.
  bool put_in_order([[maybe_unused]] PyObject* dict, [[maybe_unused]] Py_ssize_t i) const {
#if defined(Py_GIL_DISABLED) || defined(Py_LIMITED_API)
    return false;  // another thread may change the dict
#else
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    for (const std::size_t k : order) {
      if (!PyDict_Next(dict, &at, &key, &value) || key != keys[k].ptr()) return false;
      PyList_SET_ITEM(lists[k].ptr(), i, Py_NewRef(value));
    }
    return order.size() == keys.size();
#endif
  }
};

// Returns a list of the dicts' values for each key; None if one of them has other keys.
nb::object take_dicts_apart(const nb::list& dicts, const nb::list& keys) {
  const std::size_t count = nb::len(dicts), width = nb::len(keys);
  nb::list columns;
  Lists into;
  for (std::size_t k = 0; k < width; ++k) {
    into.keys.emplace_back(keys[k]);
    into.lists.push_back(nb::steal(PyList_New(static_cast<Py_ssize_t>(count))));
    if (!into.lists[k].is_valid()) nb::raise_python_error();
    columns.append(into.lists[k]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object dict = dicts[i];
    if (!PyDict_CheckExact(dict.ptr()) || static_cast<std::size_t>(PyDict_Size(dict.ptr())) != width) return nb::none();
    if (i == 0) into.find_order(dict.ptr());
    if (into.put_in_order(dict.ptr(), static_cast<Py_ssize_t>(i))) continue;
    for (std::size_t k = 0; k < width; ++k) {
      nb::object value = at_key(dict, into.keys[k]);
      if (!value.is_valid()) {
        if (PyErr_Occurred()) nb::raise_python_error();
        return nb::none();
      }
      into.put(k, static_cast<Py_ssize_t>(i), std::move(value));
    }
  }
  return columns;
}

}  // namespace

void bind_dicts(nb::module_& module) { module.def("take_dicts_apart", take_dicts_apart); }

}  // namespace penstock::bindings
