// The parts of the module, each in a file of its own.
#pragma once

#include <nanobind/nanobind.h>

namespace vectis::python {

void bind_errors(nanobind::module_& module);
void bind_calls(nanobind::module_& module);
void bind_results(nanobind::module_& module);
void bind_filters(nanobind::module_& module);
void bind_index(nanobind::module_& module);
void bind_store(nanobind::module_& module);
void bind_devices(nanobind::module_& module);
void bind_memory(nanobind::module_& module);
void bind_kernel(nanobind::module_& module);
void bind_profiler(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_conformance(nanobind::module_& module);
void bind_arrays(nanobind::module_& module);
void bind_networks(nanobind::module_& module);

}  // namespace vectis::python
