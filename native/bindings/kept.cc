#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::size_t kFew = 64;  // objects that are looked for one after another

// Returns whether the value is of one of Python's immutable types.
bool stays(PyObject* it) {
  constexpr unsigned long kImmutable =
      Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS;
  return (PyType_GetFlags(Py_TYPE(it)) & kImmutable) != 0 || Py_IS_TYPE(it, &PyFloat_Type) || it == Py_None;
}

bool is_container(PyObject* it) { return PyDict_CheckExact(it) || PyList_CheckExact(it) || PyTuple_CheckExact(it); }

// Returns whether `is` holds for all items of a dict, list or tuple that no other thread uses; runs no Python code.
template <typename Is>
bool all_parts(PyObject* it, const Is& is) {
  if (PyDict_CheckExact(it)) {
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(it, &at, &key, &value)) {
      if (!is(value)) return false;
    }
    return true;
  }
  const bool is_list = PyList_CheckExact(it);
  const Py_ssize_t size = is_list ? PyList_Size(it) : PyTuple_Size(it);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!is(is_list ? PyList_GetItem(it, i) : PyTuple_GetItem(it, i))) return false;
  }
  return true;
}

// Returns everything that an object of another type refers to, other than types, borrowed.
std::vector<PyObject*> referents(PyObject* it) {
  std::vector<PyObject*> found;
  const auto traverse = reinterpret_cast<traverseproc>(PyType_GetSlot(Py_TYPE(it), Py_tp_traverse));
  if (traverse == nullptr) return found;
  traverse(
      it,
      [](PyObject* part, void* to) {
        if (!PyType_Check(part)) static_cast<std::vector<PyObject*>*>(to)->push_back(part);
        return 0;
      },
      &found);
  return found;
}

// Endless nesting raises a RecursionError.
class Depth {
 public:
  Depth() {
    if (Py_EnterRecursiveCall(" in the nesting of an element") != 0) nb::raise_python_error();
  }
  ~Depth() { Py_LeaveRecursiveCall(); }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

// Finds the parts of a function's result to which something refers besides the result and the element that the function
// was given, and copies them. An array that is part of the element, or a view of such an array, is left as it is: the
// element's `origins` are a list of columns, each an array of rows or a list with an item for each row.
class Owning {
 public:
  Owning(nb::list origins, nb::callable change_of) : origins_(std::move(origins)), change_of_(std::move(change_of)) {
    for (const nb::handle column : origins_) {
      if (has_memory(column.ptr())) add_root(column.ptr());
      if (PyList_CheckExact(column.ptr())) lists_.push_back(column.ptr());
    }
    std::swap(roots_, shared_roots_);
  }

  // Returns the result, which nobody else holds; `given` is the element as the function has left it, in row `row`. The
  // parts to which something else refers are appended to `kept`, if that is given.
  nb::object own(nb::object result, PyObject* given, Py_ssize_t row, nb::list* kept = nullptr) {
    if (is_free(result.ptr(), given, row)) return result;
    find(result.ptr(), given, row);
    if (kept_.empty()) return result;
    if (kept != nullptr) {
      for (PyObject* const part : kept_) kept->append(nb::borrow(part));
    }
    return copied(result.ptr());
  }

 private:
  // Returns true if it takes one look to see that nothing else refers to the result; runs no Python code.
  bool is_free(PyObject* it, PyObject* given, Py_ssize_t row) const {
    if (stays(it)) return true;
    if (is_plain_array(it)) return is_own_array(it, 1) || is_known(it, row);
    if (is_container(it)) {
      if (Py_REFCNT(it) != 1 && it != given) return false;
      return all_parts(it, [&](PyObject* part) { return is_free(part, given, row); });
    }
    return is_immutable_scalar(it) || is_known(it, row);
  }

  // Returns true if a leaf, or the array that it is a view of, is a column or a leaf of an element without nesting.
  bool is_known(PyObject* it, Py_ssize_t row) const {
    PyObject* const base = is_plain_array(it) ? base_of(it) : nullptr;
    if (is_in_row(it, base, row)) return true;  // without a look at the base, which may be far away in memory
    PyObject* const root = base == nullptr ? it : root_of(base);
    return (root != base && is_in_row(root, root, row)) || is_shared(root);
  }

  bool is_in_row(PyObject* it, PyObject* base, Py_ssize_t row) const {
    const auto is_other = [&](PyObject* part) { return part != it && part != base; };
    for (PyObject* const list : lists_) {
      if (row >= PyList_Size(list)) continue;
      PyObject* const item = PyList_GetItem(list, row);
      if (!is_other(item) || (is_container(item) && !all_parts(item, is_other))) return true;
    }
    return false;
  }

