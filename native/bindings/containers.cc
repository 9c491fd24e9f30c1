#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "bindings/ahead.h"
#include "bindings/arrays.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr Py_ssize_t kShort = 1024;     // characters of a text that counts for nothing
constexpr std::size_t kTypesKnown = 8;  // more types than these among the leaves of one call are looked up again

// Replaces leaves by other values, inside new containers; with `seal`, plain arrays by read-only views, except with
// `spare_own` those that nothing but the value refers to.
class Remaking {
 public:
  Remaking(nb::handle change_of, bool always, bool seal, bool spare_own)
      : change_of_(change_of), always_(always), seal_(seal), spare_own_(spare_own) {}

  // Returns a new reference to the replacement of the value, to which its container and this loop have that many
  // references: the value itself if nothing in it changes. `is_own` if nothing but the values refers to the container.
  nb::object remade(nb::handle value, Py_ssize_t references, bool is_own) {
    PyObject* const it = value.ptr();
    if (stays(it)) return nb::borrow(value);
    if (seal_ && is_plain_array(it))
      return is_own && is_own_array(it, references) ? nb::borrow(value) : read_only_array(it);
    is_own = is_own && Py_REFCNT(it) == references;
    if (PyDict_CheckExact(it)) return within([&] { return remade_dict(it, is_own); });
    if (PyList_CheckExact(it)) return within([&] { return remade_list(it, is_own); });
    if (PyTuple_CheckExact(it)) return within([&] { return remade_tuple(it, is_own); });
    const nb::object change = change_for(value.type());
    if (change.is_none()) return nb::borrow(value);
    PyObject* const made = PyObject_CallFunctionObjArgs(change.ptr(), it, nullptr);
    if (made == nullptr) nb::raise_python_error();
    return nb::steal(made);
  }

  // Returns the list itself if no value in it changes, otherwise a new one: the caller's list is never modified.
  nb::object remade_values(PyObject* list) { return remade_items(list, spare_own_); }

 private:
  nb::object remade_items(PyObject* list, bool is_own) {
    if (seal_) prefetch_first(list);
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      if (seal_) prefetch_ahead(list, i);
      const nb::object old = item_of(list, i);
      if (!old.is_valid()) break;  // another thread has shortened the list
      if (stays(old.ptr())) continue;
      nb::object value = remade(old, 2, is_own);
      if (!value.is(old)) return remade_from(list, i, std::move(value), is_own);
    }
    return nb::borrow(list);
  }

  // Returns whether the value is one of Python's immutable types.
  static bool stays(PyObject* it) {
    const PyTypeObject* const type = Py_TYPE(it);
    return type == &PyLong_Type || type == &PyUnicode_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
           type == &PyBool_Type || it == Py_None;
  }

  // Returns the result of `make`; endless nesting raises a RecursionError.
  template <typename Make>
  nb::object within(Make make) {
    if (Py_EnterRecursiveCall(" in the nesting of an element") != 0) nb::raise_python_error();
    struct Leave {
      ~Leave() { Py_LeaveRecursiveCall(); }
    } leave;
    return make();
  }

  nb::object remade_list(PyObject* list, bool is_own) {
    return always_ ? remade_from(list, 0, nb::object(), is_own) : remade_items(list, is_own);
  }

  // Returns a copy of the list with other values from i on; the first may be given.
  nb::object remade_from(PyObject* list, Py_ssize_t i, nb::object value, bool is_own) {
    nb::object made = nb::steal(PyList_GetSlice(list, 0, PyList_Size(list)));
    if (!made.is_valid()) nb::raise_python_error();
    const Py_ssize_t size = PyList_Size(made.ptr());
    if (value.is_valid() && i < size) PyList_SetItem(made.ptr(), i++, value.release().ptr());  // takes it
    for (; i < size; ++i) {
      if (seal_) prefetch_ahead(made.ptr(), i);
      PyObject* const old = PyList_GetItem(made.ptr(), i);
      if (stays(old)) continue;
      nb::object other = remade(old, 2, is_own);
      if (other.ptr() != old) PyList_SetItem(made.ptr(), i, other.release().ptr());
    }
    return made;
  }

  static nb::object item_of(PyObject* list, Py_ssize_t i) {
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX >= 0x030D0000
    PyObject* const found = PyList_GetItemRef(list, i);
    if (found == nullptr) PyErr_Clear();  // the list has shrunk meanwhile
    return nb::steal(found);
#else
    return nb::borrow(PyList_GetItem(list, i));
#endif
  }

#ifndef Py_GIL_DISABLED
  // Returns whether no value of the dict can change; no Python code runs meanwhile.
  static bool all_stay(PyObject* dict) {
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(dict, &at, &key, &value)) {
      if (!stays(value)) return false;
    }
    return true;
  }
