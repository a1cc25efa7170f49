// What each operation takes and gives: the one table that builder, verifier, text and passes share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// How an operation is written down.
enum class Shape : std::uint8_t {
  leaf,    // constant, input, argument, index
  plain,   // operands alone; the type follows from them
  typed,   // convert, bitcast: one operand and the type
  gather,  // a table's number and an operand
  looped,  // loop, result, carried, iteration
};
Shape shape(Op op) noexcept;

// The types of IR values: float32, int32, uint32 and boolean.
bool is_value_type(DType type) noexcept;
// 0 to 3 in that order, for tables by value type. Requires is_value_type(type).
std::size_t value_type_index(DType type) noexcept;

// The type of a plain operation, or nothing when it does not take these operands.
std::optional<DType> plain_type(Op op, std::span<const DType> operands) noexcept;
// `convert` takes every pair, `bitcast` not bool.
bool bitcastable(DType from, DType to) noexcept;
// a op b equals b op a for every a and b (but the payload of a NaN).
bool commutative(Op op, DType operand) noexcept;
// "two operands of f32, i32 or u32": for messages.
std::string_view accepted(Op op) noexcept;

std::optional<Op> parse_op(std::string_view name) noexcept;
std::optional<DType> parse_type(std::string_view name) noexcept;
std::optional<DType> parse_element(std::string_view name) noexcept;

inline constexpr std::size_t name_size_max = 64;
bool is_name(std::string_view name) noexcept;

}  // namespace vectis::inline v0_1::ir