  void find(PyObject* result, PyObject* given, Py_ssize_t row) {
    do {  // again once the types met are known, because a look at them runs Python code
      unknown_ = nb::object();
      counts_.clear();
      more_counts_.clear();
      kept_.clear();
      roots_.clear();
      for (PyObject* const list : lists_) {
        if (row < PyList_Size(list)) add_roots(PyList_GetItem(list, row));
      }
      std::sort(roots_.begin(), roots_.end());
      given_ = given;
      count(given);
      count(result);
      decide(result, false);
    } while (unknown_.is_valid() && learn());
    std::sort(kept_.begin(), kept_.end());
  }

  // References from within the result and the element

  void count(PyObject* it) {
    if (stays(it) || counted(it)++ > 0) return;
    if (has_memory(it)) {
      for (PyObject* base = base_of(it); base != nullptr && counted(base)++ == 0;)
        base = has_memory(base) ? base_of(base) : nullptr;
    } else {
      const Depth depth;
      each_part(it, [this](PyObject* part) { count(part); });
    }
  }

  Py_ssize_t& counted(PyObject* it) {
    for (auto& [known, count] : counts_) {
      if (known == it) return count;
    }
    return counts_.size() < kFew ? counts_.emplace_back(it, 0).second : more_counts_[it];
  }

  // Returns whether something else refers to the object.
  bool is_held(PyObject* it) { return Py_REFCNT(it) > counted(it); }

  // The element

  void add_roots(PyObject* it) {
    if (stays(it)) return;
    if (has_memory(it)) {
      add_root(it);
      return;
    }
    const Depth depth;
    if (!is_container(it)) roots_.push_back(it);
    each_part(it, [this](PyObject* part) { add_roots(part); });
  }

  void add_root(PyObject* array) {
    roots_.push_back(array);
    PyObject* const root = root_of(array);
    if (root != array) roots_.push_back(root);
  }

  static PyObject* root_of(PyObject* it) {
    while (has_memory(it)) {
      PyObject* const base = base_of(it);
      if (base == nullptr) break;
      it = base;
    }
    return it;
  }

  bool is_of_element(PyObject* root) const {
    return std::binary_search(roots_.begin(), roots_.end(), root) || is_shared(root);
  }

  bool is_shared(PyObject* root) const {
    return std::find(shared_roots_.begin(), shared_roots_.end(), root) != shared_roots_.end();
  }

  // An argument is referred to by the caller too.
  bool is_argument(PyObject* it) const {
    if (it == given_) return true;
    return PyTuple_CheckExact(given_) && !all_parts(given_, [&](PyObject* part) { return part != it; });
  }

  // Parts to be copied; `held` says that something refers to a container around the part

  void decide(PyObject* it, bool held) {
    if (stays(it) || is_immutable_scalar(it)) return;
    if (has_memory(it)) {
      if (!is_kept_array(it, held)) return;
      kept_.push_back(it);
      if (!is_plain_array(it)) change_of(it);  // to be known by the time of the copy
      return;
    }
    const Depth depth;
    held = held || (is_held(it) && !is_argument(it));
    if (is_container(it)) {
      if (held && !PyTuple_CheckExact(it)) kept_.push_back(it);
      each_part(it, [&](PyObject* part) { decide(part, held); });
    } else if (change_of(it).ptr() != Py_None && !is_of_element(it)) {
      const std::size_t before = kept_.size();
      if (!held) each_part(it, [&](PyObject* part) { decide(part, false); });
      if (!held && kept_.size() == before) return;
      kept_.resize(before);
      kept_.push_back(it);
    }
  }

  bool is_kept_array(PyObject* it, bool held) {
    bool can_change = false;
    while (true) {
      can_change = can_change || is_writeable(it);
      held = held || is_held(it);
      PyObject* const base = base_of(it);
      if (base == nullptr) break;
      it = base;
      if (has_memory(it)) continue;
      held = held || is_held(it) || PyMemoryView_Check(it);  // somebody may hold the buffer behind a view of it
      break;
    }
    return held && can_change && !is_of_element(it);
  }

  // Copies

