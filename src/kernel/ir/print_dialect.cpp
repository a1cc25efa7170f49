#include "kernel/ir/print_dialect.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace vectis::inline v0_1::ir {

namespace {

using Functions = std::array<std::string_view, op_count>;
using Bits = std::array<std::array<std::string_view, 3>, 3>;

Functions functions(std::initializer_list<std::pair<Op, std::string_view>> list) {
  Functions table{};
  for (const auto& [op, text] : list) table[static_cast<std::size_t>(op)] = text;
  return table;
}

Functions opencl_functions() {
  return functions({{Op::abs, "fabs"},         {Op::rem, "fmod"},    {Op::fma, "fma"},     {Op::sqrt, "sqrt"},
                    {Op::rsqrt, "rsqrt"},      {Op::exp, "exp"},     {Op::exp2, "exp2"},   {Op::log, "log"},
                    {Op::log2, "log2"},        {Op::sin, "sin"},     {Op::cos, "cos"},     {Op::tan, "tan"},
                    {Op::tanh, "tanh"},        {Op::asin, "asin"},   {Op::acos, "acos"},   {Op::atan, "atan"},
                    {Op::pow, "pow"},          {Op::atan2, "atan2"}, {Op::floor, "floor"}, {Op::ceil, "ceil"},
                    {Op::round, "rint"},       {Op::trunc, "trunc"}, {Op::erf, "erf"},     {Op::popcount, "popcount"},
                    {Op::leading_zeros, "clz"}});
}

// CUDA: arithmetic with a stated rounding is never contracted into a fused multiply-add, whatever the options. HIP's
// functions of these names may be; there a pragma forbids it.
Functions cuda_functions(bool hip) {
  return functions({{Op::add, hip ? "" : "__fadd_rn"},
                    {Op::sub, hip ? "" : "__fsub_rn"},
                    {Op::mul, hip ? "" : "__fmul_rn"},
                    {Op::abs, "fabsf"},
                    {Op::rem, "fmodf"},
                    {Op::fma, "fmaf"},
                    {Op::sqrt, "sqrtf"},
                    {Op::rsqrt, "rsqrtf"},
                    {Op::exp, "expf"},
                    {Op::exp2, "exp2f"},
                    {Op::log, "logf"},
                    {Op::log2, "log2f"},
                    {Op::sin, "sinf"},
                    {Op::cos, "cosf"},
                    {Op::tan, "tanf"},
                    {Op::tanh, "tanhf"},
                    {Op::asin, "asinf"},
                    {Op::acos, "acosf"},
                    {Op::atan, "atanf"},
                    {Op::pow, "powf"},
                    {Op::atan2, "atan2f"},
                    {Op::floor, "floorf"},
                    {Op::ceil, "ceilf"},
                    {Op::round, "rintf"},
                    {Op::trunc, "truncf"},
                    {Op::erf, "erff"},
                    {Op::popcount, "__popc"},
                    {Op::leading_zeros, "__clz"}});
}

// pow, atan2, tanh, rem and erf are helpers: what these languages have is undefined for some operands, or missing.
Functions shader_functions(bool wgsl) {
  return functions({{Op::abs, "abs"},
                    {Op::fma, "fma"},
                    {Op::sqrt, "sqrt"},
                    {Op::rsqrt, wgsl ? "inverseSqrt" : "inversesqrt"},
                    {Op::exp, "exp"},
                    {Op::exp2, "exp2"},
                    {Op::log, "log"},
                    {Op::log2, "log2"},
                    {Op::sin, "sin"},
                    {Op::cos, "cos"},
                    {Op::tan, "tan"},
                    {Op::asin, "asin"},
                    {Op::acos, "acos"},
                    {Op::atan, "atan"},
                    {Op::floor, "floor"},
                    {Op::ceil, "ceil"},
                    {Op::round, wgsl ? "round" : "roundEven"},
                    {Op::trunc, "trunc"},
                    {Op::popcount, wgsl ? "countOneBits" : "bitCount"},
                    // unsigned, because naga takes findMSB for unsigned
                    {Op::leading_zeros, wgsl ? "countLeadingZeros" : "31u - findMSB"}});
}

constexpr Bits opencl_bits = {{{"", "as_int", "as_uint"}, {"as_float", "", "as_uint"}, {"as_float", "as_int", ""}}};
constexpr Bits cuda_bits = {{{"", "__float_as_int", "__float_as_uint"},
                             {"__int_as_float", "", "(unsigned int)"},
                             {"__uint_as_float", "(int)", ""}}};
constexpr Bits glsl_bits = {
    {{"", "floatBitsToInt", "floatBitsToUint"}, {"intBitsToFloat", "", "uint"}, {"uintBitsToFloat", "int", ""}}};
constexpr Bits wgsl_bits = {
    {{"", "bitcast<i32>", "bitcast<u32>"}, {"bitcast<f32>", "", "bitcast<u32>"}, {"bitcast<f32>", "bitcast<i32>", ""}}};

Words make(Dialect dialect) {
  switch (dialect) {
    case Dialect::opencl_c:
      return {dialect,
              {"float", "int", "uint", "bool"},
              {"(float)", "(int)", "(uint)", "(bool)"},
              opencl_bits,
              opencl_functions(),
              "static "};
    case Dialect::cuda:
    case Dialect::hip:
      return {dialect,   {"float", "int", "unsigned int", "bool"}, {"(float)", "(int)", "(unsigned int)", "(bool)"},
              cuda_bits, cuda_functions(dialect == Dialect::hip),  "static __device__ "};
    case Dialect::glsl_vulkan:
    case Dialect::glsl_webgpu:
      return {dialect,   {"float", "int", "uint", "bool"}, {"float", "int", "uint", "bool"},
              glsl_bits, shader_functions(false),          "",
              false};
    case Dialect::wgsl:
      break;
  }
  return {Dialect::wgsl,
          {"f32", "i32", "u32", "bool"},
          {"f32", "i32", "u32", "bool"},
          wgsl_bits,
          shader_functions(true),
          "fn ",
          false,
          true};
}

}  // namespace

