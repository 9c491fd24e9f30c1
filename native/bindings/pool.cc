#include "bindings/pool.h"

#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_BufferError, "a block without memory: take one from Pool.block");
    return -1;
  }
  const auto* block = nb::inst_ptr<Block>(self);
  return PyBuffer_FillInfo(view, self, block->data(), static_cast<Py_ssize_t>(block->bytes()), 0, flags);
}

PyType_Slot block_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

}  // namespace

void bind_pool(nb::module_& module) {
  nb::class_<Block>(module, "Block", nb::type_slots(block_slots));
  nb::class_<PoolHandle>(module, "Pool")
      .def(nb::init<std::size_t>())
      .def("block", [](const PoolHandle& self, std::size_t bytes) { return new Block(self.pool, bytes); })
      .def("trim", [](const PoolHandle& self) { self.pool->trim(); })
      .def("close", [](const PoolHandle& self) { self.pool->close(); })
      .def_prop_ro("bytes_live", [](const PoolHandle& self) { return self.pool->usage().live; })
      .def_prop_ro("bytes_idle", [](const PoolHandle& self) { return self.pool->usage().idle; })
      .def_prop_ro("bytes_peak", [](const PoolHandle& self) { return self.pool->usage().peak; });
}

}  // namespace penstock::bindings
