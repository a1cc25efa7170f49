// The native module vectis._vectis.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "vectis/base/runtime.hpp"

NB_MODULE(_vectis, m) { m.def("version", &vectis::version, "Returns the version of the library, such as \"0.1.0\"."); }
