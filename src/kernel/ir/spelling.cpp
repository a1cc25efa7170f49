#include "kernel/ir/spelling.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernel/ir/scalar_ops.hpp"

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

// In CUDA, arithmetic intrinsics with explicit rounding are never contracted into a fused multiply-add, regardless of
// compiler options. HIP's intrinsics of these names may be; a pragma forbids it there.
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

// pow, atan2, tanh, rem and erf are helper functions: those of GLSL and WGSL are undefined for some operands, or
// missing.
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
                    // unsigned, since naga treats findMSB as unsigned
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

Spelling make(Dialect dialect) {
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

std::string Spelling::as(DType from, DType to, std::string_view x) const {
  if (from == to) return std::string(x);
  return fmt::format("{}({})", bits[value_type_index(from)][value_type_index(to)], x);
}

std::string Spelling::declare(DType of, std::string_view name, bool changes) const {
  if (lets) return fmt::format("{} {}: {}", changes ? "var" : "let", name, type(of));
  const bool precise =
      dialect == Dialect::glsl_vulkan && of == DType::float32;  // no contraction into a fused multiply-add
  return fmt::format("{}{} {}", precise ? "precise " : "", type(of), name);
}

std::string Spelling::constant(DType of, std::uint32_t value) const {
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
  // WGSL rejects constant expressions that are infinite or NaN, so the bits go through a variable.
  const auto number = std::bit_cast<float>(value);
  const bool hidden = lets && !std::isfinite(number);
  return fmt::format("{} /* {} */",
                     as(DType::uint32, DType::float32, fmt::format("{:#010x}u{}", value, hidden ? " | vti_zero" : "")),
                     number);
}

std::string Spelling::choose(std::string_view condition, std::string_view yes, std::string_view no) const {
  if (lets) return fmt::format("select({}, {}, {})", no, yes, condition);
  return fmt::format("({} ? {} : {})", condition, yes, no);
}

const Spelling& spelling_of(Dialect dialect) {
  static const std::array table = {make(Dialect::opencl_c),    make(Dialect::cuda),        make(Dialect::hip),
                                   make(Dialect::glsl_vulkan), make(Dialect::glsl_webgpu), make(Dialect::wgsl)};
  return table[static_cast<std::size_t>(dialect)];
}

namespace {

struct Parameter {
  DType type;
  std::string_view name;
};

// The body is a template for all dialects with these placeholders:
//   "%f x" declares a variable (f, i, u, b: its type)     "@f32(", "@i32(", "@u32(" convert by value
//   "@u_f(" reinterprets a float as uint (to_from)        "@select(no, yes, condition)" selects
//   "@exp(" is the native function of an operation        "#near x#" and "#far x#" are the polynomials of erf
// Parameters are never assigned to.
struct Helper {
  std::string_view name;
  DType result;
  std::vector<Parameter> parameters;
  std::vector<std::string_view> calls;
  std::string_view body;
};

using enum DType;

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> list = {
      {"vti_nan", boolean, {{float32, "x"}}, {}, "  return (@u_f(x) & 0x7fffffffu) > 0x7f800000u;\n"},
      {"vti_min", float32, {{float32, "a"}, {float32, "b"}}, {"vti_nan"}, R"(  if (vti_nan(a)) { return b; }
  if (vti_nan(b)) { return a; }
  return @select(a, b, b < a);
)"},
      {"vti_max", float32, {{float32, "a"}, {float32, "b"}}, {"vti_nan"}, R"(  if (vti_nan(a)) { return b; }
  if (vti_nan(b)) { return a; }
  return @select(a, b, b > a);
)"},
      {"vti_sign", float32, {{float32, "x"}}, {"vti_nan"}, R"(  if (vti_nan(x) || x == 0.0f) { return 0.0f; }
  return @select(1.0f, -1.0f, x < 0.0f);
)"},
      // Divisors that would trap or overflow are replaced, and the quotient is corrected afterwards.
      {"vti_div_u32", uint32, {{uint32, "a"}, {uint32, "b"}}, {}, R"(  %u divisor = @select(b, 1u, b == 0u);
  return @select(a / divisor, 0u, b == 0u);
)"},
      {"vti_rem_u32", uint32, {{uint32, "a"}, {uint32, "b"}}, {}, R"(  %u divisor = @select(b, 1u, b == 0u);
  return a % divisor;
)"},
      // Division by -1 is a negation by subtraction, which wraps.
      {"vti_div_i32", int32, {{int32, "a"}, {int32, "b"}}, {}, R"(  if (b == 0) { return 0; }
  if (b == -1) { return @i_u(0u - @u_i(a)); }
  return a / b;
)"},
      {"vti_rem_i32", int32, {{int32, "a"}, {int32, "b"}}, {}, R"(  if (b == 0 || b == -1) { return 0; }
  return a % b;
)"},
      {"vti_f32_to_i32", int32, {{float32, "x"}}, {"vti_nan"}, R"(  if (vti_nan(x)) { return 0; }
  if (x >= 2147483648.0f) { return 2147483647; }
  if (x < -2147483648.0f) { return @i_u(0x80000000u); }
  return @i32(x);
)"},
      {"vti_f32_to_u32", uint32, {{float32, "x"}}, {"vti_nan"}, R"(  if (vti_nan(x)) { return 0u; }
  if (x >= 4294967296.0f) { return 0xffffffffu; }
  if (x < 0.0f) { return 0u; }
  return @u32(x);
)"},
      {"vti_mix", uint32, {{uint32, "x"}}, {}, R"(  %u y = (x ^ (x >> 16u)) * 0x7feb352du;
  y = (y ^ (y >> 15u)) * 0x846ca68bu;
  return y ^ (y >> 16u);
)"},
      {"vti_random",
       uint32,
       {{uint32, "key"}, {uint32, "counter"}},
       {"vti_mix"},
       R"(  %u first = vti_mix(counter ^ vti_mix(key + 0x9e3779b9u));
  return vti_mix(first + key) + first;
)"},
      // A subnormal half is a multiple of 2^-24, which is exact as a float.
      {"vti_from_f16", float32, {{uint32, "bits"}}, {}, R"(  %u sign = (bits & 0x8000u) << 16u;
  %u magnitude = bits & 0x7fffu;
  %u wide = magnitude << 13u;
  %u small = @u_f(@f32(magnitude) * 0.000000059604644775390625f);
  %u finite = @select(wide + 0x38000000u, small, magnitude < 0x0400u);
  return @f_u(sign | @select(finite, wide | 0x7f800000u, magnitude >= 0x7c00u));
)"},
      // Rounds to nearest, ties to even. `small` is the multiple of 2^-24 for results that are subnormal halves.
      {"vti_to_f16", uint32, {{float32, "x"}}, {}, R"(  %u bits = @u_f(x);
  %u sign = (bits >> 16u) & 0x8000u;
  %u magnitude = bits & 0x7fffffffu;
  %u exponent = magnitude >> 23u;
  %u normal = ((magnitude + 0x0fffu + ((magnitude >> 13u) & 1u)) >> 13u) - 0x1c000u;
  normal = @select(normal, 0x7c00u, normal > 0x7c00u);
  %u shift = @select(126u - exponent, 14u, exponent > 112u);
  shift = @select(shift, 25u, shift > 25u);
  %u digits = (magnitude & 0x7fffffu) | 0x800000u;
  %u small = digits >> shift;
  %u rest = digits - (small << shift);
  %u tie = 1u << (shift - 1u);
  small = small + @select(0u, 1u, (rest > tie) || ((rest == tie) && ((small & 1u) == 1u)));
  %u finite = @select(normal, small, exponent < 113u);
  return sign | @select(finite, 0x7e00u, magnitude > 0x7f800000u);
)"},
      {"vti_to_bf16", uint32, {{float32, "x"}}, {}, R"(  %u bits = @u_f(x);
  %u rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
  return @select(rounded, (bits >> 16u) | 0x40u, (bits & 0x7fffffffu) > 0x7f800000u);
)"},
      {"vti_to_i8", uint32, {{int32, "x"}}, {}, R"(  %i high = @select(x, 127, x > 127);
  %i both = @select(high, -128, high < -128);
  return @u_i(both) & 0xffu;
)"},
      {"vti_erf", float32, {{float32, "x"}}, {"vti_nan"}, R"(  if (vti_nan(x)) { return x; }
  %f t = @abs(x);
  if (t < 1.0f) {
    %f square = x * x;
    return x * #near square#;
  }
  t = @select(t, 4.0f, t > 4.0f);
  %f far = 1.0f - @exp(-(t * #far t#));
  return @select(far, -far, x < 0.0f);
)"},
      {"vti_tanh", float32, {{float32, "x"}}, {"vti_nan"}, R"(  if (vti_nan(x)) { return x; }
  %f t = @abs(x);
  if (t < 0.0004f) { return x; }
  t = @select(t, 10.0f, t > 10.0f);
  %f e = @exp(2.0f * t);
  %f positive = (e - 1.0f) / (e + 1.0f);
  if (t < 0.25f) {
    %f s = t * t;
    positive = t + (t * s) * (-0.333333333f + s * (0.133333333f + s * (-0.0539682540f + s * 0.0218694885f)));
  }
  return @select(positive, -positive, x < 0.0f);
)"},
      // Mesa's software drivers return zero for NaN.
      {"vti_atan", float32, {{float32, "x"}}, {"vti_nan"}, R"(  if (vti_nan(x)) { return x; }
  return @atan(x);
)"},
      {"vti_atan2", float32, {{float32, "y"}, {float32, "x"}}, {"vti_nan"}, R"(  if (vti_nan(x)) { return x; }
  if (vti_nan(y)) { return y; }
  %b left = (@u_f(x) >> 31u) == 1u;
  %b below = (@u_f(y) >> 31u) == 1u;
  %f ax = @abs(x);
  %f ay = @abs(y);
  %f angle = 0.785398163f;
  if (ax != ay) {
    if (ax > ay) { angle = @atan(ay / ax); } else { angle = 1.57079633f - @atan(ax / ay); }
  } else if (ax == 0.0f) {
    angle = 0.0f;
  }
  angle = @select(angle, 3.14159265f - angle, left);
  return @select(angle, -angle, below);
)"},
      // exp2(y * log2(x)), so that large results have the errors of both; special cases as in C.
      {"vti_pow",
       float32,
       {{float32, "x"}, {float32, "y"}},
       {"vti_nan"},
       R"(  if (y == 0.0f || x == 1.0f) { return 1.0f; }
  if (vti_nan(x)) { return x; }
  if (vti_nan(y)) { return y; }
  %f ax = @abs(x);
  %f ay = @abs(y);
  %u infinite = 0x7f800000u;
  %b whole = (ay >= 8388608.0f) || (@floor(ay) == ay);
  %b odd = whole && (ay < 16777216.0f) && ((@u32(@select(ay, 0.0f, ay >= 16777216.0f)) & 1u) == 1u);
  %b negative = ((@u_f(x) >> 31u) == 1u) && odd;
  %b grows = (ax > 1.0f) == (y > 0.0f);
  %f size = 1.0f;
  if (ax != 1.0f) {
    if (ax == 0.0f || @u_f(ax) == infinite || @u_f(ay) == infinite) {
      size = @f_u(@select(0u, infinite, grows));
    } else {
      size = @exp2(y * @log2(ax));
    }
  }
  if (x < 0.0f && !whole && @u_f(ax) != infinite) { return @f_u(infinite | 0x400000u); }
  return @select(size, -size, negative);
)"},
      // Exact long division, 8 bits of the quotient at a time.
      {"vti_rem", float32, {{float32, "a"}, {float32, "b"}}, {}, R"(  %u ua = @u_f(a) & 0x7fffffffu;
  %u ub = @u_f(b) & 0x7fffffffu;
  if (ua >= 0x7f800000u || ub > 0x7f800000u || ub == 0u) { return @f_u(@u_f(b) | 0x7fc00000u); }
  if (ua < ub) { return a; }
  %u ea = @select(ua >> 23u, 1u, (ua >> 23u) == 0u);
  %u eb = @select(ub >> 23u, 1u, (ub >> 23u) == 0u);
  %u rest = @select((ua & 0x7fffffu) | 0x800000u, ua, (ua >> 23u) == 0u);
  %u divisor = @select((ub & 0x7fffffu) | 0x800000u, ub, (ub >> 23u) == 0u);
  %u left = ea - eb;
  rest = rest % divisor;
  while (left > 0u) {
    %u step = @select(left, 8u, left > 8u);
    rest = (rest << step) % divisor;
    left = left - step;
  }
  %u sign = @u_f(a) & 0x80000000u;
  if (rest == 0u) { return @f_u(sign); }
  while (rest < 0x800000u && eb > 1u) {
    rest = rest << 1u;
    eb = eb - 1u;
  }
  %u exponent = @select(eb << 23u, 0u, rest < 0x800000u);
  return @f_u(sign | exponent | (rest & 0x7fffffu));
)"},
  };
  return list;
}

const Helper& find(std::string_view name) {
  for (const Helper& helper : helpers()) {
    if (helper.name == name) return helper;
  }
  return helpers().front();
}

std::optional<DType> type_of(char letter) {
  switch (letter) {
    case 'f':
      return float32;
    case 'i':
      return int32;
    case 'u':
      return uint32;
    case 'b':
      return boolean;
    default:
      return std::nullopt;
  }
}

// "(c0 + x * (c1 + x * ...))"
std::string polynomial(std::span<const float> coefficients, std::string_view x, const Spelling& spelling) {
  std::string text = spelling.constant(float32, std::bit_cast<std::uint32_t>(coefficients.back()));
  for (std::size_t i = coefficients.size() - 1; i-- > 0;)
    text = fmt::format("({} + {} * {})", spelling.constant(float32, std::bit_cast<std::uint32_t>(coefficients[i])), x,
                       text);
  return text;
}

std::string_view native(std::string_view mark, const Spelling& spelling) {
  if (mark == "select") return spelling.lets ? "select" : "VT_SELECT";
  if (mark.size() == 3 && mark[1] == '_') {
    const auto to = type_of(mark[0]);
    const auto from = type_of(mark[2]);
    return spelling.bits[value_type_index(*from)][value_type_index(*to)];
  }
  for (const DType type : {float32, int32, uint32}) {
    if (mark == short_name(type)) return spelling.cast(type);
  }
  for (const Op op : {Op::abs, Op::exp, Op::exp2, Op::log2, Op::atan, Op::floor}) {
    if (mark == name(op)) return spelling.function(op);
  }
  return mark;
}

bool is_word(char one) { return (one >= 'a' && one <= 'z') || (one >= '0' && one <= '9') || one == '_'; }

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string translate(std::string_view body, const Spelling& spelling) {
  std::string text;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const char one = body[at];
    const auto declared = one == '%' ? type_of(body[at + 1]) : std::nullopt;
    if (declared) {
      const std::string_view variable = word_at(body, at + 3);
      text += spelling.declare(*declared, variable, true);
      at += 2 + variable.size();
    } else if (one == '@') {
      const std::string_view mark = word_at(body, at + 1);
      text += native(mark, spelling);
      at += mark.size();
    } else if (one == '#') {
      const std::size_t end = body.find('#', at + 1);
      const std::string_view kind = word_at(body, at + 1);
      const std::string_view x = word_at(body, at + 2 + kind.size());
      text += kind == "near" ? polynomial(erf_near, x, spelling) : polynomial(erf_far, x, spelling);
      at = end;
    } else {
      text += one;
    }
  }
  return text;
}

std::string print_helper(const Helper& helper, const Spelling& spelling) {
  std::string parameters;
  for (const Parameter& parameter : helper.parameters) {
    parameters += parameters.empty() ? "" : ", ";
    parameters += spelling.lets ? fmt::format("{}: {}", parameter.name, spelling.type(parameter.type))
                                : fmt::format("{} {}", spelling.type(parameter.type), parameter.name);
  }
  const std::string head =
      spelling.lets
          ? fmt::format("fn {}({}) -> {}", helper.name, parameters, spelling.type(helper.result))
          : fmt::format("{}{} {}({})", spelling.function_prefix, spelling.type(helper.result), helper.name, parameters);
  return fmt::format("{} {{\n{}}}\n", head, translate(helper.body, spelling));
}

}  // namespace

std::string print_helpers(const std::set<std::string_view>& names, const Spelling& spelling) {
  std::set<std::string_view> wanted = names;
  for (const std::string_view name : names) {
    for (const std::string_view callee : find(name).calls) wanted.insert(callee);
  }
  std::string text;
  for (const Helper& helper : helpers()) {
    if (wanted.contains(helper.name)) text += print_helper(helper, spelling);
  }
  return text;
}

}  // namespace vectis::inline v0_1::ir
