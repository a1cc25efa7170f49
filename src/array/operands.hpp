// Rules that all operations share: devices, element types and shapes of their operands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/element_function.hpp"
#include "array/node.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// Throws InvalidInput "[op] message".
[[noreturn]] void throw_invalid(std::string_view op, const std::string& message);

// Returns the type that holds both: the wider of two integer or floating-point types, the floating-point one of a mix;
// int32 for int8 and uint8, float32 for float16 and bfloat16.
DType promote(DType a, DType b) noexcept;
// Returns the type of an operation of a `type` array with a number: `type`, unless it is of a lower kind, or an integer
// type that does not hold the number: then the first of int32 and int64 that does.
DType promote(DType type, const Scalar& scalar) noexcept;

// Returns the shape to which both broadcast: axes are aligned at the end, and an extent of 1 or a missing axis is
// repeated. Throws InvalidInput, naming both, when they do not fit.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

// Returns `axis`, which counts from the end when it is negative. Throws InvalidInput when there is no such axis.
std::size_t checked_axis(std::string_view op, std::int64_t axis, std::size_t rank);
// Returns all axes of `axes` in increasing order, of an empty list all axes of the array. Throws InvalidInput for an
// axis that does not exist or is named twice.
Shape checked_axes(std::string_view op, const Shape& axes, std::size_t rank);
// Throws InvalidInput for negative extents, for more elements than memory could hold, and for a type that arrays do not
// have.
void check_shape(std::string_view op, const Shape& shape, DType type);

// Returns an array whose elements are all `value`, which is stored once.
Tensor constant(Lane& lane, const Scalar& value, DType type, const Shape& shape);

// The operands of one call as arrays of one device and one shape.
struct Resolved {
  std::vector<Tensor> tensors;
  std::source_location where;
};
// Returns the operands converted to one type, broadcast to one shape. Throws InvalidInput when there is no array among
// them, they are on several devices, or their shapes do not fit.
Resolved resolve(std::string_view op, std::initializer_list<const Operand*> operands);
// Returns the array of an operand. Throws InvalidInput when it is a number or empty.
const Tensor& as_tensor(std::string_view op, const Operand& operand);
// Throws InvalidInput unless both arrays are on one device.
void check_devices(std::string_view op, const Tensor& a, const Tensor& b);
// Returns the options with which an array beside `x` is made.
TensorOptions options_of(const Tensor& x);
// Returns the lane that options name.
Lane& lane_for(const TensorOptions& options);
// Returns `x` broadcast to `shape`, to which it must fit.
Tensor broadcast(const Tensor& x, const Shape& shape, const std::source_location& where);

}  // namespace vectis::inline v0_1::array
