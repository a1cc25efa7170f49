// The types of a body's expressions, and of the words that appear in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

// `unknown` goes with everything: a name that the linter has not seen declared is left to the compilers.
enum class ValueType : std::uint8_t { unknown, none, boolean, i32, u32, f32 };

std::string_view name(ValueType type) noexcept;  // as a body writes it
ValueType value_type_named(std::string_view text) noexcept;
ValueType loaded(DType element) noexcept;

struct Signature {
  ValueType result = ValueType::unknown;
  std::vector<ValueType> parameters;
};

// Of the words all kernels have, and of those that `source`'s buffers bring.
std::optional<Signature> signature_of_word(const KernelSource& source, std::string_view word);

}  // namespace vectis::inline v0_1::detail
