#include "kernel/lint/builtins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace vectis::inline v0_1::detail {

namespace {

using NameList = std::span<const std::string_view>;

bool holds(NameList names, std::string_view name) noexcept { return std::ranges::find(names, name) != names.end(); }

constexpr std::array<std::string_view, 40> foreign_types = {
    "half",     "double",   "long",      "ulong",     "short",    "ushort",    "char",      "uchar",
    "unsigned", "signed",   "size_t",    "ptrdiff_t", "intptr_t", "int8_t",    "uint8_t",   "int16_t",
    "uint16_t", "int32_t",  "uint32_t",  "int64_t",   "uint64_t", "float16_t", "float32_t", "float64_t",
    "auto",     "__half",   "_Float16",  "__fp16",    "bfloat",   "fixed",     "wchar_t",   "char8_t",
    "char16_t", "char32_t", "uintptr_t", "ssize_t",   "__int128", "bfloat16",  "float16",   "float64"};

constexpr std::array<std::string_view, 14> structure_words = {"struct", "union",    "class",     "enum",     "typedef",
                                                              "using",  "template", "namespace", "typename", "this",
                                                              "new",    "delete",   "operator",  "friend"};

constexpr std::array<std::string_view, 6> static_words = {"static", "constant", "__constant",
                                                          "extern", "register", "volatile"};

constexpr std::array<std::string_view, 5> shared_words = {"__local", "local", "shared", "__shared__", "groupshared"};

constexpr std::array<std::string_view, 6> jump_words = {"goto", "asm", "discard", "throw", "try", "catch"};

constexpr std::array<std::string_view, 4> cast_words = {"static_cast", "reinterpret_cast", "const_cast",
                                                        "dynamic_cast"};

// Keywords of one dialect that another would take as a name.
constexpr std::array<std::string_view, 78> keywords = {
    "in",        "out",       "inout",     "input",     "output",    "sample",     "filter",    "common",
    "partition", "active",    "buffer",    "texture",   "kernel",    "global",     "private",   "__kernel",
    "__global",  "__private", "flat",      "smooth",    "centroid",  "precise",    "highp",     "lowp",
    "mediump",   "packed",    "resource",  "cast",      "interface", "external",   "noinline",  "public",
    "protected", "superp",    "patch",     "varying",   "attribute", "uniform",    "coherent",  "restrict",
    "readonly",  "writeonly", "layout",    "precision", "invariant", "subroutine", "mutable",   "explicit",
    "virtual",   "export",    "constexpr", "consteval", "constinit", "concept",    "requires",  "nullptr",
    "noexcept",  "decltype",  "typeid",    "alignas",   "alignof",   "co_await",   "co_return", "co_yield",
    "and",       "or",        "not",       "xor",       "bitand",    "bitor",      "compl",     "noperspective",
    "inline",    "pipe",      "event_t",   "sampler_t", "NULL",      "vec"};

struct Replacement {
  std::string_view name;
  std::string_view word;
};

// Functions and constants of a dialect, and the word that every dialect has for it.
constexpr std::array<Replacement, 88> replacements = {{
    {"min", "MIN, IMIN or UMIN"},
    {"max", "MAX, IMAX or UMAX"},
    {"fmin", "MIN"},
    {"fmax", "MAX"},
    {"fminf", "MIN"},
    {"fmaxf", "MAX"},
    {"abs", "ABS"},
    {"fabs", "ABS"},
    {"fabsf", "ABS"},
    {"clamp", "CLAMP"},
    {"fma", "FMA"},
    {"fmaf", "FMA"},
    {"mad", "FMA, or a * b + c"},
    {"mad24", "a * b + c"},
    {"mul24", "a * b"},
    {"sqrt", "SQRT"},
    {"sqrtf", "SQRT"},
    {"rsqrt", "RSQRT"},
    {"rsqrtf", "RSQRT"},
    {"inversesqrt", "RSQRT"},
    {"exp", "EXP"},
    {"expf", "EXP"},
    {"exp2", "EXP2"},
    {"exp2f", "EXP2"},
    {"log", "LOG"},
    {"logf", "LOG"},
    {"log2", "LOG2"},
    {"log2f", "LOG2"},
    {"sin", "SIN"},
    {"sinf", "SIN"},
    {"cos", "COS"},
    {"cosf", "COS"},
    {"tan", "TAN"},
    {"tanf", "TAN"},
    {"tanh", "TANH"},
    {"tanhf", "TANH"},
    {"asin", "ASIN"},
    {"asinf", "ASIN"},
    {"acos", "ACOS"},
    {"acosf", "ACOS"},
    {"atan", "ATAN"},
    {"atanf", "ATAN"},
    {"atan2", "ATAN2"},
    {"atan2f", "ATAN2"},
    {"pow", "POW"},
    {"powf", "POW"},
    {"floor", "FLOOR"},
    {"floorf", "FLOOR"},
    {"ceil", "CEIL"},
    {"ceilf", "CEIL"},
    {"rint", "ROUND"},
    {"rintf", "ROUND"},
    {"round", "ROUND"},
    {"roundf", "ROUND"},
    {"roundEven", "ROUND"},
    {"trunc", "TRUNC"},
    {"truncf", "TRUNC"},
    {"sign", "SIGN"},
    {"isnan", "IS_NAN"},
    {"INFINITY", "F32_INFINITY"},
    {"NAN", "F32_NAN"},
    {"FLT_MAX", "3.402823466e38f"},
    {"as_float", "AS_F32"},
    {"as_int", "AS_I32"},
    {"as_uint", "AS_U32"},
    {"uintBitsToFloat", "AS_F32"},
    {"floatBitsToUint", "AS_U32"},
    {"barrier", "BARRIER()"},
    {"__syncthreads", "BARRIER()"},
    {"get_global_id", "GLOBAL_ID"},
    {"get_local_id", "LOCAL_ID"},
    {"get_group_id", "GROUP_ID"},
    {"get_local_size", "GROUP_SIZE"},
    {"get_num_groups", "GROUP_COUNT"},
    {"threadIdx", "LOCAL_ID"},
    {"blockIdx", "GROUP_ID"},
    {"blockDim", "GROUP_SIZE"},
    {"gridDim", "GROUP_COUNT"},
    {"popcount", "POPCOUNT"},
    {"clz", "LEADING_ZEROS"},
    {"atomic_add", "ATOMIC_ADD_U32 or ATOMIC_ADD_I32"},
    {"atomicAdd", "ATOMIC_ADD_U32 or ATOMIC_ADD_I32"},
    {"atomic_max", "ATOMIC_MAX_U32 or ATOMIC_MAX_I32"},
    {"atomicMax", "ATOMIC_MAX_U32 or ATOMIC_MAX_I32"},
    {"atomic_min", "ATOMIC_MIN_U32 or ATOMIC_MIN_I32"},
    {"atomicMin", "ATOMIC_MIN_U32 or ATOMIC_MIN_I32"},
    {"sizeof", "the number"},
    {"printf", "nothing"},
}};

bool all_of(std::string_view text, std::string_view allowed) noexcept {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

// float4, uint2, vec3, ivec2, mat4, mat2x3, dim3.
bool is_vector(std::string_view identifier) noexcept {
  if (identifier == "dim3") return true;
  for (const std::string_view base :
       {"float", "int", "uint", "half", "double", "char", "uchar", "short", "ushort", "long", "ulong", "bool"}) {
    if (!identifier.starts_with(base)) continue;
    const std::string_view count = identifier.substr(base.size());
    if (count == "2" || count == "3" || count == "4" || count == "8" || count == "16") return true;
  }
  if (identifier.starts_with("mat")) return all_of(identifier.substr(3), "x234") && identifier.size() <= 6;
  const std::size_t letters = identifier.starts_with("vec") ? 3 : 4;
  const bool vector = letters == 3 || (identifier.size() > 4 && identifier.substr(1, 3) == "vec" &&
                                       std::string_view("biuhdf").find(identifier[0]) != std::string_view::npos);
  return vector && identifier.size() == letters + 1 && all_of(identifier.substr(letters), "234");
}

}  // namespace

bool is_value_type(std::string_view identifier) noexcept {
  return identifier == "float" || identifier == "int" || identifier == "uint" || identifier == "bool";
}

IdentifierVerdict judge_identifier(std::string_view identifier) {
  if (holds(foreign_types, identifier)) {
    return {"type", "not every device has this type; use float, int, uint or bool"};
  }
  if (is_vector(identifier)) return {"vector", "use scalars, or a small array such as float v[4]"};
  if (holds(structure_words, identifier)) return {"struct", "use scalars and arrays of them"};
  if (holds(static_words, identifier)) return {"static", "compute the value, or pass a table as a buffer"};
  if (holds(shared_words, identifier)) return {"shared", "list the array in KernelSource::shared"};
  if (holds(jump_words, identifier)) return {"jump", "use if, for, while, break, continue and return"};
  if (holds(cast_words, identifier)) return {"cast", "use F32(x), I32(x), U32(x), or AS_F32 and its like for bits"};
  if (holds(keywords, identifier)) return {"reserved", "a keyword in one of the dialects; choose another name"};
  const auto* const found = std::ranges::find(replacements, identifier, &Replacement::name);
  if (found != replacements.end()) return {"function", fmt::format("use {}", found->word)};
  if (identifier.starts_with("vt_") || identifier.starts_with("vti_") || identifier.starts_with("gl_") ||
      identifier.starts_with("VTI_")) {
    return {"name", "this beginning is taken; choose another name"};
  }
  if (identifier.starts_with("native_")) {
    return {"function", "functions that trade accuracy are not in the subset"};
  }
  if (identifier.find("__") != std::string_view::npos) {
    return {"name", "two underscores in a row are reserved; choose another name"};
  }
  return {};
}

std::string judge_name(std::string_view name) {
  const bool begins_well = !name.empty() && (name[0] < '0' || name[0] > '9');
  if (!begins_well || !all_of(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")) {
    return "a name has letters, digits and underscores, and does not begin with a digit";
  }
  const IdentifierVerdict verdict = judge_identifier(name);
  // A parameter may share its name with a function: inside the kernel it hides it.
  if (!verdict.rule.empty()) return verdict.advice;
  if (is_value_type(name) || name == "void" || name == "const" || name == "main") return "this is a keyword";
  return {};
}

namespace {

constexpr std::array<std::string_view, 6> type_names = {"something", "void", "bool", "int", "uint", "float"};

struct Builtin {
  std::string_view name;
  std::string_view signature;  // the result, then the parameters: f, i, u, b, v (nothing), and ? for any
};

constexpr std::array builtins{
    Builtin{"GLOBAL_ID", "u?"},
    Builtin{"LOCAL_ID", "u?"},
    Builtin{"GROUP_ID", "u?"},
    Builtin{"GROUP_SIZE", "u?"},
    Builtin{"GROUP_COUNT", "u?"},
    Builtin{"BARRIER", "v"},
    Builtin{"UNIFORM_LOAD", "??u"},
    Builtin{"F32", "f?"},
    Builtin{"I32", "i?"},
    Builtin{"U32", "u?"},
    Builtin{"AS_F32", "f?"},
    Builtin{"AS_I32", "i?"},
    Builtin{"AS_U32", "u?"},
    Builtin{"FMA", "ffff"},
    Builtin{"MIN", "fff"},
    Builtin{"MAX", "fff"},
    Builtin{"ABS", "ff"},
    Builtin{"CLAMP", "ffff"},
    Builtin{"IMIN", "iii"},
    Builtin{"IMAX", "iii"},
    Builtin{"UMIN", "uuu"},
    Builtin{"UMAX", "uuu"},
    Builtin{"SQRT", "ff"},
    Builtin{"RSQRT", "ff"},
    Builtin{"EXP", "ff"},
    Builtin{"EXP2", "ff"},
    Builtin{"LOG", "ff"},
    Builtin{"LOG2", "ff"},
    Builtin{"SIN", "ff"},
    Builtin{"COS", "ff"},
    Builtin{"TAN", "ff"},
    Builtin{"TANH", "ff"},
    Builtin{"ASIN", "ff"},
    Builtin{"ACOS", "ff"},
    Builtin{"ATAN", "ff"},
    Builtin{"ATAN2", "fff"},
    Builtin{"POW", "fff"},
    Builtin{"FLOOR", "ff"},
    Builtin{"CEIL", "ff"},
    Builtin{"ROUND", "ff"},
    Builtin{"TRUNC", "ff"},
    Builtin{"SIGN", "ff"},
    Builtin{"IS_NAN", "bf"},
    Builtin{"I32_SATURATED", "if"},
    Builtin{"U32_SATURATED", "uf"},
    Builtin{"POPCOUNT", "u?"},
    Builtin{"LEADING_ZEROS", "u?"},
    Builtin{"DOT4_I8", "iuui"},
    Builtin{"F16_TO_F32", "fu"},
    Builtin{"F32_TO_F16", "uf"},
    Builtin{"BF16_TO_F32", "fu"},
    Builtin{"F32_TO_BF16", "uf"},
    Builtin{"I8_LANE", "iuu"},
    Builtin{"ATOMIC_ADD_U32", "u?uu"},
    Builtin{"ATOMIC_ADD_I32", "i?ui"},
    Builtin{"ATOMIC_MIN_U32", "u?uu"},
    Builtin{"ATOMIC_MIN_I32", "i?ui"},
    Builtin{"ATOMIC_MAX_U32", "u?uu"},
    Builtin{"ATOMIC_MAX_I32", "i?ui"},
    Builtin{"ATOMIC_OR_U32", "u?uu"},
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

std::optional<Signature> builtin_signature(const KernelSource& source, std::string_view word) {
  const auto* const found = std::ranges::find(builtins, word, &Builtin::name);
  if (found != builtins.end()) return parse(found->signature);
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
