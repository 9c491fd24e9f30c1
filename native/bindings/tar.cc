#include "kernels/tar.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "bindings/texts.h"
#include "kernels/mapped.h"
#include "kernels/tar_samples.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// The arrays that a scan writes to: heads, begins, ends and name_ends of one length, names, and the three counts.
class Found {
 public:
  explicit Found(const nb::tuple& arrays)
      : heads_(arrays[0], true),
        begins_(arrays[1], true),
        ends_(arrays[2], true),
        name_ends_(arrays[3], true),
        names_(arrays[4], true),
        skipped_(arrays[5], true) {
    if (skipped_.rows() < 3) throw nb::value_error("skipped must have three counts");
    if (names_.bytes() < kLongestTarName) throw nb::value_error("names is too small for a name");
  }
  TarMembers members() const {
    const std::size_t capacity = std::min({heads_.rows(), begins_.rows(), ends_.rows(), name_ends_.rows()});
    return {heads_.words<std::int64_t>("heads"),
            begins_.words<std::int64_t>("begins"),
            ends_.words<std::int64_t>("ends"),
            name_ends_.words<std::int64_t>("name_ends"),
            capacity,
            reinterpret_cast<unsigned char*>(names_.data()),
            names_.bytes(),
            skipped_.words<std::int64_t>("skipped")};
  }

 private:
  Buffer heads_, begins_, ends_, name_ends_, names_, skipped_;
};

nb::tuple scanned(const unsigned char* data, std::int64_t size, bool whole, std::int64_t position,
                  const nb::tuple& arrays, std::int64_t origin = 0) {
  if (position < 0 || position > size) throw nb::value_error("position is outside of the archive");
  const Found found(arrays);
  const TarMembers members = found.members();
  TarOutcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = scan_tar(data, size, whole, position, members, origin);
  }
  return nb::make_tuple(static_cast<int>(outcome.status), outcome.count, outcome.position, outcome.needed,
                        outcome.name_size);
}

// An archive scanned from its beginning to its end.
class TarFile {
 public:
  explicit TarFile(const nb::bytes& path) : file_(path.c_str()) {}
  std::int64_t size() const { return file_.size(); }
  int error() const { return file_.error(); }
  nb::tuple scan(std::int64_t position, const nb::tuple& arrays) const {
    return scanned(file_.data(), file_.size(), true, position, arrays);
  }

 private:
  MappedFile file_;
};

nb::tuple scan_bytes(nb::handle data_buffer, bool whole, std::int64_t position, const nb::tuple& arrays,
                     std::int64_t origin) {
  const Buffer data(data_buffer);
  return scanned(reinterpret_cast<const unsigned char*>(data.data()), static_cast<std::int64_t>(data.bytes()), whole,
                 position, arrays, origin);
}

// Returns the status and the bad member.
nb::tuple group(TarGroups& self, nb::handle names_array, nb::handle name_ends_array, nb::handle extensions_array,
                nb::handle begins_array, nb::handle keys_array, nb::handle key_ends_array) {
  const Buffer names(names_array), name_ends(name_ends_array), extensions(extensions_array, true),
      begins(begins_array, true), keys(keys_array, true), key_ends(key_ends_array, true);
  const std::size_t count = name_ends.rows();
  const auto* const ends = name_ends.words<const std::int64_t>("name_ends");
  std::int64_t before = 0;
  for (std::size_t i = 0; i < count; before = ends[i++])
    if (ends[i] < before || static_cast<std::size_t>(ends[i]) > names.bytes())
      throw nb::value_error("name_ends must rise, within the names");
  if (extensions.bytes() < count * sizeof(std::int32_t) || begins.bytes() < count || key_ends.rows() < count ||
      keys.bytes() < static_cast<std::size_t>(before))
    throw nb::value_error("there is too little room for the groups");
  std::size_t failed = 0;
  const auto status =
      self.add(reinterpret_cast<const unsigned char*>(names.data()), ends, count,
               reinterpret_cast<std::int32_t*>(extensions.data()), reinterpret_cast<unsigned char*>(begins.data()),
               reinterpret_cast<unsigned char*>(keys.data()), key_ends.words<std::int64_t>("key_ends"), failed);
  return nb::make_tuple(static_cast<int>(status), failed);
}

nb::list extensions_of(const TarGroups& self) {
  nb::list made;
  for (const std::string& name : self.extensions()) made.append(nb::bytes(name.data(), name.size()));
  return made;
}

