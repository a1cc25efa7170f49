// What the printer of IR functions must know of a dialect: one table each.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernel/ir/ops.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Words are put before a parenthesised operand, "float" or "(float)".
struct Words {
  Dialect dialect = Dialect::opencl_c;
  std::array<std::string_view, 4> types;  // by value_type_index
  std::array<std::string_view, 4> casts;  // by value_type_index: converts a value natively
  // The same 32 bits as another type: [from][to] by value_type_index, without bool.
  std::array<std::array<std::string_view, 3>, 3> bits;
  // The native function of an operation on f32, or of popcount and leading_zeros on u32. Empty: there is none, or its
  // meaning is another; vt_<name> among the helpers or an operator serves.
  std::array<std::string_view, op_count> functions;
  std::string_view function_prefix = "";  // before a helper function
  bool ordered = true;                    // comparisons with NaN are as IEEE 754 says
  bool lets = false;                      // "let name: type" instead of "type name"

  [[nodiscard]] std::string_view type(DType of) const { return types[value_type_index(of)]; }
  [[nodiscard]] std::string_view cast(DType to) const { return casts[value_type_index(to)]; }
  [[nodiscard]] std::string_view function(Op op) const { return functions[static_cast<std::size_t>(op)]; }
  // "as_float(x)"; `x` itself when the types are equal.
  [[nodiscard]] std::string as(DType from, DType to, std::string_view x) const;
  // "float x", "let x: f32", or when `changes` "var x: f32".
  [[nodiscard]] std::string declare(DType of, std::string_view name, bool changes = false) const;
  // A literal of the type with these 32 bits (of bool: 0 or 1).
  [[nodiscard]] std::string constant(DType of, std::uint32_t value) const;
  [[nodiscard]] std::string choose(std::string_view condition, std::string_view yes, std::string_view no) const;
};

const Words& words_of(Dialect dialect);

}  // namespace vectis::inline v0_1::ir
