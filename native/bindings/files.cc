#include "kernels/files.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "kernels/lasting.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::size_t kOpenAtOnce = 64;  // descriptors held by one call

// Returns the path in the system's form, or null if impossible: the caller then reads through Python, which raises the
// error.
const char* path_of(nb::handle path) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(path.ptr()) ? PyUnicode_AsUTF8AndSize(path.ptr(), &size) : nullptr;
  if (!text) PyErr_Clear();
  return text && std::strlen(text) == static_cast<std::size_t>(size) ? text : nullptr;
}

// Returns the content of each file as bytes, or None for one that has to be read in another way. The GIL is released
// twice for up to 64 files, not several times for each.
nb::list read_files(const nb::list& paths) {
  nb::list contents;
  const std::size_t count = nb::len(paths);
  for (std::size_t low = 0; low < count; low += kOpenAtOnce) {
    const std::size_t size = std::min(kOpenAtOnce, count - low);
    std::vector<const char*> names(size);
    std::vector<OpenFile> files(size);
    std::vector<nb::object> kept(size), made(size);
    std::vector<char*> into(size);
    for (std::size_t i = 0; i < size; ++i) {
      kept[i] = paths[low + i];  // holds the text alive
      names[i] = path_of(kept[i]);
    }
    {
      nb::gil_scoped_release release;
      open_files(names.data(), size, files.data());
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (files[i].descriptor < 0) continue;
      made[i] = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(files[i].size)));
      if (made[i].is_valid()) into[i] = PyBytes_AsString(made[i].ptr());
      PyErr_Clear();  // out of memory: reading through Python raises the MemoryError
    }
    {
      nb::gil_scoped_release release;
      for (std::size_t i = 0; i < size; ++i) {
        if (into[i] && !read_whole(files[i], into[i])) into[i] = nullptr;
        close_file(files[i]);
      }
    }
    for (std::size_t i = 0; i < size; ++i) contents.append(into[i] ? made[i] : nb::none());
  }
  return contents;
}

// Releases the GIL once; invalid paths are left out.
void advise(const nb::list& paths) {
  std::vector<nb::object> kept;
  std::vector<const char*> names;
  for (nb::handle path : paths) {
    kept.push_back(nb::borrow(path));
    names.push_back(path_of(path));
  }
  nb::gil_scoped_release release;
  advise_files(names.data(), names.size());
}

// The same for ranges of one file.
void advise_some(nb::handle path, nb::handle begins, nb::handle ends) {
  const Buffer low(begins), high(ends);
  const auto* const from = low.words<const std::int64_t>("begins");
  const auto* const to = high.words<const std::int64_t>("ends");
  if (low.rows() != high.rows()) throw nb::value_error("every range has a beginning and an end");
  const char* const name = path_of(path);
  nb::gil_scoped_release release;
  advise_ranges(name, from, to, low.rows());
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_BufferError, "a mapping of no file");
    return -1;
  }
  const auto* map = nb::inst_ptr<LastingMap>(self);
  return PyBuffer_FillInfo(view, self, const_cast<unsigned char*>(map->data()), static_cast<Py_ssize_t>(map->size()), 1,
                           flags);
}

PyType_Slot map_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

void make_map(LastingMap* self, const nb::bytes& path) {
  const nb::gil_scoped_release release;  // the file may be far away
  new (self) LastingMap(path.c_str());
}

}  // namespace

void bind_files(nb::module_& module) {
  nb::class_<LastingMap>(module, "LastingMap", nb::type_slots(map_slots))
      .def("__init__", make_map)
      .def_prop_ro("error", &LastingMap::error)
      .def_prop_ro("is_cut", &LastingMap::is_cut)
      .def_prop_ro("mtime", &LastingMap::mtime)
      .def("is_unchanged",
           [](const LastingMap& self, const nb::bytes& path) { return self.is_unchanged(path.c_str()); });
  module.def("cuts", LastingMap::cuts);
  module.def("read_files", read_files);
  module.def("advise_files", advise);
  module.def("advise_ranges", advise_some);
}

}  // namespace penstock::bindings