  nb::object copied(PyObject* it) {
    if (stays(it)) return nb::borrow(it);
    if (!is_container(it)) {
      if (!std::binary_search(kept_.begin(), kept_.end(), it)) return nb::borrow(it);
      if (is_plain_array(it)) return copied_array(it);
      return change_of(it)(nb::handle(it));
    }
    const Depth depth;
    if (PyDict_CheckExact(it)) return copied_dict(it);
    const nb::object parts = nb::steal(PySequence_List(it));
    if (!parts.is_valid()) nb::raise_python_error();
    for (Py_ssize_t i = 0; i < PyList_Size(parts.ptr()); ++i)
      PyList_SetItem(parts.ptr(), i, copied(PyList_GetItem(parts.ptr(), i)).release().ptr());
    if (PyList_CheckExact(it)) return parts;
    nb::object made = nb::steal(PyList_AsTuple(parts.ptr()));
    if (!made.is_valid()) nb::raise_python_error();
    return made;
  }

  nb::object copied_dict(PyObject* it) {
    nb::object made = nb::steal(PyDict_Copy(it));
    if (!made.is_valid()) nb::raise_python_error();
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(made.ptr(), &at, &key, &value)) {
      if (stays(value)) continue;
      const nb::object other = copied(value);
      if (other.ptr() != value && PyDict_SetItem(made.ptr(), key, other.ptr()) < 0) nb::raise_python_error();
    }
    return made;
  }

  // Other types

  // Calls `visit` with the parts of a container, and with what an object refers to whose type has a change.
  template <typename Visit>
  void each_part(PyObject* it, const Visit& visit) {
    if (is_container(it)) {
      all_parts(it, [&](PyObject* part) { return visit(part), true; });
    } else if (change_of(it).ptr() != Py_None) {
      for (PyObject* const part : referents(it)) visit(part);
    }
  }

  // Returns the function that copies values of a type, or None for one without parts that could be written to.
  nb::handle change_of(PyObject* it) {
    const nb::handle type = nb::borrow(it).type();
    for (const auto& [known, change] : changes_) {
      if (known.is(type)) return change;
    }
    if (!unknown_.is_valid()) unknown_ = nb::borrow(type);
    return nb::handle(Py_None);
  }

  bool learn() {
    changes_.emplace_back(unknown_, change_of_(unknown_));
    return true;
  }

  nb::list origins_;
  nb::callable change_of_;
  PyObject* given_ = nullptr;
  std::vector<PyObject*> lists_;                            // the columns that are lists
  std::vector<PyObject*> shared_roots_;                     // of columns, for all rows
  std::vector<PyObject*> roots_, kept_;                     // of one result, sorted
  std::vector<std::pair<PyObject*, Py_ssize_t>> counts_;    // of one result, borrowed
  std::unordered_map<PyObject*, Py_ssize_t> more_counts_;   // if there are many
  std::vector<std::pair<nb::object, nb::object>> changes_;  // by type
  nb::object unknown_;
};

// The results of a function for the elements of a list, each of which nobody else holds: an iterator.
class OwnResults {
 public:
  OwnResults(nb::object results, nb::list given, nb::list origins, nb::callable change_of)
      : results_(std::move(results)), given_(std::move(given)), owning_(std::move(origins), std::move(change_of)) {}

  PyObject* next() {
    PyObject* const made = PyIter_Next(results_.ptr());
    const Py_ssize_t row = row_++;
    if (made == nullptr || stays(made)) return made;
    try {
      PyObject* const given = row < PyList_Size(given_.ptr()) ? PyList_GetItem(given_.ptr(), row) : Py_None;
      return owning_.own(nb::steal(made), given, row).release().ptr();
    } catch (nb::python_error& error) {
      error.restore();
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    }
    return nullptr;
  }

 private:
  nb::object results_;
  nb::list given_;
  Owning owning_;
  Py_ssize_t row_ = 0;
};

PyType_Slot iterator_slots[] = {
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(+[](PyObject* self) { return nb::inst_ptr<OwnResults>(self)->next(); })},
    {0, nullptr},
};

// Takes the only result out of a list; returns it, held by nobody else, and the parts that something else refers to.
nb::tuple own_result(const nb::list& results, nb::handle given, const nb::list& origins,
                     const nb::callable& change_of) {
  Owning owning(origins, change_of);
  nb::object result = nb::steal(PyObject_CallMethod(results.ptr(), "pop", nullptr));
  if (!result.is_valid()) nb::raise_python_error();
  nb::list kept;
  nb::object own = owning.own(std::move(result), given.ptr(), 0, &kept);
  return nb::make_tuple(std::move(own), std::move(kept));
}

}  // namespace

void bind_kept(nb::module_& module) {
  nb::class_<OwnResults>(module, "OwnResults", nb::type_slots(iterator_slots))
      .def(nb::init<nb::object, nb::list, nb::list, nb::callable>());
  module.def("own_result", own_result, nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}

}  // namespace penstock::bindings