#endif

  nb::object remade_dict(PyObject* dict, bool is_own) {
#ifndef Py_GIL_DISABLED
    if (!always_ && all_stay(dict)) return nb::borrow(dict);
#endif
    // A copy first, which no other thread can change during the iteration.
    nb::object made = nb::steal(PyDict_Copy(dict));
    if (!made.is_valid()) nb::raise_python_error();
    bool changed = always_;
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(made.ptr(), &at, &key, &value)) {
      if (stays(value)) continue;
      nb::object other = remade(value, 2, is_own);
      if (other.ptr() == value) continue;
      changed = true;
      if (PyDict_SetItem(made.ptr(), key, other.ptr()) < 0) nb::raise_python_error();  // the key is there: no move
    }
    return changed ? made : nb::borrow(dict);
  }

  nb::object remade_tuple(PyObject* tuple, bool is_own) {
    const Py_ssize_t size = PyTuple_Size(tuple);
    nb::object made;  // a tuple is immutable: a new one is made if something in it changes
    for (Py_ssize_t i = 0; i < size; ++i) {
      PyObject* const old = PyTuple_GetItem(tuple, i);
      nb::object value = remade(old, 1, is_own);
      if (!made.is_valid()) {
        if (value.ptr() == old) continue;
        made = nb::steal(PyTuple_New(size));
        if (!made.is_valid()) nb::raise_python_error();
        for (Py_ssize_t k = 0; k < i; ++k) {
          PyTuple_SetItem(made.ptr(), k, nb::borrow(PyTuple_GetItem(tuple, k)).release().ptr());
        }
      }
      PyTuple_SetItem(made.ptr(), i, value.release().ptr());  // takes it
    }
    return made.is_valid() ? made : nb::borrow(tuple);
  }

  // The function that changes values of a type, or None; requested once per call for each of the first types.
  nb::object change_for(nb::handle type) {
    for (std::size_t i = 0; i < known_; ++i) {
      if (types_[i].is(type)) return changes_[i];
    }
    nb::object change = change_of_(type);
    if (known_ < kTypesKnown) {
      types_[known_] = nb::borrow(type);
      changes_[known_++] = change;
    }
    return change;
  }

  nb::handle change_of_;
  bool always_, seal_, spare_own_;
  std::array<nb::object, kTypesKnown> types_, changes_;
  std::size_t known_ = 0;
};

nb::object remade(const nb::list& values, const nb::callable& change_of, bool always, bool seal, bool spare_own) {
  return Remaking(change_of, always, seal, spare_own).remade_values(values.ptr());
}

void prefetch_dicts(const nb::list& values) {
  prefetch_first(values.ptr());
  for (Py_ssize_t i = 0; i < PyList_Size(values.ptr()); ++i) prefetch_ahead(values.ptr(), i);
}

// Returns whether values made of others have no memory worth counting of their own: numbers, short texts, and arrays to
// which something else refers, nested in dicts, lists and tuples. `is_own` if nothing else refers to what has the
// value.
bool is_of_parts(PyObject* it, bool is_own) {
  const PyTypeObject* const type = Py_TYPE(it);
  if (type == &PyUnicode_Type) return PyUnicode_GetLength(it) <= kShort || Py_REFCNT(it) > 1 || !is_own;
  if (type == &PyBytes_Type) return PyBytes_Size(it) <= kShort || Py_REFCNT(it) > 1 || !is_own;
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || it == Py_None) return true;
  if (is_plain_array(it)) return !is_own || !is_own_array(it, 1);
  is_own = is_own && Py_REFCNT(it) == 1;
  if (PyDict_CheckExact(it)) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(it, &at, &key, &value);) {
      if (!is_of_parts(value, is_own)) return false;
    }
    return true;
  }
  if (!PyList_CheckExact(it) && !PyTuple_CheckExact(it)) return is_immutable_scalar(it);
  const bool is_list = PyList_CheckExact(it);
  const Py_ssize_t size = is_list ? PyList_Size(it) : PyTuple_Size(it);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!is_of_parts(is_list ? PyList_GetItem(it, i) : PyTuple_GetItem(it, i), is_own)) return false;
  }
  return true;
}

bool are_parts_of_others([[maybe_unused]] const nb::list& values) {
#ifdef Py_GIL_DISABLED
  return false;  // another thread may change the values, or refer to them for a moment
#else
  for (const nb::handle value : values) {
    if (!is_of_parts(value.ptr(), true)) return false;
  }
  return true;
#endif
}

}  // namespace

void bind_containers(nb::module_& module) {
  module.def("are_parts_of_others", are_parts_of_others);
  module.def("prefetch_dicts", prefetch_dicts);
  module.def("remade", remade);
}

}  // namespace penstock::bindings
