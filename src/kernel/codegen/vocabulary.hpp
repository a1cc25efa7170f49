// Which identifiers mean something in a body, and which must not appear because some dialect takes them otherwise.
#pragma once

#include <string>
#include <string_view>

namespace vectis::inline v0_1::detail {

struct Verdict {
  std::string_view rule;  // empty: the identifier is free
  std::string advice;     // what to write instead
};

// On identifiers of a body: types, keywords and functions that are not the same in every dialect.
Verdict judge_identifier(std::string_view identifier);

// Whether a buffer, scalar, array or kernel may be called so. The reason why not, else empty.
std::string judge_name(std::string_view name);

// "float", "int", "uint", "bool".
bool is_value_type(std::string_view identifier) noexcept;

}  // namespace vectis::inline v0_1::detail
