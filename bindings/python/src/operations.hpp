// vectis.kernel.run() and operations().
#pragma once

#include <nanobind/nanobind.h>

namespace vectis::python {

void bind_operations(nanobind::module_& module);

}  // namespace vectis::python
