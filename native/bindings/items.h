// The items of a list while no code of Python runs.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace penstock::bindings {

// The number of items by which a loop requests their memory ahead.
inline constexpr std::size_t kItemsAhead = 16;

// A view of a list, which must outlive it and stay as it is: the caller holds the GIL and runs no code of Python. Its
// items are borrowed, which saves two changes of a count of references for each.
class Items {
 public:
  explicit Items(const nanobind::list& list) : list_(list.ptr()) {}

  std::size_t size() const { return static_cast<std::size_t>(PyList_GET_SIZE(list_)); }
  PyObject* operator[](std::size_t at) const { return PyList_GET_ITEM(list_, static_cast<Py_ssize_t>(at)); }

 private:
  PyObject* list_;
};

}  // namespace penstock::bindings
