// NumPy's arrays by its C API, for loops over many small arrays: the buffer protocol costs 0.1 µs an array.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

// Returns whether the type of the object is numpy.ndarray itself.
bool is_plain_array(PyObject* it);

// Returns a read-only view of a plain array, or the array itself if it is read-only.
nanobind::object read_only_array(PyObject* array);

// Asks the processor for the sizes of a plain array, which lie apart from it, and for the beginning of its data.
void prefetch_parts(PyObject* array);

}  // namespace penstock::bindings
