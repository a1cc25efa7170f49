// The native module of the Python package: vectis._vectis.
#include <nanobind/nanobind.h>

#include "bindings.hpp"
#include "runtime.hpp"

NB_MODULE(_vectis, module) {
  using namespace vectis::python;
  module.attr("__doc__") = "The native part of the package `vectis`.";
  // A daemon thread or a global may keep an object when the interpreter ends, which is no error of the module.
  nanobind::set_leak_warnings(false);
  module.def("set_leak_warnings", &nanobind::set_leak_warnings, nanobind::arg("wanted"),
             "Print objects of this module that still exist when the interpreter ends; for tests.");
  bind_errors(module);
  bind_runtime(module);
  bind_calls(module);
  bind_results(module);
  bind_filters(module);
  bind_index(module);
  bind_store(module);
  bind_devices(module);
  bind_memory(module);
  bind_kernel(module);
  bind_profiler(module);
  bind_plan(module);
  bind_conformance(module);
  bind_arrays(module);
  bind_networks(module);
}
