// Vectors in columns of Apache Arrow, of any library that has the Arrow PyCapsule interface.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace vectis::python {

// Returns a NumPy array over the values of an Arrow array, without a copy: of two dimensions for a fixed-size list of
// numbers, of one for a column of numbers. Throws InvalidInput, naming `op`, for other types and for nulls. Needs the
// GIL; the NumPy array keeps the Arrow array alive.
nanobind::object import_arrow(nanobind::handle object, std::string_view op);

}  // namespace vectis::python
