// The opcode table: names, operands and types of all operations. Builder, verifier, parser and passes share it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// How an operation is encoded.
enum class OpClass : std::uint8_t {
  leaf,       // constant, input, argument, index
  plain,      // operands only; the result type follows from theirs
  typed,      // convert, bitcast: one operand and the result type
  gather,     // the index of a table, and an operand
  loop_part,  // loop, result, carried, iteration
};
OpClass op_class(Op op) noexcept;

// The types of IR values: float32, int32, uint32 and boolean.
bool is_value_type(DType type) noexcept;
// 0 to 3 in that order, for tables by value type. Requires is_value_type(type).
std::size_t value_type_index(DType type) noexcept;

// The result type of a plain operation; nothing if it does not take these operands.
std::optional<DType> result_type(Op op, std::span<const DType> operands) noexcept;
// True if bitcast can convert between the types: all value types but bool.
bool can_bitcast(DType from, DType to) noexcept;
// True if a op b equals b op a for all operands, except for the payload of a NaN.
bool is_commutative(Op op, DType operand) noexcept;
// The operands an operation takes, for messages: "two operands, both f32, i32 or u32".
std::string_view accepted_operands(Op op) noexcept;

std::optional<Op> parse_op(std::string_view name) noexcept;
std::optional<DType> parse_value_type(std::string_view name) noexcept;
std::optional<DType> parse_element_type(std::string_view name) noexcept;

inline constexpr std::size_t name_size_max = 64;
bool is_function_name(std::string_view name) noexcept;

}  // namespace vectis::inline v0_1::ir
