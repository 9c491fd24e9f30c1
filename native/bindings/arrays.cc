#include "bindings/arrays.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include "bindings/buffers.h"
#include "bindings/items.h"
#include "bindings/module.h"
#include "kernels/padded.h"
#include "kernels/streamed.h"

namespace nb = nanobind;

namespace penstock::bindings {

bool is_plain_array(PyObject* it) { return PyArray_CheckExact(it); }

namespace {

// A scalar of a structured dtype is a view of its array.
PyVoidScalarObject* as_record(PyObject* it) {
  return !PyArray_CheckExact(it) && PyArray_IsScalar(it, Void) ? reinterpret_cast<PyVoidScalarObject*>(it) : nullptr;
}

}  // namespace

bool has_memory(PyObject* it) { return PyArray_Check(it) || as_record(it) != nullptr; }

bool is_immutable_scalar(PyObject* it) {
  return !PyArray_CheckExact(it) && PyArray_IsScalar(it, Generic) && as_record(it) == nullptr;
}

PyObject* base_of(PyObject* it) {
  const PyVoidScalarObject* const record = as_record(it);
  return record != nullptr ? record->base : PyArray_BASE(reinterpret_cast<PyArrayObject*>(it));
}

bool is_writeable(PyObject* it) {
  if (const PyVoidScalarObject* const record = as_record(it))
    return record->base == nullptr || !PyArray_Check(record->base) || is_writeable(record->base);
  return PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(it));
}

nb::object copied_array(PyObject* array) {
  nb::object made = nb::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(array), NPY_KEEPORDER));
  if (!made.is_valid()) nb::raise_python_error();
  return made;
}

nb::object read_only_array(PyObject* it) {
  auto* const array = reinterpret_cast<PyArrayObject*>(it);
  if (!PyArray_ISWRITEABLE(array)) return nb::borrow(it);
  PyArray_Descr* const dtype = PyArray_DESCR(array);
  Py_INCREF(reinterpret_cast<PyObject*>(dtype));  // the view takes it
  nb::object view = nb::steal(PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(array), PyArray_DIMS(array),
                                                   PyArray_STRIDES(array), PyArray_DATA(array),
                                                   PyArray_FLAGS(array) & ~NPY_ARRAY_WRITEABLE, nullptr));
  if (!view.is_valid()) nb::raise_python_error();
  Py_INCREF(it);  // the view takes it
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view.ptr()), it) < 0) nb::raise_python_error();
  return view;
}

bool is_own_array(PyObject* it, Py_ssize_t references) {
  if (Py_REFCNT(it) != references) return false;
  PyObject* const base = base_of(it);
  return base == nullptr || (Py_REFCNT(base) == 1 && is_plain_array(base) && base_of(base) == nullptr);
}

std::optional<Line> line_of(PyObject* it, PyObject* dtype) {
  if (!PyArray_CheckExact(it) || !PyArray_DescrCheck(dtype)) return std::nullopt;
  auto* const array = reinterpret_cast<PyArrayObject*>(it);
  auto* const wanted = reinterpret_cast<PyArray_Descr*>(dtype);
  PyArray_Descr* const own = PyArray_DESCR(array);
  if (PyArray_NDIM(array) != 1 || (own != wanted && !PyArray_EquivTypes(own, wanted))) return std::nullopt;
  return Line{PyArray_BYTES(array), PyArray_STRIDE(array, 0), PyArray_DIM(array, 0)};
}

void prefetch_parts(PyObject* it) {
  auto* const array = reinterpret_cast<PyArrayObject*>(it);
  const char* const data = PyArray_BYTES(array);
  __builtin_prefetch(PyArray_DIMS(array));
  __builtin_prefetch(data);
  __builtin_prefetch(data + 64);
}

namespace {

using Sizes = std::vector<npy_intp>;

// Arrays of one dtype and number of dimensions, whose items are copied as bytes; the list keeps them alive.
struct Alike {
  std::vector<PyArrayObject*> arrays;
  PyArray_Descr* dtype = nullptr;
  int dims = 0;
};

// The smallest and the largest size of each dimension of some arrays.
struct Extent {
  Sizes smallest, largest;

  Extent(const Alike& alike, std::size_t begin, std::size_t end) {
    const npy_intp* const first = PyArray_DIMS(alike.arrays[begin]);
    smallest.assign(first, first + alike.dims);
    largest = smallest;
    for (std::size_t i = begin + 1; i < end; ++i) {
      const npy_intp* const shape = PyArray_DIMS(alike.arrays[i]);
      for (std::size_t d = 0; d < smallest.size(); ++d) {
        smallest[d] = std::min(smallest[d], shape[d]);
        largest[d] = std::max(largest[d], shape[d]);
      }
    }
  }

