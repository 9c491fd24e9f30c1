// The values of dicts with equal keys.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <vector>

namespace penstock::bindings {

// Takes the values of some keys out of one dict after another; fastest if all dicts have the same keys in one order.
class DictKeys {
 public:
  explicit DictKeys(const nanobind::list& keys);

  // Puts the value of each key into `values`, which has a place for each; returns false, perhaps after some, if the
  // object is not a dict of exactly these keys. Raises the error of a key.
  bool take(PyObject* dict, std::vector<nanobind::object>& values);

 private:
  void find_order(PyObject* dict);
  bool take_in_order(PyObject* dict, std::vector<nanobind::object>& values) const;

  std::vector<nanobind::object> keys_;
  std::vector<std::size_t> order_;  // of the keys in the first dict: those of the others are probably the same objects
};

}  // namespace penstock::bindings
