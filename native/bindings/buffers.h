// Arrays in the form for kernels: a pointer, a count and a width, held through the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::bindings {

// A C-contiguous array of any dtype, released by the destructor.
class Buffer {
 public:
  // Raises the errors of the array's own `getbuffer` (BufferError, ValueError) if it is not contiguous or not writable.
  explicit Buffer(nanobind::handle array, bool writable = false) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_ND | (writable ? PyBUF_WRITABLE : 0)))
      nanobind::raise_python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* data() const { return static_cast<char*>(view_.buf); }
  std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
  std::size_t width() const { return static_cast<std::size_t>(view_.itemsize); }
  int ndim() const { return view_.ndim; }
  std::size_t rows() const { return view_.ndim ? static_cast<std::size_t>(view_.shape[0]) : 0; }

  // The array as `count` words of 64 bits. The Python side has checked the dtype; the check of the width is for memory
  // safety.
  template <class Word>
  Word* words(const char* name) const {
    static_assert(sizeof(Word) == 8);
    if (view_.ndim != 1 || view_.itemsize != 8)
      throw nanobind::type_error((std::string(name) + " must be a one-dimensional array of 64-bit integers").c_str());
    return reinterpret_cast<Word*>(view_.buf);
  }

 private:
  Py_buffer view_;
};

// Calls shorter than this keep the GIL: releasing and taking it again costs about a microsecond under contention.
inline constexpr std::size_t kLongCallBytes = std::size_t{64} << 10;

// Runs `work` without the GIL if it is long.
template <class Work>
void run_freely(bool is_long, const Work& work) {
  if (is_long) {
    nanobind::gil_scoped_release release;
    work();
  } else {
    work();
  }
}

}  // namespace penstock::bindings