  bool of_one_shape() const { return smallest == largest; }
};

// Returns whether items are numbers, times or texts of a fixed size, without references, gaps or a dtype of others.
bool are_plain(const PyArray_Descr* dtype) {
  const int kind = dtype->type_num;
  return kind >= 0 && kind <= NPY_HALF && kind != NPY_OBJECT && kind != NPY_VOID;
}

// Returns true if all values are plain C-contiguous arrays of one dtype and number of dimensions.
bool find_alike(const nb::list& values, Alike& found) {
  const std::size_t count = values.size();
  found.arrays.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const value = PyList_GetItem(values.ptr(), static_cast<Py_ssize_t>(i));
    if (value == nullptr) nb::raise_python_error();
    if (!is_plain_array(value)) return false;
    auto* const array = reinterpret_cast<PyArrayObject*>(value);
    if (!PyArray_IS_C_CONTIGUOUS(array)) return false;
    if (i == 0) {
      found.dtype = PyArray_DESCR(array);
      found.dims = PyArray_NDIM(array);
      if (!are_plain(found.dtype)) return false;
    } else {
      PyArray_Descr* const dtype = PyArray_DESCR(array);
      if (PyArray_NDIM(array) != found.dims) return false;
      if (dtype != found.dtype && !PyArray_EquivTypes(dtype, found.dtype)) return false;
    }
    found.arrays.push_back(array);
  }
  return count > 0;
}

// Returns whether `out` has a row of at least the largest size for each array, in all dimensions.
bool has_room(PyArrayObject* out, const Alike& found, const Sizes& largest) {
  if (!PyArray_IS_C_CONTIGUOUS(out) || !PyArray_ISWRITEABLE(out)) return false;
  if (PyArray_NDIM(out) != found.dims + 1 || PyArray_DIM(out, 0) != static_cast<npy_intp>(found.arrays.size()))
    return false;
  if (!PyArray_EquivTypes(PyArray_DESCR(out), found.dtype)) return false;
  for (int d = 0; d < found.dims; ++d) {
    if (PyArray_DIM(out, d + 1) < largest[static_cast<std::size_t>(d)]) return false;
  }
  return true;
}

PyArrayObject* as_array(nb::handle out) {
  if (!PyArray_Check(out.ptr())) throw nb::type_error("out must be an array");
  return reinterpret_cast<PyArrayObject*>(out.ptr());
}

// Copies each array into its row of `out`, from the start of every dimension; false, with `out` unchanged, if they do
// not fit.
bool copy_arrays(const nb::list& values, nb::handle into, bool pad) {
  PyArrayObject* const out = as_array(into);
  Alike found;
  if (!find_alike(values, found)) return false;
  const Extent extent(found, 0, found.arrays.size());
  if (!has_room(out, found, extent.largest)) return false;
  const auto dims = static_cast<std::size_t>(found.dims);
  const npy_intp* const whole = PyArray_DIMS(out) + 1;
  const bool fills = extent.of_one_shape() && std::equal(extent.largest.begin(), extent.largest.end(), whole);
  if (!fills && !pad) return false;
  const std::size_t row = static_cast<std::size_t>(PyArray_NBYTES(out)) / found.arrays.size();
  const auto width = static_cast<std::size_t>(PyArray_ITEMSIZE(out));
  run_freely(row * found.arrays.size() >= kLongCallBytes, [&] {
    char* to = PyArray_BYTES(out);
    for (PyArrayObject* const array : found.arrays) {
      if (fills) {
        std::memmove(to, PyArray_DATA(array), row);
      } else {
        copy_into_corner(to, whole, PyArray_BYTES(array), PyArray_DIMS(array), dims, width);
      }
      to += row;
    }
  });
  return true;
}

}  // namespace

bool copy_into_row(PyObject* it, PyObject* rows, Py_ssize_t row) {
  if (!is_plain_array(it) || !is_plain_array(rows)) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(it);
  auto* const out = reinterpret_cast<PyArrayObject*>(rows);
  const int dims = PyArray_NDIM(array);
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_IS_C_CONTIGUOUS(out) || !PyArray_ISWRITEABLE(out)) return false;
  if (PyArray_NDIM(out) != dims + 1 || row < 0 || row >= PyArray_DIM(out, 0)) return false;
  if (!std::equal(PyArray_DIMS(array), PyArray_DIMS(array) + dims, PyArray_DIMS(out) + 1)) return false;
  PyArray_Descr* const dtype = PyArray_DESCR(array);
  if (!are_plain(dtype) || (dtype != PyArray_DESCR(out) && !PyArray_EquivTypes(dtype, PyArray_DESCR(out))))
    return false;
  const npy_intp size = PyArray_NBYTES(array);
  std::memmove(PyArray_BYTES(out) + row * size, PyArray_DATA(array), static_cast<std::size_t>(size));
  return true;
}

