// The built-ins of kernel bodies with their types, and the identifiers that a body must not use because some dialect
// gives them another meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

struct IdentifierVerdict {
  std::string_view rule;  // the rule that forbids the identifier; empty: it may be used
  std::string advice;     // what to write instead
};

// Judges an identifier of a body: types, keywords and functions that are not the same in every dialect are forbidden.
IdentifierVerdict judge_identifier(std::string_view identifier);

// Why `name` cannot be the name of a buffer, scalar or array; empty if it can.
std::string judge_name(std::string_view name);

// Whether it is "float", "int", "uint" or "bool".
bool is_value_type(std::string_view identifier) noexcept;

// The type of an expression. `unknown` converts to and from every type: undeclared names are left to the compilers.
enum class ValueType : std::uint8_t { unknown, none, boolean, i32, u32, f32 };

std::string_view name(ValueType type) noexcept;  // as written in a body
ValueType value_type_named(std::string_view text) noexcept;
ValueType loaded(DType element) noexcept;

struct Signature {
  ValueType result = ValueType::unknown;
  std::vector<ValueType> parameters;
};

// The signature of a built-in: of all kernels, or of a buffer of `source` (LOAD_x); empty if there is none of that
// name.
std::optional<Signature> builtin_signature(const KernelSource& source, std::string_view name);

}  // namespace vectis::inline v0_1::detail