std::string Words::as(DType from, DType to, std::string_view x) const {
  if (from == to) return std::string(x);
  return fmt::format("{}({})", bits[value_type_index(from)][value_type_index(to)], x);
}

std::string Words::declare(DType of, std::string_view name, bool changes) const {
  if (lets) return fmt::format("{} {}: {}", changes ? "var" : "let", name, type(of));
  const bool precise =
      dialect == Dialect::glsl_vulkan && of == DType::float32;  // no fused multiply-add but where written
  return fmt::format("{}{} {}", precise ? "precise " : "", type(of), name);
}

std::string Words::constant(DType of, std::uint32_t value) const {
  switch (of) {
    case DType::boolean:
      return value == 0 ? "false" : "true";
    case DType::uint32:
      return fmt::format("{}u", value);
    case DType::int32: {
      const auto number = std::bit_cast<std::int32_t>(value);
      if (number >= 0) return fmt::format("{}", number);
      return as(DType::uint32, DType::int32, fmt::format("{:#010x}u", value));
    }
    default:
      break;
  }
  // WGSL refuses a constant expression that is infinite or NaN, so its bits come from a variable.
  const auto number = std::bit_cast<float>(value);
  const bool hidden = lets && !std::isfinite(number);
  return fmt::format("{} /* {} */",
                     as(DType::uint32, DType::float32, fmt::format("{:#010x}u{}", value, hidden ? " | vt_zero" : "")),
                     number);
}

std::string Words::choose(std::string_view condition, std::string_view yes, std::string_view no) const {
  if (lets) return fmt::format("select({}, {}, {})", no, yes, condition);
  return fmt::format("({} ? {} : {})", condition, yes, no);
}

const Words& words_of(Dialect dialect) {
  static const std::array table = {make(Dialect::opencl_c),    make(Dialect::cuda),        make(Dialect::hip),
                                   make(Dialect::glsl_vulkan), make(Dialect::glsl_webgpu), make(Dialect::wgsl)};
  return table[static_cast<std::size_t>(dialect)];
}

}  // namespace vectis::inline v0_1::ir
