// The records of a reader as Python objects: text or bytes, in a list or in an array of objects.
#include "bindings/reader.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/texts.h"
#include "kernels/line_run.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::size_t kFewestInRun = 16;  // lines; fewer are found one by one

// The conversion of bytes to an object: text in some encoding, or bytes.
class Making {
 public:
  Making(nb::handle encoding, const std::string& errors) : errors_(errors), is_text_(!encoding.is_none()) {
    if (is_text_) encoding_ = nb::cast<std::string>(encoding);
    const std::string_view name = encoding_;
    is_utf8_ = name == "utf-8";
    // ASCII is the same in all of these encodings of Python.
    holds_ascii_ = is_utf8_ || name == "ascii" || name.starts_with("iso8859-") || name.starts_with("cp125");
  }

  bool is_text() const { return is_text_; }

  // Returns null, with an error set, on failure.
  PyObject* of(const unsigned char* data, std::int64_t length, bool is_ascii_surely) const {
    const auto* const bytes = reinterpret_cast<const char*>(data);
    const auto size = static_cast<Py_ssize_t>(length);
    if (!is_text_) return PyBytes_FromStringAndSize(bytes, size);
    if (is_utf8_ || (holds_ascii_ && is_ascii_surely)) return utf8_text(bytes, size, is_ascii_surely, errors_.c_str());
    return PyUnicode_Decode(bytes, size, encoding_.c_str(), errors_.c_str());
  }

 private:
  std::string encoding_, errors_;
  bool is_text_, is_utf8_, holds_ascii_;
};

}  // namespace

// The objects of a call, put into a new list, or into an array of objects that the caller gave.
class Objects {
 public:
  Objects(std::size_t count, nb::handle out, Making making) : making_(std::move(making)) {
    if (out.is_none()) {
      made_ = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
      if (!made_.is_valid()) nb::raise_python_error();
      return;
    }
    made_ = nb::borrow(out);
    if (PyObject_GetBuffer(out.ptr(), &view_, PyBUF_ND | PyBUF_FORMAT | PyBUF_WRITABLE)) nb::raise_python_error();
    if (view_.ndim != 1 || static_cast<std::size_t>(view_.shape[0]) != count || !view_.format ||
        std::strcmp(view_.format, "O") != 0) {
      PyBuffer_Release(&view_);
      throw nb::value_error("out must be an array of objects, one for each row");
    }
    places_ = static_cast<PyObject**>(view_.buf);
  }
  ~Objects() {
    if (places_) PyBuffer_Release(&view_);
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  const Making& making() const { return making_; }
  const nb::object& made() const { return made_; }
  const nb::object& failure() const { return failure_; }
  std::size_t failed() const { return failed_; }

  // Takes the object.
  void put(std::size_t i, PyObject* object) {
    if (!places_) {
      PyList_SetItem(made_.ptr(), static_cast<Py_ssize_t>(i), object);
      return;
    }
    PyObject* const before = places_[i];
    places_[i] = object;
    Py_XDECREF(before);
  }

  // Makes an object of these bytes; returns false, and keeps the exception, on failure.
  bool make(std::size_t i, Found bytes, bool is_ascii_surely = false) {
    PyObject* const object = making_.of(bytes.data, bytes.size, is_ascii_surely);
    if (object) {
      put(i, object);
      return true;
    }
    nb::python_error error;  // takes the current exception
    failure_ = nb::borrow(error.value());
    failed_ = i;
    return false;
  }

 private:
  Making making_;
  nb::object made_, failure_;
  std::size_t failed_ = 0;
  PyObject** places_ = nullptr;
  Py_buffer view_;
};

nb::tuple Reader::read(nb::handle rows_array, nb::handle encoding, const std::string& errors, nb::handle out) {
  const Buffer rows(rows_array);
  Objects objects(rows.rows(), out, Making(encoding, errors));
  const std::int64_t* const asked = checked(rows);
  const bool in_runs =
      files_->framing() == Framing::kLine && rows.rows() >= kFewestInRun && are_consecutive(asked, rows.rows());
  ReadOutcome outcome;
  if (in_runs ? read_runs(rows, objects, outcome) : read_each(rows, objects, outcome))
    return nb::make_tuple(objects.made(), as_tuple(outcome), nb::none());
  if (objects.failure().is_valid() && outcome.status == ReadOutcome::Status::kOk)  // otherwise the bytes have changed
    return nb::make_tuple(nb::none(), nb::make_tuple(0, objects.failed(), 0), objects.failure());
  return nb::make_tuple(nb::none(), as_tuple(outcome), nb::none());
}

bool Reader::read_runs(const Buffer& rows, Objects& objects, ReadOutcome& outcome) {
  const auto* const asked = rows.words<const std::int64_t>("rows");
  for (std::size_t done = 0; done < rows.rows();) {
    OpenRun opened;
    {
      nb::gil_scoped_release release;  // the file may be far away
      outcome = open_run(*files_, asked[done], rows.rows() - done, opened);
    }
    const std::size_t before = done;
    bool are_made = true;
    if (outcome.status == ReadOutcome::Status::kOk) {
      LineRun run(opened.file->data(), *opened.spans, opened.first, opened.last);
      LinePiece piece;
      while (are_made && (outcome = run.next(piece)).status == ReadOutcome::Status::kOk && piece.count)
        for (std::size_t i = 0; i < piece.count && are_made; ++i)
          are_made = objects.make(done++, piece.lines[i], piece.is_ascii);
      outcome = files_->settled({{opened.file, opened.number, 0}}, outcome);
    }
    outcome.failed += before;
    if (outcome.status != ReadOutcome::Status::kOk || !are_made) return false;
  }
  return true;
}

bool Reader::read_each(const Buffer& rows, Objects& objects, ReadOutcome& outcome) {
  Located located;
  outcome = locate(rows, located);
  if (outcome.status != ReadOutcome::Status::kOk) return false;
  const std::vector<Found>& records = located.records;
  std::size_t total = 0;
  for (const Found& record : records) total += static_cast<std::size_t>(record.size);
  std::vector<unsigned char*> into(records.size());
  std::unique_ptr<unsigned char[]> joined;
  if (objects.making().is_text()) {
    joined.reset(new unsigned char[total ? total : 1]);
    unsigned char* at = joined.get();
    for (std::size_t i = 0; i < records.size(); at += records[i++].size) into[i] = at;
  } else {
    for (std::size_t i = 0; i < records.size(); ++i) {
      PyObject* const record = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(records[i].size));
      if (!record) nb::raise_python_error();
      into[i] = reinterpret_cast<unsigned char*>(PyBytes_AsString(record));
      objects.put(i, record);
    }
  }
  run_freely(total > kLongCallBytes, [&] { outcome = files_->copy(located, into.data()); });
  if (outcome.status != ReadOutcome::Status::kOk) return false;
  if (!objects.making().is_text()) return true;
  const bool all_ascii = is_ascii(joined.get(), total);
  for (std::size_t i = 0; i < records.size(); ++i)
    if (!objects.make(i, {into[i], records[i].size}, all_ascii)) return false;
  return true;
}

}  // namespace penstock::bindings
