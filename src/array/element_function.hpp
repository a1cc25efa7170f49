// The functions that are applied to each element: for each, its kernel IR, its value in wide arithmetic and its
// gradient, in one row of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "array/primitive.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::array {

// In the order of the table.
enum class ElementOp : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  fmod,
  power,
  atan2,
  logaddexp,
  minimum,
  maximum,
  negative,
  absolute,
  sign,
  square,
  floor,
  ceil,
  round,
  trunc,
  sqrt,
  rsqrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log1p,
  sin,
  cos,
  tan,
  sinh,
  cosh,
  tanh,
  asin,
  acos,
  atan,
  asinh,
  acosh,
  atanh,
  erf,
  sigmoid,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  signbit,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  bitwise_not,
  left_shift,
  right_shift,
  where,    // (bool, a, b)
  convert,  // to the type of the node
};
inline constexpr std::size_t element_op_count = static_cast<std::size_t>(ElementOp::convert) + 1;

// Which element types a function takes.
enum class Takes : std::uint8_t {
  numbers,        // all but bool
  reals,          // floating point
  integers,       // integers and bool
  whole_numbers,  // integers
  all,
};

// A function of one to three elements.
struct ElementFunction {
  using Emit = ir::Value (*)(ir::Builder& builder, std::span<const ir::Value> operands);
  using RealLoop = void (*)(const double* const* in, double* out, std::size_t count);
  using CompareLoop = void (*)(const double* const* in, std::int64_t* out, std::size_t count);
  using IntegerLoop = void (*)(const std::int64_t* const* in, std::int64_t* out, std::size_t count);
  // Returns the gradient of each operand; an empty Tensor for none.
  using Gradient = std::vector<Tensor> (*)(const Tensor& output, std::span<const Tensor> inputs, const Tensor& adjoint);

  ElementOp op;
  std::string_view name;
  std::uint8_t operands;
  Takes takes;
  Emit emit;                      // in the kernel IR; null for `convert`
  RealLoop real = nullptr;        // in double precision; null where it has no such value
  CompareLoop compare = nullptr;  // of doubles, with a truth value
  IntegerLoop integer = nullptr;  // of 64-bit integers, which wrap
  Gradient gradient = nullptr;    // null: zero everywhere
};

// Returns the row of `op`.
const ElementFunction& element_function(ElementOp op) noexcept;
// Returns the primitive that applies `op` to each element.
std::shared_ptr<const Primitive> element_primitive(ElementOp op);

}  // namespace vectis::inline v0_1::array
