#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernel/lint/lint.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// The level of a binary operator, from || to the products; -1 for what is none.
int level_of(const Token& token) noexcept {
  if (token.kind != TokenKind::punctuation) return -1;
  constexpr std::array<std::array<std::string_view, 4>, 10> levels = {{{"||"},
                                                                       {"&&"},
                                                                       {"|"},
                                                                       {"^"},
                                                                       {"&"},
                                                                       {"==", "!="},
                                                                       {"<", ">", "<=", ">="},
                                                                       {"<<", ">>"},
                                                                       {"+", "-"},
                                                                       {"*", "/", "%"}}};
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (!token.text.empty() && std::ranges::find(levels[level], token.text) != levels[level].end()) {
      return static_cast<int>(level);
    }
  }
  return -1;
}

bool is_assignment(const Token& token) noexcept {
  constexpr std::array<std::string_view, 11> signs = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  return std::ranges::find(signs, token.text) != signs.end();
}

bool is_number(ValueType type) noexcept {
  return type == ValueType::i32 || type == ValueType::u32 || type == ValueType::f32;
}

ValueType common(ValueType left, ValueType right) noexcept {
  if (left == ValueType::unknown || right == ValueType::unknown) return ValueType::unknown;
  return std::max(left, right);  // in the order bool, int, uint, float
}

ValueType type_of_number(std::string_view text) noexcept {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (!hexadecimal && text.find_first_of(".eEfF") != std::string_view::npos) return ValueType::f32;
  return text.back() == 'u' || text.back() == 'U' ? ValueType::u32 : ValueType::i32;
}

// Expressions nested deeper are not looked into, so that no text exhausts the stack.
constexpr int deepest = 200;

class Depth {
 public:
  explicit Depth(int& depth) : depth_(depth) { ++depth_; }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& depth_;
};

}  // namespace

Token Expressions::peek(std::size_t ahead) const noexcept {
  return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : Token{};
}

Token Expressions::take() noexcept {
  const Token token = peek();
  ++at_;
  return token;
}

bool Expressions::accept(std::string_view text) noexcept {
  if (!peek().is(text)) return false;
  ++at_;
  return true;
}

void Expressions::demand_bool(const Token& at, ValueType type) {
  if (is_number(type)) {
    report_(at, "int-condition", fmt::format("{} is no condition: compare it, as in x != 0", name(type)));
  }
}

void Expressions::condition() {
  const Token at = peek();
  demand_bool(at, comma());
}

void Expressions::convert(const Token& at, ValueType to, ValueType from) {
  if (to == from || to == ValueType::unknown || from == ValueType::unknown) return;
  if (to == ValueType::boolean) return demand_bool(at, from);
  if (from == ValueType::boolean) {
    return report_(at, "bool-arithmetic", fmt::format("bool does not become {}: use condition ? 1 : 0", name(to)));
  }
  if (from == ValueType::none) return report_(at, "void", "this has no value");
  if (to == ValueType::i32 || (to == ValueType::u32 && from == ValueType::f32)) {
    report_(at, "narrowing",
            fmt::format("{} does not become {} by itself: use {}", name(from), name(to),
                        to == ValueType::i32 ? "I32(…)" : "U32(…)"));
  }
}

ValueType Expressions::comma() {
  ValueType type = assignment();
  while (accept(",")) type = assignment();
  return type;
}

ValueType Expressions::assignment() {
  const Depth depth(depth_);
  if (depth_ > deepest) return ValueType::unknown;
  const ValueType left = conditional();
  if (!is_assignment(peek())) return left;
  const Token sign = take();
  const Token at = peek();
  const ValueType right = assignment();
  if (sign.is("=")) {
    convert(at, left, right);
  } else {
    const bool shift = sign.is("<<=") || sign.is(">>=");
    convert(at, left, shift ? left : combine({sign.kind, sign.text.substr(0, 1), at.line, at.column}, left, right));
  }
  return left;
}

ValueType Expressions::conditional() {
  const Token at = peek();
  const ValueType decides = binary(0);
  if (!accept("?")) return decides;
  demand_bool(at, decides);
  const Token first = peek();
  const ValueType yes = assignment();
  accept(":");
  const ValueType no = assignment();
  if ((yes == ValueType::boolean && is_number(no)) || (no == ValueType::boolean && is_number(yes))) {
    report_(first, "bool-arithmetic", "one branch is bool and the other a number");
  }
  return common(yes, no);
}

ValueType Expressions::binary(int level) {
  constexpr int highest = 9;
  if (level > highest) return unary();
  const Token first = peek();
  ValueType left = binary(level + 1);
  while (level_of(peek()) == level) {
    const Token sign = take();
    const Token second = peek();
    const ValueType right = binary(level + 1);
    if (level <= 1) {
      demand_bool(first, left);
      demand_bool(second, right);
      left = ValueType::boolean;
    } else {
      left = combine(sign, left, right);
    }
  }
  return left;
}

