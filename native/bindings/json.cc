#include "kernels/json.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "bindings/texts.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// The keys of objects, mostly the same and in the same order: made once, and found by their previous places.
class Keys {
 public:
  // With names, other keys are skipped.
  explicit Keys(nb::handle names) : chooses_(!names.is_none()) {
    if (!chooses_) return;
    for (nb::handle name : nb::cast<nb::list>(names)) {
      Py_ssize_t size = 0;
      const char* const text = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
      if (!text) nb::raise_python_error();
      known_.push_back({std::string(text, static_cast<std::size_t>(size)), nb::borrow(name)});
    }
  }

  // Returns the key as text; null for a skipped key or, with an error set, for invalid text.
  nb::object find(std::string_view key, bool is_of_the_element) {
    for (std::size_t step = 0; step < known_.size(); ++step) {
      const std::size_t place = next_ + step < known_.size() ? next_ + step : next_ + step - known_.size();
      if (known_[place].first != key) continue;
      next_ = place + 1 < known_.size() ? place + 1 : 0;
      return known_[place].second;
    }
    if (chooses_ && is_of_the_element) return {};
    PyObject* text = utf8_text(key.data(), static_cast<Py_ssize_t>(key.size()));
    if (!text) return {};
    if (!chooses_ && known_.size() < kMost && key.size() < kLongest) {
      PyUnicode_InternInPlace(&text);
      known_.push_back({std::string(key), nb::borrow(text)});
    }
    return nb::steal(text);
  }

 private:
  static constexpr std::size_t kMost = 64, kLongest = 64;
  bool chooses_;
  std::vector<std::pair<std::string, nb::object>> known_;
  std::size_t next_ = 0;
};

// Makes Python's objects of a tape.
class Maker {
 public:
  Maker(const char* text, const std::vector<JsonToken>& tape, Keys& keys) : text_(text), tape_(tape), keys_(keys) {}

  // Returns the value of the token at `at`, and advances `at`; null, with an error set, for invalid UTF-8.
  nb::object value(std::size_t& at, bool is_element) {
    const JsonToken& token = tape_[at++];
    switch (token.kind) {
      case JsonKind::kNull:
        return nb::none();
      case JsonKind::kFalse:
        return nb::borrow(Py_False);
      case JsonKind::kTrue:
        return nb::borrow(Py_True);
      case JsonKind::kInt:
        return nb::steal(PyLong_FromLongLong(token.whole));
      case JsonKind::kFloat:
        return nb::steal(PyFloat_FromDouble(token.real));
      case JsonKind::kText:
      case JsonKind::kEscaped:
        return text(token);
      case JsonKind::kObject:
        return object(token.length, at, is_element);
      case JsonKind::kArray:
        return array(token.length, at);
    }
    return {};
  }

 private:
  std::string_view content(const JsonToken& token) {
    if (token.kind == JsonKind::kText) return {text_ + token.begin, static_cast<std::size_t>(token.end - token.begin)};
    unescape_json(text_, token, unescaped_);
    return unescaped_;
  }

  nb::object text(const JsonToken& token) {
    const std::string_view found = content(token);
    return nb::steal(utf8_text(found.data(), static_cast<Py_ssize_t>(found.size())));
  }

  nb::object object(std::int64_t length, std::size_t& at, bool is_element) {
    nb::object made = nb::steal(PyDict_New());
    for (std::int64_t i = 0; made.is_valid() && i < length; ++i) {
      const nb::object key = keys_.find(content(tape_[at++]), is_element);
      if (!key.is_valid()) {
        if (PyErr_Occurred()) return {};
        at = after(at);
        continue;
      }
      const nb::object held = value(at, false);
      if (!held.is_valid() || PyDict_SetItem(made.ptr(), key.ptr(), held.ptr())) return {};
    }
    return made;
  }

  nb::object array(std::int64_t length, std::size_t& at) {
    nb::object made = nb::steal(PyList_New(static_cast<Py_ssize_t>(length)));
    for (std::int64_t i = 0; made.is_valid() && i < length; ++i) {
      nb::object held = value(at, false);
      if (!held.is_valid()) return {};
      PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), held.release().ptr());  // takes it
    }
    return made;
  }

  std::size_t after(std::size_t at) const {
    const JsonToken& token = tape_[at];
    const bool is_container = token.kind == JsonKind::kObject || token.kind == JsonKind::kArray;
    return is_container ? static_cast<std::size_t>(token.end) : at + 1;
  }

  const char* text_;
  const std::vector<JsonToken>& tape_;
  Keys& keys_;
  std::string unescaped_;
};

// Returns the objects in the lines of a joined text, None for those left to the caller, and the numbers of these.
nb::tuple parse_json(nb::handle data_buffer, nb::handle splits_array, nb::handle names) {
  const Buffer data(data_buffer), splits_buffer(splits_array);
  const auto* const splits = splits_buffer.words<const std::int64_t>("splits");
  if (!splits_buffer.rows()) throw nb::value_error("splits must have one more value than there are lines");
  const std::size_t count = splits_buffer.rows() - 1;
  for (std::size_t i = 0; i <= count; ++i)
    if (splits[i] < (i ? splits[i - 1] : 0) || splits[i] > static_cast<std::int64_t>(data.bytes()))
      throw nb::value_error("splits must rise within the data");
  nb::list made = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!made.is_valid()) nb::raise_python_error();
  nb::list elsewhere;
  Keys keys(names);
  std::vector<JsonToken> tape;
  for (std::size_t i = 0; i < count; ++i) {
    const char* const line = data.data() + splits[i];
    nb::object value;
    tape.clear();
    if (parse_json_object(line, static_cast<std::size_t>(splits[i + 1] - splits[i]), tape)) {
      std::size_t at = 0;
      value = Maker(line, tape, keys).value(at, true);
      if (!value.is_valid()) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) nb::raise_python_error();
        PyErr_Clear();
      }
    }
    if (!value.is_valid()) {
      elsewhere.append(i);
      value = nb::none();
    }
    PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), value.release().ptr());  // takes it
  }
  return nb::make_tuple(made, elsewhere);
}

}  // namespace

void bind_json(nb::module_& module) { module.def("parse_json", parse_json, nb::arg(), nb::arg(), nb::arg().none()); }

}  // namespace penstock::bindings
