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

// Whether a kernel body may use an identifier, and if not, why.
struct IdentifierVerdict {
  std::string_view rule;  // the rule that forbids the identifier; empty: it may be used
  std::string advice;     // what to write instead
};

// Judges an identifier of a kernel body: types, keywords and functions that are not the same in every dialect are
// forbidden. Returns an empty rule if the identifier may be used, else the rule and what to write instead.
IdentifierVerdict judge_identifier(std::string_view identifier);

// Returns why `name` cannot be the name of a buffer, scalar, array or define: not an identifier, a keyword, or a
// word that some dialect reserves. Empty if it can.
std::string judge_name(std::string_view name);

// Returns whether the identifier is "float", "int", "uint" or "bool". Does not throw.
bool is_value_type(std::string_view identifier) noexcept;

// The type of an expression. `unknown` converts to and from every type: undeclared names are left to the compilers.
enum class ValueType : std::uint8_t { unknown, none, boolean, i32, u32, f32 };

// Returns the type as written in a kernel body: "void", "bool", "int", "uint" or "float"; "something" for `unknown`.
// Does not throw.
std::string_view name(ValueType type) noexcept;
// Returns the type written as `text` in a kernel body; `unknown` if no type has that name. Does not throw.
ValueType value_type_named(std::string_view text) noexcept;
// Returns the type that a kernel body sees when it loads an element: i32 for int32 and int8, u32 for uint32, f32 for
// all others. Does not throw.
ValueType loaded(DType element) noexcept;

// Result and parameter types of a built-in or helper function of a kernel.
struct Signature {
  ValueType result = ValueType::unknown;
  std::vector<ValueType> parameters;
};

// Returns the signature of a built-in of all kernels, or of a buffer of `source`, such as LOAD_x for the buffer x;
// empty if there is no built-in of that name.
std::optional<Signature> builtin_signature(const KernelSource& source, std::string_view name);

}  // namespace vectis::inline v0_1::detail
