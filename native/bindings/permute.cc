#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

void bind_permute(nb::module_& module) { (void)module; }

}  // namespace penstock::bindings
