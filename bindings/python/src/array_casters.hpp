// Arguments of array functions as C++ types.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "array_object.hpp"
#include "vectis/array/shape.hpp"

namespace vectis::python {

// An element type, which a call names in any way that as_dtype takes, or None.
struct DTypeArgument {
  std::optional<DType> type = std::nullopt;
};

// Axes of a call: None, one, or several.
struct Axes {
  bool all = true;
  Shape axes = {};
};

// Returns an integer or a sequence of integers as numbers of a shape; false, without an exception set, for other
// objects. Throws InvalidInput for more numbers than a shape holds. Needs the GIL.
bool as_shape(nanobind::handle object, Shape& shape);

}  // namespace vectis::python

namespace nanobind::detail {

// Runs a conversion. Exceptions of Python and of the library leave the call.
template <>
struct type_caster<vectis::python::Argument> {
  NB_TYPE_CASTER(vectis::python::Argument, const_name("vectis._types.ArrayLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    std::optional<vectis::python::Argument> argument = vectis::python::as_argument(source);
    if (argument) value = std::move(*argument);
    return argument.has_value();
  }
};

template <>
struct type_caster<vectis::python::Tensor> {
  NB_TYPE_CASTER(vectis::python::Tensor, const_name("Array"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    std::optional<vectis::python::Argument> argument = vectis::python::as_argument(source);
    if (!argument || !argument->is_tensor()) return false;
    value = argument->tensor();
    return true;
  }
  static handle from_cpp(vectis::python::Tensor tensor, rv_policy, cleanup_list*) {
    return vectis::python::to_array(std::move(tensor)).release();
  }
};

template <>
struct type_caster<vectis::Shape> {
  NB_TYPE_CASTER(vectis::Shape, const_name("int | collections.abc.Sequence[int]"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) { return vectis::python::as_shape(source, value); }
  static handle from_cpp(const vectis::Shape& shape, rv_policy, cleanup_list*) {
    PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.rank()));
    if (tuple == nullptr) return {};
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
    }
    return tuple;
  }
};

template <>
struct type_caster<vectis::python::Axes> {
  NB_TYPE_CASTER(vectis::python::Axes, const_name("int | collections.abc.Sequence[int] | None"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    value.all = source.is_none();
    return value.all || vectis::python::as_shape(source, value.axes);
  }
};

template <>
struct type_caster<vectis::python::DTypeArgument> {
  NB_TYPE_CASTER(vectis::python::DTypeArgument, const_name("vectis._types.ArrayDType | None"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    if (!source.is_none()) value.type = vectis::python::as_dtype(source, "dtype");
    return true;
  }
};

}  // namespace nanobind::detail
