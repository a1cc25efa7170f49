// The opcode table: names, operands and types of all operations. Builder, verifier, parser and passes share it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// What an instruction of an operation holds besides the opcode.
enum class OpClass : std::uint8_t {
  leaf,       // constant, input, argument, index
  plain,      // operands only; the result type follows from theirs
  typed,      // convert, bitcast: one operand and the result type
  gather,     // the index of a table, and an operand
  loop_part,  // loop, result, carried, iteration
};
OpClass op_class(Op op) noexcept;

// Returns whether `type` is a type of IR values: float32, int32, uint32 or boolean.
bool is_value_type(DType type) noexcept;
// Returns the index of a value type in tables: float32 0, int32 1, uint32 2, boolean 3. Requires is_value_type(type);
// returns 4 for any other type.
std::size_t value_type_index(DType type) noexcept;

// Returns the result type of an operation of OpClass::plain on operands of these types. Returns nothing if the
// operation is of another class or does not take this count or these types of operands. Requires value types.
std::optional<DType> result_type(Op op, std::span<const DType> operands) noexcept;
// Returns whether bitcast converts `from` to `to`: false for boolean, true for all other value types. Requires that
// `from` is a value type.
bool can_bitcast(DType from, DType to) noexcept;
// Returns whether `a op b` equals `b op a` for all operands of type `operand`, except for the payload of a NaN: add,
// mul, eq, ne, the bitwise operations, and min and max of integers, but not of f32, because of the zeros.
bool is_commutative(Op op, DType operand) noexcept;
// Returns the operands that an operation takes as text for error messages: "two operands, both f32, i32 or u32".
std::string_view accepted_operands(Op op) noexcept;

// Returns the operation with that name, as in "add"; nothing if there is none.
std::optional<Op> parse_op(std::string_view name) noexcept;
// Returns the value type with that short name: f32, i32, u32 or bool; nothing for any other text.
std::optional<DType> parse_value_type(std::string_view name) noexcept;
// Returns the type of buffer elements with that short name: f32, i32, u32, f16, bf16 or i8; else nothing.
std::optional<DType> parse_element_type(std::string_view name) noexcept;

inline constexpr std::size_t name_size_max = 64;  // characters
// Returns whether `name` can name a function: 1 to name_size_max characters that match [a-z][a-z0-9_]*.
bool is_function_name(std::string_view name) noexcept;

}  // namespace vectis::inline v0_1::ir
