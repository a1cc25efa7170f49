#include "kernel/ir/opcodes.hpp"

#include <algorithm>

namespace vectis::inline v0_1::ir {

namespace {

// The operand types an operation accepts.
enum class OperandTypes : std::uint8_t { none, arithmetic, real, integer, bitwise, comparable, select, key };

struct Row {
  Op op;
  std::string_view name;
  std::uint8_t operands;
  OpClass op_class;
  OperandTypes accepts_type;
};

using enum Op;

// In the order of Op.
constexpr std::array<Row, op_count> rows = {{
    {constant, "constant", 0, OpClass::leaf, OperandTypes::none},
    {input, "input", 0, OpClass::leaf, OperandTypes::none},
    {argument, "argument", 0, OpClass::leaf, OperandTypes::none},
    {index, "index", 0, OpClass::leaf, OperandTypes::none},
    {add, "add", 2, OpClass::plain, OperandTypes::arithmetic},
    {sub, "sub", 2, OpClass::plain, OperandTypes::arithmetic},
    {mul, "mul", 2, OpClass::plain, OperandTypes::arithmetic},
    {div, "div", 2, OpClass::plain, OperandTypes::arithmetic},
    {min, "min", 2, OpClass::plain, OperandTypes::arithmetic},
    {max, "max", 2, OpClass::plain, OperandTypes::arithmetic},
    {neg, "neg", 1, OpClass::plain, OperandTypes::arithmetic},
    {abs, "abs", 1, OpClass::plain, OperandTypes::arithmetic},
    {rem, "rem", 2, OpClass::plain, OperandTypes::arithmetic},
    {fma, "fma", 3, OpClass::plain, OperandTypes::real},
    {sqrt, "sqrt", 1, OpClass::plain, OperandTypes::real},
    {rsqrt, "rsqrt", 1, OpClass::plain, OperandTypes::real},
    {exp, "exp", 1, OpClass::plain, OperandTypes::real},
    {exp2, "exp2", 1, OpClass::plain, OperandTypes::real},
    {log, "log", 1, OpClass::plain, OperandTypes::real},
    {log2, "log2", 1, OpClass::plain, OperandTypes::real},
    {sin, "sin", 1, OpClass::plain, OperandTypes::real},
    {cos, "cos", 1, OpClass::plain, OperandTypes::real},
    {tan, "tan", 1, OpClass::plain, OperandTypes::real},
    {tanh, "tanh", 1, OpClass::plain, OperandTypes::real},
    {asin, "asin", 1, OpClass::plain, OperandTypes::real},
    {acos, "acos", 1, OpClass::plain, OperandTypes::real},
    {atan, "atan", 1, OpClass::plain, OperandTypes::real},
    {pow, "pow", 2, OpClass::plain, OperandTypes::real},
    {atan2, "atan2", 2, OpClass::plain, OperandTypes::real},
    {floor, "floor", 1, OpClass::plain, OperandTypes::real},
    {ceil, "ceil", 1, OpClass::plain, OperandTypes::real},
    {round, "round", 1, OpClass::plain, OperandTypes::real},
    {trunc, "trunc", 1, OpClass::plain, OperandTypes::real},
    {sign, "sign", 1, OpClass::plain, OperandTypes::real},
    {erf, "erf", 1, OpClass::plain, OperandTypes::real},
    {eq, "eq", 2, OpClass::plain, OperandTypes::comparable},
    {ne, "ne", 2, OpClass::plain, OperandTypes::comparable},
    {lt, "lt", 2, OpClass::plain, OperandTypes::arithmetic},
    {le, "le", 2, OpClass::plain, OperandTypes::arithmetic},
    {gt, "gt", 2, OpClass::plain, OperandTypes::arithmetic},
    {ge, "ge", 2, OpClass::plain, OperandTypes::arithmetic},
    {bit_and, "bit_and", 2, OpClass::plain, OperandTypes::bitwise},
    {bit_or, "bit_or", 2, OpClass::plain, OperandTypes::bitwise},
    {bit_xor, "bit_xor", 2, OpClass::plain, OperandTypes::bitwise},
    {bit_not, "bit_not", 1, OpClass::plain, OperandTypes::bitwise},
    {shl, "shl", 2, OpClass::plain, OperandTypes::integer},
    {shr, "shr", 2, OpClass::plain, OperandTypes::integer},
    {popcount, "popcount", 1, OpClass::plain, OperandTypes::integer},
    {leading_zeros, "leading_zeros", 1, OpClass::plain, OperandTypes::integer},
    {select, "select", 3, OpClass::plain, OperandTypes::select},
    {convert, "convert", 1, OpClass::typed, OperandTypes::none},
    {bitcast, "bitcast", 1, OpClass::typed, OperandTypes::none},
    {gather, "gather", 1, OpClass::gather, OperandTypes::none},
    {random, "random", 2, OpClass::plain, OperandTypes::key},
    {loop, "loop", 0, OpClass::loop_part, OperandTypes::none},
    {result, "result", 1, OpClass::loop_part, OperandTypes::none},
    {carried, "carried", 1, OpClass::loop_part, OperandTypes::none},
    {iteration, "iteration", 1, OpClass::loop_part, OperandTypes::none},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].op) != i) return false;
  }
  return true;
}
static_assert(in_order());

