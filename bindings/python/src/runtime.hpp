// The Runtime of the module, its threads and its log.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "vectis/base/runtime.hpp"

namespace vectis::python {

// Returns the Runtime that new indexes, stores and devices use: the default one, or after set_threads(n) one with n
// threads. Runtimes live until the process ends, since objects that Python destroys late refer to them. The first use
// of a Runtime sends its log records to Python's `logging`. Call it with the GIL.
Runtime& runtime();

// Makes runtime() return a Runtime with this many threads from now on; 0: the default one, with a thread for each core.
// Objects that exist keep theirs. Throws InvalidInput when there are more than 1024.
void set_threads(std::size_t threads);

void bind_runtime(nanobind::module_& module);

}  // namespace vectis::python
