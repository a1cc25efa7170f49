// How elements of arrays stand in the kernel IR, which has no bool, uint8 or wrapping int8 in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "array/element_function.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::array {

// Returns true for the element types that kernels compute with; float64 and int64 are not among them.
[[nodiscard]] constexpr bool has_ir(DType type) noexcept { return type != DType::float64 && type != DType::int64; }

// Returns the type of a buffer of such elements in the kernel IR: bool and uint8 are stored as int8.
[[nodiscard]] constexpr DType stored_type(DType type) noexcept {
  return type == DType::boolean || type == DType::uint8 ? DType::int8 : type;
}
// Returns the type of a value or argument of the kernel IR for such elements: float32 or int32.
[[nodiscard]] DType value_type(DType type) noexcept;
// Returns the bits of an element in host memory as an argument of the kernel IR.
[[nodiscard]] std::uint32_t argument_bits(DType type, const std::byte* element);

// Returns 0 as a value for such elements.
ir::Value zero(ir::Builder& code, DType type);
// Returns the value of an element that was read from a buffer, or of an argument: bool for bool, 0 to 255 for uint8.
ir::Value loaded(ir::Builder& code, ir::Value value, DType type);
// Returns `value` as an operation of type `type` leaves it: int8 and uint8 wrap.
ir::Value narrowed(ir::Builder& code, ir::Value value, DType type);
// Returns `value` converted to an element type.
ir::Value converted(ir::Builder& code, ir::Value value, DType type);
// Returns the result of an element function with result type `type`.
ir::Value applied(ir::Builder& code, const ElementFunction& function, std::span<const ir::Value> operands, DType type);
// Makes `value` an output whose elements have type `type`.
void store(ir::Builder& code, ir::Value value, DType type);

}  // namespace vectis::inline v0_1::array