const Row& row(Op op) noexcept { return rows[static_cast<std::size_t>(op)]; }

constexpr std::array value_types = {DType::float32, DType::int32, DType::uint32, DType::boolean};

bool accepts_type(OperandTypes kind, DType type) noexcept {
  switch (kind) {
    case OperandTypes::arithmetic:
      return type != DType::boolean;
    case OperandTypes::real:
      return type == DType::float32;
    case OperandTypes::integer:
      return type == DType::int32 || type == DType::uint32;
    case OperandTypes::bitwise:
      return type != DType::float32;
    case OperandTypes::key:
      return type == DType::uint32;
    default:
      return kind != OperandTypes::none;
  }
}

std::optional<DType> parse_short_name(std::string_view text, bool (*allowed)(DType)) noexcept {
  for (const DType type : all_dtypes()) {
    if (short_name(type) == text && allowed(type)) return type;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Op op) noexcept { return row(op).name; }
std::size_t operand_count(Op op) noexcept { return row(op).operands; }
OpClass op_class(Op op) noexcept { return row(op).op_class; }

std::optional<DType> result_type(Op op, std::span<const DType> operands) noexcept {
  const Row& rule = row(op);
  if (rule.op_class != OpClass::plain || operands.size() != rule.operands) return std::nullopt;
  if (rule.accepts_type == OperandTypes::select) {
    if (operands[0] != DType::boolean || operands[1] != operands[2]) return std::nullopt;
    return operands[1];
  }
  for (const DType type : operands) {
    if (!accepts_type(rule.accepts_type, type) || type != operands[0]) return std::nullopt;
  }
  return op >= eq && op <= ge ? DType::boolean : operands[0];
}

bool is_value_type(DType type) noexcept { return std::ranges::find(value_types, type) != value_types.end(); }

std::size_t value_type_index(DType type) noexcept {
  return static_cast<std::size_t>(std::ranges::find(value_types, type) - value_types.begin());
}

bool can_bitcast(DType from, DType to) noexcept {
  return is_value_type(to) && from != DType::boolean && to != DType::boolean;
}

bool is_commutative(Op op, DType operand) noexcept {
  switch (op) {
    case add:
    case mul:
    case eq:
    case ne:
    case bit_and:
    case bit_or:
    case bit_xor:
      return true;
    case min:
    case max:
      return operand != DType::float32;  // of two zeros, either may be returned
    default:
      return false;
  }
}

std::string_view accepted_operands(Op op) noexcept {
  const Row& rule = row(op);
  switch (rule.accepts_type) {
    case OperandTypes::arithmetic:
      return rule.operands == 1 ? "one operand of f32, i32 or u32" : "two operands, both f32, i32 or u32";
    case OperandTypes::real:
      return rule.operands == 1 ? "one operand of f32" : rule.operands == 2 ? "two operands of f32" : "three of f32";
    case OperandTypes::integer:
      return rule.operands == 1 ? "one operand of i32 or u32" : "two operands, both i32 or u32";
    case OperandTypes::bitwise:
      return rule.operands == 1 ? "one operand of i32, u32 or bool" : "two operands, both i32, u32 or bool";
    case OperandTypes::comparable:
      return "two operands of one type";
    case OperandTypes::select:
      return "a bool and two operands of one type";
    case OperandTypes::key:
      return "two operands of u32";
    default:
      return "no operands alone; it has a function of its own";
  }
}

std::optional<Op> parse_op(std::string_view text) noexcept {
  const auto* const found = std::ranges::find(rows, text, &Row::name);
  return found == rows.end() ? std::nullopt : std::optional(found->op);
}

std::optional<DType> parse_value_type(std::string_view text) noexcept { return parse_short_name(text, &is_value_type); }
std::optional<DType> parse_element_type(std::string_view text) noexcept {
  return parse_short_name(text, &is_kernel_type);
}

bool is_function_name(std::string_view text) noexcept {
  const auto lower = [](char one) { return one >= 'a' && one <= 'z'; };
  if (text.empty() || text.size() > name_size_max || !lower(text.front())) return false;
  return std::ranges::all_of(text, [&](char one) { return lower(one) || (one >= '0' && one <= '9') || one == '_'; });
}

DType loaded_type(DType element) noexcept {
  switch (element) {
    case DType::int32:
    case DType::int8:
      return DType::int32;
    case DType::uint32:
      return DType::uint32;
    default:
      return DType::float32;
  }
}

// The mixing function is "lowbias32" of Chris Wellons' hash prospector, a bijection of 32 bits with low avalanche bias.
// The key enters before and between two rounds, so that the streams of different keys are not shifted copies of each
// other. Adding the input of the second round to its result makes values of one key repeat as often as random ones do;
// without it, no value would occur twice. All dialects have 32-bit multiply, add, xor and shift.
std::uint32_t random_u32(std::uint32_t key, std::uint32_t counter) noexcept {
  const auto mix = [](std::uint32_t x) {
    x ^= x >> 16U;
    x *= 0x7feb352dU;
    x ^= x >> 15U;
    x *= 0x846ca68bU;
    return x ^ (x >> 16U);
  };
  const std::uint32_t first = mix(counter ^ mix(key + 0x9e3779b9U));
  return mix(first + key) + first;
}

}  // namespace vectis::inline v0_1::ir
