// Texts that a kernel has found in records, as Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/ascii.h"
#include "kernels/wire.h"

namespace penstock::bindings {

// Returns the text of these UTF-8 bytes; null, with an error set, if invalid. ASCII, like most text, is copied as it
// is, in half the time; the limited API has no function for that.
inline PyObject* utf8_text(const char* data, Py_ssize_t size, bool is_ascii_surely = false,
                           const char* errors = nullptr) {
#if !defined(Py_LIMITED_API)
  if (size > 1 &&
      (is_ascii_surely || is_ascii(reinterpret_cast<const unsigned char*>(data), static_cast<std::size_t>(size)))) {
    PyObject* const text = PyUnicode_New(size, 127);
    if (text) std::memcpy(PyUnicode_1BYTE_DATA(text), data, static_cast<std::size_t>(size));
    return text;
  }
#endif
  return PyUnicode_DecodeUTF8(data, size, errors);
}

// Returns a list of the texts as bytes or str, and -1; or an empty list and the number of the text that is not UTF-8. A
// missing text is replaced by that of the defaults of a record.
inline std::pair<nanobind::object, std::int64_t> texts_of(const Bytes* found, std::size_t count, bool as_str,
                                                          const nanobind::list& defaults) {
  nanobind::object list = nanobind::steal(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!list.is_valid()) nanobind::raise_python_error();
  const std::size_t of_record = nanobind::len(defaults);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* begin = reinterpret_cast<const char*>(found[i].begin);
    const auto size = static_cast<Py_ssize_t>(found[i].size());
    PyObject* text;
    if (!begin) {
      if (!of_record) throw nanobind::value_error("there is no default");
      text = nanobind::object(defaults[i % of_record]).release().ptr();
    } else {
      text = as_str ? utf8_text(begin, size) : PyBytes_FromStringAndSize(begin, size);
    }
    if (!text && as_str && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
      PyErr_Clear();
      return {nanobind::list(), static_cast<std::int64_t>(i)};
    }
    if (!text || PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), text)) nanobind::raise_python_error();
  }
  return {list, -1};
}

}  // namespace penstock::bindings
