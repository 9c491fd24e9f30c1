#include "bindings/ahead.h"

#include "bindings/arrays.h"

namespace penstock::bindings {

#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)

namespace {

constexpr Py_ssize_t kLine = 64;  // bytes of a cache line
constexpr Py_ssize_t kKeysAhead = 12, kValuesAhead = 8, kDataAhead = 4;
constexpr Py_ssize_t kMostValues = 64;  // more than these would displace one another in the cache

// Returns a dict of the list; null if there is none, or a large one.
PyObject* dict_at(PyObject* list, Py_ssize_t i) {
  if (i < 0 || i >= PyList_GET_SIZE(list)) return nullptr;
  PyObject* const it = PyList_GET_ITEM(list, i);
  return PyDict_CheckExact(it) && PyDict_Size(it) <= kMostValues ? it : nullptr;
}

template <typename Visit>
void for_each_value(PyObject* dict, const Visit& visit) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) visit(value);
}

}  // namespace

void prefetch_ahead(PyObject* list, Py_ssize_t i) {
  if (i + kAhead < PyList_GET_SIZE(list)) __builtin_prefetch(PyList_GET_ITEM(list, i + kAhead), 1);
  if (PyObject* const it = dict_at(list, i + kKeysAhead)) {
    const auto* const dict = reinterpret_cast<PyDictObject*>(it);
    const auto* const keys = reinterpret_cast<const char*>(dict->ma_keys);
    // a header and indices of 48 bytes, or a few more, and at most 24 for each entry
    for (Py_ssize_t at = 0; at < 48 + 24 * dict->ma_used + kLine; at += kLine) __builtin_prefetch(keys + at);
  }
  if (PyObject* const it = dict_at(list, i + kValuesAhead)) {
    for_each_value(it, [](PyObject* value) {
      __builtin_prefetch(value);
      __builtin_prefetch(reinterpret_cast<const char*>(value) + kLine);
    });
  }
  if (PyObject* const it = dict_at(list, i + kDataAhead)) {
    for_each_value(it, [](PyObject* value) {
      if (is_plain_array(value)) prefetch_parts(value);
    });
  }
}

#else

void prefetch_ahead(PyObject*, Py_ssize_t) {}

#endif

}  // namespace penstock::bindings
