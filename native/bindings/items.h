// The items of a list while no code of Python runs.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace penstock::bindings {

// The number of items by which a loop requests their memory ahead.
inline constexpr std::size_t kItemsAhead = 16;

// A view of a list, which stays as it is: the caller holds the GIL, or this view the list's lock in a Python without
// it, and runs no code of Python. Items are borrowed, which saves two changes of the count of references of each.
class Items {
 public:
  explicit Items(const nanobind::list& list) : guard_(list), list_(list.ptr()) {}

  std::size_t size() const { return static_cast<std::size_t>(PyList_Size(list_)); }
  PyObject* operator[](std::size_t at) const {
#if defined(Py_LIMITED_API)
    return PyList_GetItem(list_, static_cast<Py_ssize_t>(at));
#else
    return PyList_GET_ITEM(list_, static_cast<Py_ssize_t>(at));
#endif
  }

 private:
  nanobind::ft_object_guard guard_;
  PyObject* list_;
};

}  // namespace penstock::bindings
