// NumPy's arrays by its C API, for loops over many small arrays: the buffer protocol costs 0.1 µs an array.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::bindings {

// Returns whether the type of the object is numpy.ndarray itself.
bool is_plain_array(PyObject* it);

// Returns a read-only view of a plain array, or the array itself if it is read-only.
nanobind::object read_only_array(PyObject* array);

// Returns whether nothing refers to a plain array, or to the one that it is a view of, besides that many references.
bool is_own_array(PyObject* array, Py_ssize_t references);

// Returns whether the object is an array, also of a subclass, or a scalar of a structured array, which is a view.
bool has_memory(PyObject* it);

// Returns whether the object is any other scalar of NumPy.
bool is_immutable_scalar(PyObject* it);

// Returns the object that holds the memory of one that has memory, borrowed; null if that is the object itself.
PyObject* base_of(PyObject* it);

// Returns whether the memory can be written to by the object that has it.
bool is_writeable(PyObject* it);

// Returns a copy of a plain array, with its axes in the same order in memory.
nanobind::object copied_array(PyObject* array);

// The items of a one-dimensional array, `stride` bytes apart.
struct Line {
  const char* data;
  std::ptrdiff_t stride;
  std::int64_t length;
};

// Returns the items of a plain one-dimensional array of this dtype; none for any other object.
std::optional<Line> line_of(PyObject* it, PyObject* dtype);

// Copies a plain contiguous array into a row of a contiguous writeable one of its dtype, in which the row has its
// shape; false, with the row unchanged, if it does not fit.
bool copy_into_row(PyObject* array, PyObject* rows, Py_ssize_t row);

// Asks the processor for the sizes of a plain array, which lie apart from it, and for the beginning of its data.
void prefetch_parts(PyObject* array);

}  // namespace penstock::bindings
