#include "kernels/records.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/module.h"
#include "bindings/reader.h"
#include "kernels/crc32c.h"
#include "kernels/lines.h"

namespace nb = nanobind;

namespace penstock::bindings {

nb::tuple as_tuple(const ReadOutcome& outcome) {
  return nb::make_tuple(static_cast<int>(outcome.status), outcome.failed, outcome.detail);
}

Reader::Reader(const nb::list& paths, const nb::list& begins, const nb::list& ends, const nb::list& sizes,
               const nb::list& times, int framing, bool verify, std::size_t most_open) {
  const std::size_t count = nb::len(paths);
  if (nb::len(begins) != count || nb::len(ends) != count || nb::len(sizes) != count || nb::len(times) != count)
    throw nb::value_error("paths, begins, ends, sizes and times must have one length");
  if (framing < 0 || framing > static_cast<int>(Framing::kLine)) throw nb::value_error("no such framing");
  std::vector<std::string> names;
  std::vector<Spans> spans;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = nb::cast<nb::bytes>(paths[i]);
    names.emplace_back(name.c_str(), name.size());
    spans.push_back(spans_of(begins[i], ends[i], nb::cast<std::int64_t>(sizes[i])));
    if (!times[i].is_none()) spans.back().file_mtime = nb::cast<std::int64_t>(times[i]);
  }
  files_ = std::make_unique<RecordFiles>(std::move(names), std::move(spans), static_cast<Framing>(framing), verify,
                                         most_open);
}

nb::tuple Reader::find(nb::handle rows_array, nb::handle splits_array) {
  const Buffer rows(rows_array), splits_buffer(splits_array, true);
  auto* const splits = splits_buffer.words<std::int64_t>("splits");
  if (splits_buffer.rows() != rows.rows() + 1) throw nb::value_error("splits must be one longer than rows");
  auto found = std::make_unique<FoundHandle>();
  const ReadOutcome outcome = locate(rows, found->located);
  if (outcome.status != ReadOutcome::Status::kOk) return nb::make_tuple(nb::none(), as_tuple(outcome));
  splits[0] = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) splits[i + 1] = splits[i] + found->located.records[i].size;
  return nb::make_tuple(nb::cast(found.release(), nb::rv_policy::take_ownership), as_tuple(outcome));
}

void Reader::advise(nb::handle rows_array) {
  const Buffer rows(rows_array);
  const auto* const wanted = checked(rows);
  nb::gil_scoped_release release;
  files_->advise(wanted, rows.rows());
}

nb::tuple Reader::join(const FoundHandle& found, nb::handle out_array) {
  const Buffer out(out_array, true);
  const auto& records = found.located.records;
  std::vector<unsigned char*> into(records.size());
  auto* at = reinterpret_cast<unsigned char*>(out.data());
  std::size_t left = out.bytes();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto size = static_cast<std::size_t>(records[i].size);
    if (size > left) throw nb::value_error("out is too small for the records");
    into[i] = at;
    at += size;
    left -= size;
  }
  ReadOutcome outcome;
  run_freely(out.bytes() > kLongCallBytes, [&] { outcome = files_->copy(found.located, into.data()); });
  return as_tuple(outcome);
}

Spans Reader::spans_of(nb::handle begins, nb::handle ends, std::int64_t file_size) {
  if (PyObject_IsInstance(begins.ptr(), reinterpret_cast<PyObject*>(&PyRange_Type)) == 1) {
    const auto number = [](nb::handle of, const char* name) { return nb::cast<std::int64_t>(of.attr(name)); };
    const std::int64_t first = number(begins, "start"), step = number(begins, "step");
    return {nullptr,
            nullptr,
            static_cast<std::int64_t>(nb::len(begins)),
            file_size,
            first,
            step,
            number(ends, "start") - first};
  }
  const auto& begin = *held_.emplace_back(std::make_unique<Buffer>(begins));
  const auto& end = *held_.emplace_back(std::make_unique<Buffer>(ends));
  if (begin.rows() != end.rows()) throw nb::value_error("begins and ends must have one length");
  return {begin.words<const std::int64_t>("begins"), end.words<const std::int64_t>("ends"),
          static_cast<std::int64_t>(begin.rows()), file_size};
}

