// Numbers in arguments of kernels and operations.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string_view>

namespace vectis::python {

// Returns a number of Python or NumPy as a double. Throws InvalidInput, naming `op` and `what`, for other objects and
// ints beyond a double; rethrows other exceptions of `__float__`, such as KeyboardInterrupt. Needs the GIL.
double real_value(nanobind::handle value, std::string_view op, std::string_view what);
// Returns an integer of Python or NumPy. Throws InvalidInput, naming `op` and `what`, for other objects and ints beyond
// 64 bits; rethrows other exceptions of `__index__`. Needs the GIL.
std::int64_t integer_value(nanobind::handle value, std::string_view op, std::string_view what);

}  // namespace vectis::python