// An array of 32-bit integers; the Python side has checked the dtype, and the check of the width is for memory safety.
const std::int32_t* halves(const Buffer& buffer, const char* name) {
  if (buffer.ndim() != 1 || buffer.width() != 4)
    throw nb::type_error((std::string(name) + " must be a one-dimensional array of 32-bit integers").c_str());
  return reinterpret_cast<const std::int32_t*>(buffer.data());
}

// The samples of several archives, with references to their memory.
class Samples {
 public:
  // An archive is (keys, key_ends, members, extensions, wanted).
  Samples(const nb::list& archives, const std::vector<std::int64_t>& starts,
          const std::vector<std::vector<std::uint32_t>>& choices) {
    std::vector<TarSamples> found;
    for (const nb::handle archive : archives) {
      const auto arrays = nb::cast<nb::tuple>(archive);
      const auto next = [&](int i) -> const Buffer& {
        return *buffers_.emplace_back(std::make_unique<Buffer>(arrays[i]));
      };
      const Buffer &text = next(0), &ends = next(1), &members = next(2), &extensions = next(3), &wanted = next(4);
      if (members.rows() != ends.rows() + 1) throw nb::value_error("members must be one more than the keys");
      found.push_back({{reinterpret_cast<const unsigned char*>(text.data()), text.bytes(),
                        ends.words<const std::int64_t>("key_ends"), ends.rows()},
                       members.words<const std::int64_t>("members"),
                       halves(extensions, "extensions"),
                       extensions.rows(),
                       halves(wanted, "wanted"),
                       wanted.rows()});
    }
    if (starts.size() != found.size() + 1 || !std::is_sorted(starts.begin(), starts.end()))
      throw nb::value_error("starts must rise, and be one more than the archives");
    samples_ = std::make_unique<SamplesOfArchives>(std::move(found), starts, choices);
  }

  // Returns the key of the sample at each row, as text; invalid UTF-8 is escaped.
  nb::list keys(nb::handle rows_array) const {
    const Buffer rows(rows_array);
    const auto* const wanted = rows.words<const std::int64_t>("rows");
    nb::list made = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(rows.rows())));
    if (!made.is_valid()) nb::raise_python_error();
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      samples_->prefetch_keys(wanted, rows.rows(), i);
      std::size_t archive, sample, begin, end;
      if (!samples_->find(wanted[i], archive, sample)) throw nb::index_error("there is no such sample");
      const TarKeys& keys = samples_->keys(archive);
      key_span(keys, sample, begin, end);
      PyObject* const text = utf8_text(reinterpret_cast<const char*>(keys.text + begin),
                                       static_cast<Py_ssize_t>(end - begin), false, "surrogateescape");
      if (!text || PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), text)) nb::raise_python_error();
    }
    return made;
  }

  // Writes the members of the samples at rows, one for each part, and returns how many are missing.
  std::int64_t members(nb::handle rows_array, nb::handle members_array) const {
    const Buffer rows(rows_array), members(members_array, true);
    const auto* const wanted = rows.words<const std::int64_t>("rows");
    if (members.bytes() != rows.rows() * samples_->parts() * sizeof(std::int64_t))
      throw nb::value_error("there must be a place for each part of each row");
    const std::int64_t missing =
        samples_->find_members(wanted, rows.rows(), reinterpret_cast<std::int64_t*>(members.data()));
    if (missing < 0) throw nb::index_error("there is no such sample");
    return missing;
  }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<SamplesOfArchives> samples_;
};

}  // namespace

void bind_tar(nb::module_& module) {
  nb::class_<TarFile>(module, "TarScanner")
      .def(nb::init<const nb::bytes&>())
      .def_prop_ro("size", &TarFile::size)
      .def_prop_ro("error", &TarFile::error)
      .def("scan", &TarFile::scan);
  nb::class_<TarGroups>(module, "TarGroups")
      .def(nb::init<>())
      .def("add", group)
      .def_prop_ro("extensions", extensions_of);
  nb::class_<Samples>(module, "TarSamples")
      .def(
          nb::init<const nb::list&, const std::vector<std::int64_t>&, const std::vector<std::vector<std::uint32_t>>&>())
      .def("keys", &Samples::keys)
      .def("members", &Samples::members);
  module.def("scan_tar", scan_bytes);
}

}  // namespace penstock::bindings