// Any binary operator but && and ||.
ValueType Expressions::combine(const Token& sign, ValueType left, ValueType right) {
  const bool boolean = left == ValueType::boolean || right == ValueType::boolean;
  const int level = level_of(sign);
  if (level == 5 || level == 6) {  // comparisons
    const bool equality_of_bools = level == 5 && !is_number(left) && !is_number(right);
    if (boolean && !equality_of_bools) report_(sign, "bool-arithmetic", "bool is compared with a number");
    return ValueType::boolean;
  }
  if (boolean) {
    report_(sign, "bool-arithmetic", fmt::format("{} of bool: use && and ||, or condition ? 1 : 0", sign.text));
    return ValueType::unknown;
  }
  const bool integers_only = (level >= 2 && level <= 4) || level == 7 || sign.is("%");
  if (integers_only && (left == ValueType::f32 || right == ValueType::f32)) {
    report_(sign, "float-bits", fmt::format("{} takes integers, not float", sign.text));
    return ValueType::unknown;
  }
  return level == 7 ? left : common(left, right);
}

ValueType Expressions::unary() {
  const Depth depth(depth_);
  if (depth_ > deepest) return ValueType::unknown;
  const Token sign = peek();
  if (sign.kind == TokenKind::punctuation && (sign.is("-") || sign.is("+") || sign.is("~") || sign.is("!") ||
                                              sign.is("++") || sign.is("--") || sign.is("*") || sign.is("&"))) {
    take();
    const Token at = peek();
    const ValueType type = unary();
    if (sign.is("*") || sign.is("&")) return ValueType::unknown;  // reported by the rule `pointer`
    if (sign.is("!")) {
      demand_bool(at, type);
      return ValueType::boolean;
    }
    if (type == ValueType::boolean) report_(sign, "bool-arithmetic", fmt::format("{} of bool: use !", sign.text));
    if (sign.is("~") && type == ValueType::f32) report_(sign, "float-bits", "~ takes integers, not float");
    return type;
  }
  return postfix();
}

ValueType Expressions::postfix() {
  ValueType type = primary();
  for (;;) {
    if (accept("[")) {
      const Token at = peek();
      const ValueType index = comma();
      if (index == ValueType::f32 || index == ValueType::boolean) {
        report_(at, "narrowing", fmt::format("{} is no index: use U32(…)", name(index)));
      }
      accept("]");
    } else if (accept("++") || accept("--")) {
      continue;
    } else if (accept(".") || accept("->")) {
      take();
      type = ValueType::unknown;
    } else {
      return type;
    }
  }
}

ValueType Expressions::primary() {
  const Token token = peek();
  if (accept("(")) {
    // A cast, which the rule `cast` reports.
    if (is_value_type(peek().text) && peek(1).is(")")) {
      const ValueType type = value_type_named(take().text);
      take();
      unary();
      return type;
    }
    const ValueType type = comma();
    accept(")");
    return type;
  }
  if (token.kind == TokenKind::number) return type_of_number(take().text);
  if (token.kind != TokenKind::identifier || token.text.empty()) return ValueType::unknown;
  take();
  if (token.is("true") || token.is("false")) return ValueType::boolean;
  if (peek().is("(")) return call(token);
  if (token.text.starts_with("LANES_")) return ValueType::u32;
  if (token.is("F32_INFINITY") || token.is("F32_NAN")) return ValueType::f32;
  return names_.type_of(token.text);
}

ValueType Expressions::call(const Token& function) {
  called_.insert(std::string(function.text));
  std::optional<Signature> signature = names_.signature_of(function.text);
  const std::vector<ValueType> parameters = signature ? signature->parameters : std::vector<ValueType>{};
  accept("(");
  std::size_t count = 0;
  ValueType first = ValueType::unknown;
  while (!at_end() && !peek().is(")")) {
    const Token at = peek();
    const std::size_t before = at_;
    const ValueType type = assignment();
    if (count < parameters.size()) convert(at, parameters[count], type);
    if (count == 0) first = type;
    ++count;
    if (!accept(",") && (!peek().is(")") || at_ == before)) break;
  }
  if (accept(")") && signature && count != parameters.size()) {
    report_(function, "arguments",
            fmt::format("{} takes {} arguments, not {}", function.text, parameters.size(), count));
  }
  if (is_value_type(function.text)) return value_type_named(function.text);
  if (function.is("UNIFORM_LOAD")) return first;  // an element of the array
  return signature ? signature->result : ValueType::unknown;
}

}  // namespace vectis::inline v0_1::detail
