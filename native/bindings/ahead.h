// Requests for the parts of dicts in a list, which may lie anywhere in memory, ahead of a loop over the list.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>

namespace penstock::bindings {

// Asks the processor for parts of the dicts some places after item i of a list: the closer a dict, the deeper, since a
// part is found by what was requested before. A loop calls this for each i, starting at -kAhead; no Python code runs
// meanwhile.
void prefetch_ahead(PyObject* list, Py_ssize_t i);

constexpr Py_ssize_t kAhead = 16;  // items; the least that a loop does in a step takes a tenth of a wait for memory

// Calls prefetch_ahead for the items before the first one.
inline void prefetch_first(PyObject* list) {
  for (Py_ssize_t i = -std::min(kAhead, PyList_Size(list)); i < 0; ++i) prefetch_ahead(list, i);
}

}  // namespace penstock::bindings
