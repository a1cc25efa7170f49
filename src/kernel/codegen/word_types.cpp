#include "kernel/codegen/word_types.hpp"

#include <algorithm>
#include <array>

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::array<std::string_view, 6> type_names = {"something", "void", "bool", "int", "uint", "float"};

struct Word {
  std::string_view name;
  std::string_view signature;  // the result, then the parameters: f, i, u, b, v (nothing), and ? for any
};

constexpr std::array words{
    Word{"GLOBAL_ID", "u?"},
    Word{"LOCAL_ID", "u?"},
    Word{"GROUP_ID", "u?"},
    Word{"GROUP_SIZE", "u?"},
    Word{"GROUP_COUNT", "u?"},
    Word{"BARRIER", "v"},
    Word{"F32", "f?"},
    Word{"I32", "i?"},
    Word{"U32", "u?"},
    Word{"AS_F32", "f?"},
    Word{"AS_I32", "i?"},
    Word{"AS_U32", "u?"},
    Word{"FMA", "ffff"},
    Word{"MIN", "fff"},
    Word{"MAX", "fff"},
    Word{"ABS", "ff"},
    Word{"CLAMP", "ffff"},
    Word{"IMIN", "iii"},
    Word{"IMAX", "iii"},
    Word{"UMIN", "uuu"},
    Word{"UMAX", "uuu"},
    Word{"SQRT", "ff"},
    Word{"RSQRT", "ff"},
    Word{"EXP", "ff"},
    Word{"EXP2", "ff"},
    Word{"LOG", "ff"},
    Word{"LOG2", "ff"},
    Word{"SIN", "ff"},
    Word{"COS", "ff"},
    Word{"TAN", "ff"},
    Word{"TANH", "ff"},
    Word{"ASIN", "ff"},
    Word{"ACOS", "ff"},
    Word{"ATAN", "ff"},
    Word{"ATAN2", "fff"},
    Word{"POW", "fff"},
    Word{"FLOOR", "ff"},
    Word{"CEIL", "ff"},
    Word{"ROUND", "ff"},
    Word{"TRUNC", "ff"},
    Word{"SIGN", "ff"},
    Word{"IS_NAN", "bf"},
    Word{"I32_SATURATED", "if"},
    Word{"U32_SATURATED", "uf"},
    Word{"POPCOUNT", "u?"},
    Word{"LEADING_ZEROS", "u?"},
    Word{"DOT4_I8", "iuui"},
    Word{"F16_TO_F32", "fu"},
    Word{"F32_TO_F16", "uf"},
    Word{"BF16_TO_F32", "fu"},
    Word{"F32_TO_BF16", "uf"},
    Word{"I8_LANE", "iuu"},
    Word{"ATOMIC_ADD_U32", "u?uu"},
    Word{"ATOMIC_ADD_I32", "i?ui"},
    Word{"ATOMIC_MIN_U32", "u?uu"},
    Word{"ATOMIC_MIN_I32", "i?ui"},
    Word{"ATOMIC_MAX_U32", "u?uu"},
    Word{"ATOMIC_MAX_I32", "i?ui"},
    Word{"ATOMIC_OR_U32", "u?uu"},
};

ValueType type_of_letter(char letter) noexcept {
  switch (letter) {
    case 'f':
      return ValueType::f32;
    case 'i':
      return ValueType::i32;
    case 'u':
      return ValueType::u32;
    case 'b':
      return ValueType::boolean;
    case 'v':
      return ValueType::none;
    default:
      return ValueType::unknown;
  }
}

Signature parse(std::string_view letters) {
  Signature signature{type_of_letter(letters[0]), {}};
  for (const char letter : letters.substr(1)) signature.parameters.push_back(type_of_letter(letter));
  return signature;
}

}  // namespace

std::string_view name(ValueType type) noexcept { return type_names[static_cast<std::size_t>(type)]; }

ValueType value_type_named(std::string_view text) noexcept {
  const auto* const found = std::find(type_names.begin() + 1, type_names.end(), text);
  return found == type_names.end() ? ValueType::unknown : static_cast<ValueType>(found - type_names.begin());
}

ValueType loaded(DType element) noexcept {
  switch (element) {
    case DType::int32:
    case DType::int8:
      return ValueType::i32;
    case DType::uint32:
      return ValueType::u32;
    default:
      return ValueType::f32;
  }
}

std::optional<Signature> signature_of_word(const KernelSource& source, std::string_view word) {
  const auto* const found = std::ranges::find(words, word, &Word::name);
  if (found != words.end()) return parse(found->signature);
  constexpr auto u32 = ValueType::u32;
  for (const BufferParameter& buffer : source.buffers) {
    if (!word.ends_with(buffer.name)) continue;
    const std::string_view kind = word.substr(0, word.size() - buffer.name.size());
    const ValueType value = loaded(buffer.element);
    if (kind == "LOAD_") return Signature{value, {u32}};
    if (kind == "STORE_") return Signature{ValueType::none, {u32, value}};
    if (kind == "WORD_" || kind == "OLD_WORD_") return Signature{u32, {u32}};
    if (kind == "STORE_WORD_") return Signature{ValueType::none, {u32, u32}};
    if (kind == "INSERT_") return Signature{u32, {u32, u32, value}};
  }
  return std::nullopt;
}

}  // namespace vectis::inline v0_1::detail
