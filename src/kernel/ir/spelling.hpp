// How each dialect spells types, casts, functions and literals.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "kernel/ir/opcodes.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Casts and functions precede a parenthesized operand, as "float" or "(float)".
struct Spelling {
  Dialect dialect = Dialect::opencl_c;
  std::array<std::string_view, 4> types;  // by value_type_index
  std::array<std::string_view, 4> casts;  // by value_type_index: conversion by value
  // Reinterpretation of the bits: [from][to] by value_type_index, without bool.
  std::array<std::array<std::string_view, 3>, 3> bits;
  // The native function of an operation on f32, or of popcount and leading_zeros on u32. Empty if there is none with
  // the semantics of the IR: the printer then uses an operator or the helper function vt_<name>.
  std::array<std::string_view, op_count> functions;
  std::string_view function_prefix = "";  // before a helper function
  bool ordered = true;                    // comparisons with NaN follow IEEE 754
  bool lets = false;                      // "let name: type" instead of "type name"

  [[nodiscard]] std::string_view type(DType of) const { return types[value_type_index(of)]; }
  [[nodiscard]] std::string_view cast(DType to) const { return casts[value_type_index(to)]; }
  [[nodiscard]] std::string_view function(Op op) const { return functions[static_cast<std::size_t>(op)]; }
  // "as_float(x)"; `x` itself if the types are equal.
  [[nodiscard]] std::string as(DType from, DType to, std::string_view x) const;
  // "float x", "let x: f32", or if the variable `changes`, "var x: f32".
  [[nodiscard]] std::string declare(DType of, std::string_view name, bool changes = false) const;
  // A literal of the type with these 32 bits (bool: 0 or 1).
  [[nodiscard]] std::string constant(DType of, std::uint32_t value) const;
  [[nodiscard]] std::string choose(std::string_view condition, std::string_view yes, std::string_view no) const;
};

const Spelling& spelling_of(Dialect dialect);

// Helper functions of printed kernels, for operations without a native function of the same semantics.
// The source of the helpers called `names` and of those they call, each once, callees first.
std::string print_helpers(const std::set<std::string_view>& names, const Spelling& spelling);

}  // namespace vectis::inline v0_1::ir
