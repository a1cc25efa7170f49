// How each dialect spells types, casts, functions and literals.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "kernel/ir/opcodes.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// How one dialect writes types, casts, functions and literals. Casts and functions precede a parenthesized operand,
// as "float" or "(float)".
struct Spelling {
  Dialect dialect = Dialect::opencl_c;
  std::array<std::string_view, 4> types;  // by value_type_index
  std::array<std::string_view, 4> casts;  // by value_type_index: conversion by value
  // Reinterpretation of the bits: [from][to] by value_type_index, without bool.
  std::array<std::array<std::string_view, 3>, 3> bits;
  // The native function of an operation on f32, or of popcount and leading_zeros on u32. Empty if there is none with
  // the semantics of the IR: the printer then uses an operator or the helper function vti_<name>.
  std::array<std::string_view, op_count> functions;
  std::string_view function_prefix = "";  // before a helper function
  bool ordered = true;                    // comparisons with NaN follow IEEE 754
  bool lets = false;                      // "let name: type" instead of "type name"

  // Returns the name of a value type in the dialect, such as "uint" for uint32. Requires is_value_type(of),
  // unchecked.
  [[nodiscard]] std::string_view type(DType of) const { return types[value_type_index(of)]; }
  // Returns the text before "(x)" that converts x by value to a type. Requires is_value_type(to), unchecked.
  [[nodiscard]] std::string_view cast(DType to) const { return casts[value_type_index(to)]; }
  // Returns the name of the native function of an operation; empty if the dialect has none with the IR's semantics.
  [[nodiscard]] std::string_view function(Op op) const { return functions[static_cast<std::size_t>(op)]; }
  // Returns the expression that reinterprets the bits of `x`, such as "as_float(x)", or `x` itself if the types are
  // equal. Different types must be f32, i32 or u32; this is not checked.
  [[nodiscard]] std::string as(DType from, DType to, std::string_view x) const;
  // Returns the declaration of a variable: "float x" or, in WGSL, "let x: f32", or "var x: f32" if the variable
  // `changes`. Requires a value type.
  [[nodiscard]] std::string declare(DType of, std::string_view name, bool changes = false) const;
  // Returns an expression of the type with these 32 bits (bool: 0 or 1), infinities and NaN included. Requires a
  // value type.
  [[nodiscard]] std::string constant(DType of, std::uint32_t value) const;
  // Returns the expression that is `yes` if the condition holds, else `no`: "(c ? a : b)" or, in WGSL,
  // "select(b, a, c)". Does not check the syntax of its arguments.
  [[nodiscard]] std::string choose(std::string_view condition, std::string_view yes, std::string_view no) const;
};

// Returns the spelling of a dialect, which lives as long as the program. Requires an enumerator of Dialect.
const Spelling& spelling_of(Dialect dialect);

// Returns the source text of the helper functions called `names` and of those they call, each once, callees first.
// Printed kernels call helper functions (vti_min, vti_pow, ...) for operations without a native function of the same
// semantics. Requires names of the table in spelling.cpp; any other name is silently left out.
std::string print_helpers(const std::set<std::string_view>& names, const Spelling& spelling);

}  // namespace vectis::inline v0_1::ir