const std::int64_t* Reader::checked(const Buffer& rows) const {
  const auto* const found = rows.words<const std::int64_t>("rows");
  for (std::size_t i = 0; i < rows.rows(); ++i)
    if (found[i] < 0 || found[i] >= files_->count())
      throw nb::index_error(
          ("row " + std::to_string(found[i]) + " is outside [0, " + std::to_string(files_->count()) + ")").c_str());
  return found;
}

ReadOutcome Reader::locate(const Buffer& rows_buffer, Located& located) {
  const auto* const rows = checked(rows_buffer);
  nb::gil_scoped_release release;  // a file may be far away
  return files_->locate(rows, rows_buffer.rows(), located);
}

namespace {

// A file scanned from its beginning to its end.
class Scanner {
 public:
  explicit Scanner(const nb::bytes& path) : file_(path.c_str()) {}
  const MappedFile& file() const { return file_; }

  nb::tuple tfrecords(std::int64_t position, nb::handle offsets_array, bool verify) const {
    const Buffer offsets(offsets_array, true);
    auto* const into = offsets.words<std::int64_t>("offsets");
    if (position < 0 || position > file_.size()) throw nb::value_error("position is outside of the file");
    ScanOutcome outcome;
    {
      nb::gil_scoped_release release;
      outcome = scan_tfrecords(file_, position, into, offsets.rows(), verify);
    }
    return nb::make_tuple(static_cast<int>(outcome.status), outcome.count, position);
  }

  nb::tuple lines(std::int64_t position, nb::handle begins_array, int wanted) const {
    const Buffer begins(begins_array, true);
    auto* const into = begins.words<std::int64_t>("begins");
    if (position < 0 || position > file_.size()) throw nb::value_error("position is outside of the file");
    if (wanted < 0 || wanted > static_cast<int>(LinesWanted::kNotBlank)) throw nb::value_error("no such lines");
    ScanOutcome outcome;
    {
      nb::gil_scoped_release release;
      outcome = scan_lines(file_, position, into, begins.rows(), static_cast<LinesWanted>(wanted));
    }
    return nb::make_tuple(static_cast<int>(outcome.status), outcome.count, position);
  }

 private:
  MappedFile file_;
};

// The begins of the records in a buffer with a part of a file.
nb::tuple scan_buffer(nb::handle data_buffer, std::int64_t position, nb::handle offsets_array, bool verify) {
  const Buffer data(data_buffer), offsets(offsets_array, true);
  auto* const into = offsets.words<std::int64_t>("offsets");
  const auto size = static_cast<std::int64_t>(data.bytes());
  if (position < 0 || position > size) throw nb::value_error("position is outside of the buffer");
  ScanOutcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = scan_tfrecords(reinterpret_cast<const unsigned char*>(data.data()), size, position, into, offsets.rows(),
                             verify);
  }
  return nb::make_tuple(static_cast<int>(outcome.status), outcome.count, position);
}

std::uint32_t checksum(nb::handle data_buffer, std::uint32_t crc) {
  const Buffer data(data_buffer);
  run_freely(data.bytes() > kLongCallBytes, [&] { crc = crc32c(data.data(), data.bytes(), crc); });
  return crc;
}

}  // namespace

void bind_records(nb::module_& module) {
  nb::class_<FoundHandle>(module, "FoundRecords");
  nb::class_<Reader>(module, "RecordReader")
      .def(nb::init<const nb::list&, const nb::list&, const nb::list&, const nb::list&, const nb::list&, int, bool,
                    std::size_t>())
      .def("read", &Reader::read, nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none())
      .def("find", &Reader::find)
      .def("advise", &Reader::advise)
      .def("join", &Reader::join);
  nb::class_<Scanner>(module, "Scanner")
      .def(nb::init<const nb::bytes&>())
      .def_prop_ro("size", [](const Scanner& self) { return self.file().size(); })
      .def_prop_ro("error", [](const Scanner& self) { return self.file().error(); })
      .def("tfrecords", &Scanner::tfrecords)
      .def("lines", &Scanner::lines);
  module.def("scan_tfrecords", scan_buffer);
  module.def("crc32c", checksum);
}

}  // namespace penstock::bindings