namespace {

// Copies an array into `into`, of the same shape and dtype, past the caches if that is a row of a large batch; false,
// with `into` unchanged, if bytes cannot be copied.
bool copy_array(nb::handle value, nb::handle into, std::size_t batch_bytes) {
  PyArrayObject* const out = as_array(into);
  if (!is_plain_array(value.ptr())) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(value.ptr());
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_IS_C_CONTIGUOUS(out) || !PyArray_ISWRITEABLE(out)) return false;
  if (!are_plain(PyArray_DESCR(array)) || !PyArray_EquivTypes(PyArray_DESCR(array), PyArray_DESCR(out))) return false;
  if (!PyArray_SAMESHAPE(array, out)) return false;
  const auto size = static_cast<std::size_t>(PyArray_NBYTES(array));
  const char* const from = PyArray_BYTES(array);
  char* const to = PyArray_BYTES(out);
  run_freely(size >= kLongCallBytes, [&] {
    if (is_streamed(size, batch_bytes) && (from + size <= to || to + size <= from)) {
      copy_streamed(to, from, size);
    } else {
      std::memmove(to, from, size);
    }
  });
  return true;
}

// Returns for every `group` arrays in a row, and the rest, the largest size of each dimension, and whether all of them
// have it; None if the values are not alike.
nb::object largest_shapes(const nb::list& values, std::size_t group) {
  if (group == 0) throw nb::value_error("a group must have arrays");
  Alike found;
  if (!find_alike(values, found)) return nb::none();
  nb::list shapes;
  const std::size_t count = found.arrays.size();
  for (std::size_t begin = 0; begin < count; begin += std::min(group, count - begin)) {
    const Extent extent(found, begin, begin + std::min(group, count - begin));
    nb::list shape;
    for (const npy_intp size : extent.largest) shape.append(nb::int_(size));
    shapes.append(nb::make_tuple(nb::tuple(shape), extent.of_one_shape()));
  }
  return shapes;
}

// out[i] = values[i] if all values have exactly this type; false, with `out` unchanged, if not.
bool copy_objects(const nb::list& values, nb::handle type, nb::handle into) {
  PyArrayObject* const out = as_array(into);
  const std::size_t count = values.size();
  if (!PyArray_IS_C_CONTIGUOUS(out) || !PyArray_ISWRITEABLE(out) || PyArray_TYPE(out) != NPY_OBJECT ||
      PyArray_NDIM(out) != 1 || PyArray_DIM(out, 0) != static_cast<npy_intp>(count))
    throw nb::value_error("out must be a one-dimensional array of objects, with one for each value");
  std::vector<nb::object> held;
  held.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    nb::object value = values[i];
    if (!value.type().is(type)) return false;
    held.push_back(std::move(value));
  }
  auto** const to = static_cast<PyObject**>(PyArray_DATA(out));
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const old = to[i];
    to[i] = held[i].release().ptr();
    Py_XDECREF(old);  // may run any code, but `out` is whole
  }
  return true;
}

// Returns the items of a list at these positions, `int64[k]`; None if one is no position of the list.
nb::object items_at(const nb::list& list, nb::handle positions) {
  const Buffer buffer(positions);
  const std::int64_t* const at = buffer.words<std::int64_t>("positions");
  const std::size_t count = buffer.rows();
  nb::object made = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!made.is_valid()) nb::raise_python_error();
  const Items items(list);  // not earlier: to make a list may run code that shortens the other one
  const std::size_t size = items.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(at[i]);  // of a negative position, one beyond the end
    if (place >= size) return nb::none();
    const auto ahead = static_cast<std::size_t>(i + kItemsAhead < count ? at[i + kItemsAhead] : at[i]);
    if (ahead < size) __builtin_prefetch(items[ahead], 1);
    PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(items[place]));  // takes the reference
  }
  return made;
}

// Returns the type of all values; None if they have several, or there are none.
nb::object one_type(const nb::list& values) {
  const Items items(values);
  const std::size_t count = items.size();
  if (count == 0) return nb::none();
  PyTypeObject* const first = Py_TYPE(items[0]);
  for (std::size_t i = 1; i < count; ++i) {
    if (Py_TYPE(items[i]) != first) return nb::none();
  }
  return nb::borrow(reinterpret_cast<PyObject*>(first));
}

int import_numpy() {
  import_array1(-1);
  return 0;
}

}  // namespace

void bind_arrays(nb::module_& module) {
  if (import_numpy() < 0) nb::raise_python_error();
  module.def("copy_array", copy_array, nb::arg("value").none(), nb::arg("out"), nb::arg("batch_bytes"));
  module.def("copy_arrays", copy_arrays);
  module.def("copy_objects", copy_objects);
  module.def("items_at", items_at);
  module.def("largest_shapes", largest_shapes);
  module.def("one_type", one_type);
}

}  // namespace penstock::bindings
