#include "kernel/ir/ops.hpp"

#include <algorithm>

namespace vectis::inline v0_1::ir {

namespace {

// Which operand types an operation takes.
enum class Takes : std::uint8_t { nothing, number, real, whole, bits, comparable, choice, key };

struct Row {
  Op op;
  std::string_view name;
  std::uint8_t operands;
  Shape shape;
  Takes takes;
};

using enum Op;

// In the order of Op.
constexpr std::array<Row, op_count> rows = {{
    {constant, "constant", 0, Shape::leaf, Takes::nothing},
    {input, "input", 0, Shape::leaf, Takes::nothing},
    {argument, "argument", 0, Shape::leaf, Takes::nothing},
    {index, "index", 0, Shape::leaf, Takes::nothing},
    {add, "add", 2, Shape::plain, Takes::number},
    {sub, "sub", 2, Shape::plain, Takes::number},
    {mul, "mul", 2, Shape::plain, Takes::number},
    {div, "div", 2, Shape::plain, Takes::number},
    {min, "min", 2, Shape::plain, Takes::number},
    {max, "max", 2, Shape::plain, Takes::number},
    {neg, "neg", 1, Shape::plain, Takes::number},
    {abs, "abs", 1, Shape::plain, Takes::number},
    {rem, "rem", 2, Shape::plain, Takes::number},
    {fma, "fma", 3, Shape::plain, Takes::real},
    {sqrt, "sqrt", 1, Shape::plain, Takes::real},
    {rsqrt, "rsqrt", 1, Shape::plain, Takes::real},
    {exp, "exp", 1, Shape::plain, Takes::real},
    {exp2, "exp2", 1, Shape::plain, Takes::real},
    {log, "log", 1, Shape::plain, Takes::real},
    {log2, "log2", 1, Shape::plain, Takes::real},
    {sin, "sin", 1, Shape::plain, Takes::real},
    {cos, "cos", 1, Shape::plain, Takes::real},
    {tan, "tan", 1, Shape::plain, Takes::real},
    {tanh, "tanh", 1, Shape::plain, Takes::real},
    {asin, "asin", 1, Shape::plain, Takes::real},
    {acos, "acos", 1, Shape::plain, Takes::real},
    {atan, "atan", 1, Shape::plain, Takes::real},
    {pow, "pow", 2, Shape::plain, Takes::real},
    {atan2, "atan2", 2, Shape::plain, Takes::real},
    {floor, "floor", 1, Shape::plain, Takes::real},
    {ceil, "ceil", 1, Shape::plain, Takes::real},
    {round, "round", 1, Shape::plain, Takes::real},
    {trunc, "trunc", 1, Shape::plain, Takes::real},
    {sign, "sign", 1, Shape::plain, Takes::real},
    {erf, "erf", 1, Shape::plain, Takes::real},
    {eq, "eq", 2, Shape::plain, Takes::comparable},
    {ne, "ne", 2, Shape::plain, Takes::comparable},
    {lt, "lt", 2, Shape::plain, Takes::number},
    {le, "le", 2, Shape::plain, Takes::number},
    {gt, "gt", 2, Shape::plain, Takes::number},
    {ge, "ge", 2, Shape::plain, Takes::number},
    {bit_and, "bit_and", 2, Shape::plain, Takes::bits},
    {bit_or, "bit_or", 2, Shape::plain, Takes::bits},
    {bit_xor, "bit_xor", 2, Shape::plain, Takes::bits},
    {bit_not, "bit_not", 1, Shape::plain, Takes::bits},
    {shl, "shl", 2, Shape::plain, Takes::whole},
    {shr, "shr", 2, Shape::plain, Takes::whole},
    {popcount, "popcount", 1, Shape::plain, Takes::whole},
    {leading_zeros, "leading_zeros", 1, Shape::plain, Takes::whole},
    {select, "select", 3, Shape::plain, Takes::choice},
    {convert, "convert", 1, Shape::typed, Takes::nothing},
    {bitcast, "bitcast", 1, Shape::typed, Takes::nothing},
    {gather, "gather", 1, Shape::gather, Takes::nothing},
    {random, "random", 2, Shape::plain, Takes::key},
    {loop, "loop", 0, Shape::looped, Takes::nothing},
    {result, "result", 1, Shape::looped, Takes::nothing},
    {carried, "carried", 1, Shape::looped, Takes::nothing},
    {iteration, "iteration", 1, Shape::looped, Takes::nothing},
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

bool takes(Takes kind, DType type) noexcept {
  switch (kind) {
    case Takes::number:
      return type != DType::boolean;
    case Takes::real:
      return type == DType::float32;
    case Takes::whole:
      return type == DType::int32 || type == DType::uint32;
    case Takes::bits:
      return type != DType::float32;
    case Takes::key:
      return type == DType::uint32;
    default:
      return kind != Takes::nothing;
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
Shape shape(Op op) noexcept { return row(op).shape; }

std::optional<DType> plain_type(Op op, std::span<const DType> operands) noexcept {
  const Row& rule = row(op);
  if (rule.shape != Shape::plain || operands.size() != rule.operands) return std::nullopt;
  if (rule.takes == Takes::choice) {
    if (operands[0] != DType::boolean || operands[1] != operands[2]) return std::nullopt;
    return operands[1];
  }
  for (const DType type : operands) {
    if (!takes(rule.takes, type) || type != operands[0]) return std::nullopt;
  }
  return op >= eq && op <= ge ? DType::boolean : operands[0];
}

bool is_value_type(DType type) noexcept { return std::ranges::find(value_types, type) != value_types.end(); }

std::size_t value_type_index(DType type) noexcept {
  return static_cast<std::size_t>(std::ranges::find(value_types, type) - value_types.begin());
}

bool bitcastable(DType from, DType to) noexcept {
  return is_value_type(to) && from != DType::boolean && to != DType::boolean;
}

bool commutative(Op op, DType operand) noexcept {
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
      return operand != DType::float32;  // of two zeros either may come
    default:
      return false;
  }
}

std::string_view accepted(Op op) noexcept {
  const Row& rule = row(op);
  switch (rule.takes) {
    case Takes::number:
      return rule.operands == 1 ? "one operand of f32, i32 or u32" : "two operands, both f32, i32 or u32";
    case Takes::real:
      return rule.operands == 1 ? "one operand of f32" : rule.operands == 2 ? "two operands of f32" : "three of f32";
    case Takes::whole:
      return rule.operands == 1 ? "one operand of i32 or u32" : "two operands, both i32 or u32";
    case Takes::bits:
      return rule.operands == 1 ? "one operand of i32, u32 or bool" : "two operands, both i32, u32 or bool";
    case Takes::comparable:
      return "two operands of one type";
    case Takes::choice:
      return "a bool and two operands of one type";
    case Takes::key:
      return "two operands of u32";
    default:
      return "no operands alone; it has a function of its own";
  }
}

std::optional<Op> parse_op(std::string_view text) noexcept {
  const auto* const found = std::ranges::find(rows, text, &Row::name);
  return found == rows.end() ? std::nullopt : std::optional(found->op);
}

std::optional<DType> parse_type(std::string_view text) noexcept { return parse_short_name(text, &is_value_type); }
std::optional<DType> parse_element(std::string_view text) noexcept { return parse_short_name(text, &is_kernel_type); }

bool is_name(std::string_view text) noexcept {
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

// The mixing step is a bijection of 32 bits with low bias under avalanche tests; keyed before and between two of them,
// streams of different keys are no shifts of one another. Multiply, add, xor and shift of 32 bits exist everywhere.
std::uint32_t random_u32(std::uint32_t key, std::uint32_t counter) noexcept {
  const auto mix = [](std::uint32_t x) {
    x ^= x >> 16U;
    x *= 0x7feb352dU;
    x ^= x >> 15U;
    x *= 0x846ca68bU;
    return x ^ (x >> 16U);
  };
  return mix(mix(counter ^ mix(key + 0x9e3779b9U)) + key);
}

}  // namespace vectis::inline v0_1::ir
