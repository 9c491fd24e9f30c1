#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/ahead.h"
#include "bindings/arrays.h"
#include "bindings/buffers.h"
#include "bindings/dicts.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// Returns whether values of this type are leaves that nobody can write to.
bool is_immutable_leaf(PyObject* it) {
  return PyUnicode_CheckExact(it) || PyBytes_CheckExact(it) || PyComplex_CheckExact(it) || is_immutable_scalar(it);
}

// The values of one part of results: Python numbers in an array of them, arrays in the rows of one, others in a list.
class PartColumn {
 public:
  // `place` is the array, which outlives this object, or None.
  PartColumn(nb::handle place, PyObject* first, Py_ssize_t count) : type_(Py_TYPE(first)) {
    if (place.is_none()) {
      kind_ = is_plain_array(first) || is_immutable_leaf(first) ? Kind::kObjects : Kind::kNone;
      made_ = nb::steal(PyList_New(count));
      if (!made_.is_valid()) nb::raise_python_error();
      return;
    }
    made_ = nb::borrow(place);
    if (is_plain_array(first)) {
      kind_ = Kind::kRows;
      return;
    }
    numbers_ = std::make_unique<Buffer>(place, true);
    const std::size_t width = numbers_->width();
    if (numbers_->ndim() != 1 || numbers_->rows() != static_cast<std::size_t>(count)) return;
    if (PyLong_CheckExact(first) && width == sizeof(std::int64_t)) kind_ = Kind::kInts;
    if (PyFloat_CheckExact(first) && width == sizeof(double)) kind_ = Kind::kFloats;
    if (PyBool_Check(first) && width == 1) kind_ = Kind::kBools;
  }

  // Stores the value of result i; false if it does not fit to those before.
  bool put(Py_ssize_t i, const nb::object& value) {
    PyObject* const it = value.ptr();
    if (kind_ == Kind::kRows) return copy_into_row(it, made_.ptr(), i);
    if (Py_TYPE(it) != type_) return false;
    switch (kind_) {
      case Kind::kInts: {
        int overflow = 0;
        numbers<std::int64_t>()[i] = PyLong_AsLongLongAndOverflow(it, &overflow);
        return overflow == 0;
      }
      case Kind::kFloats:
        numbers<double>()[i] = PyFloat_AsDouble(it);
        return true;
      case Kind::kBools:
        numbers<std::uint8_t>()[i] = it == Py_True;
        return true;
      case Kind::kObjects:
        PyList_SetItem(made_.ptr(), i, nb::object(value).release().ptr());  // takes it
        return true;
      default:
        return false;
    }
  }

  const nb::object& made() const { return made_; }

 private:
  enum class Kind { kNone, kInts, kFloats, kBools, kRows, kObjects };

  template <class Number>
  Number* numbers() const {
    return reinterpret_cast<Number*>(numbers_->data());
  }

  PyTypeObject* type_;  // of all values; the first one's type lives as long as the function that made it
  Kind kind_ = Kind::kNone;
  nb::object made_;
  std::unique_ptr<Buffer> numbers_;
};

// Takes the parts of a result: the values of a dict, the items of a tuple, or the result itself.
class Parts {
 public:
  // `keys` is a list of the keys of dicts, the size of tuples, or None.
  explicit Parts(nb::handle keys) {
    if (PyList_Check(keys.ptr())) {
      dict_.emplace(nb::borrow<nb::list>(keys));
      values.resize(nb::len(keys));
    } else {
      size_ = keys.is_none() ? -1 : nb::cast<Py_ssize_t>(keys);
      values.resize(size_ < 0 ? 1 : static_cast<std::size_t>(size_));
    }
  }

  bool take(const nb::object& result) {
    if (dict_) return dict_->take(result.ptr(), values);
    if (size_ < 0) {
      values[0] = result;
      return true;
    }
    if (!PyTuple_CheckExact(result.ptr()) || PyTuple_Size(result.ptr()) != size_) return false;
    for (Py_ssize_t k = 0; k < size_; ++k) {
      values[static_cast<std::size_t>(k)] = nb::borrow(PyTuple_GetItem(result.ptr(), k));
    }
    return true;
  }

  std::vector<nb::object> values;

 private:
  std::optional<DictKeys> dict_;
  Py_ssize_t size_ = -1;
};

// Returns the column of each part of `function(element)` for all elements, the first result being given: its place, or
// a list. None if the results do not fit together or their places, if an element is a tuple, or if a call fails.
nb::object results_apart(const nb::callable& function, const nb::list& elements, const nb::object& first,
                         nb::handle keys, const nb::list& places) {
  const auto count = static_cast<Py_ssize_t>(nb::len(elements));
  Parts parts(keys);
  if (!parts.take(first) || nb::len(places) != parts.values.size()) return nb::none();
  std::vector<PartColumn> columns;
  columns.reserve(parts.values.size());
  for (std::size_t k = 0; k < parts.values.size(); ++k) {
    columns.emplace_back(places[k], parts.values[k].ptr(), count);
    if (!columns[k].put(0, parts.values[k])) return nb::none();
  }
  prefetch_first(elements.ptr());
  for (Py_ssize_t i = 1; i < count; ++i) {
    prefetch_ahead(elements.ptr(), i);
    const nb::object element = nb::borrow(PyList_GetItem(elements.ptr(), i));
    if (!element.is_valid()) nb::raise_python_error();
    if (PyTuple_CheckExact(element.ptr())) return nb::none();
    PyObject* const argument = element.ptr();
    const nb::object result = nb::steal(PyObject_Vectorcall(function.ptr(), &argument, 1, nullptr));
    if (!result.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) nb::raise_python_error();
      PyErr_Clear();
      return nb::none();
    }
    if (!parts.take(result)) return nb::none();
    for (std::size_t k = 0; k < columns.size(); ++k) {
      if (!columns[k].put(i, parts.values[k])) return nb::none();
    }
  }
  nb::list made;
  for (const PartColumn& column : columns) made.append(column.made());
  return made;
}

}  // namespace

void bind_results(nb::module_& module) {
  module.def("results_apart", results_apart, nb::arg("function"), nb::arg("elements"), nb::arg("first").none(),
             nb::arg("keys").none(), nb::arg("places"));
}

}  // namespace penstock::bindings
