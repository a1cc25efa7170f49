// The kernel linter's tokens, and its rules that need types: conditions, narrowing, arithmetic of bool, arguments,
// recursion.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/lint/builtins.hpp"

namespace vectis::inline v0_1::detail {

enum class TokenKind : std::uint8_t { identifier, number, punctuation, directive, text };

struct Token {
  TokenKind kind = TokenKind::punctuation;
  std::string_view text;  // of the source, which must outlive it; a directive is its whole line
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  [[nodiscard]] bool is(std::string_view other) const noexcept { return text == other; }
};

// Splits a text into tokens, without comments and blanks. Never fails: a character that is no token of C is
// punctuation.
std::vector<Token> tokenize(std::string_view source);

using LintReport = std::function<void(const Token&, std::string_view rule, std::string message)>;

// The declared names and their types, by scope, and the helper functions of the kernel.
class Names {
 public:
  explicit Names(const KernelSource& source);

  void open() { scopes_.emplace_back(); }
  void close() {
    if (scopes_.size() > 1) scopes_.pop_back();
  }
  void declare(std::string_view name, ValueType type) { scopes_.back()[std::string(name)] = type; }
  // Whether the kernel has a buffer or shared array of this name.
  [[nodiscard]] bool is_array(std::string_view name) const;
  [[nodiscard]] ValueType type_of(std::string_view name) const;

  void define(std::string_view name, Signature signature) { functions_[std::string(name)] = std::move(signature); }
  [[nodiscard]] std::optional<Signature> signature_of(std::string_view name) const;
  [[nodiscard]] bool defined(std::string_view name) const { return functions_.contains(std::string(name)); }

 private:
  const KernelSource& source_;
  std::vector<std::map<std::string, ValueType>> scopes_;
  std::map<std::string, Signature> functions_;
};

// A recursive-descent parser of the expressions in `tokens`. What it cannot parse has an unknown type and is not
// consumed.
class Expressions {
 public:
  Expressions(std::span<const Token> tokens, Names& names, LintReport report)
      : tokens_(tokens), names_(names), report_(std::move(report)) {}

  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] bool at_end() const noexcept { return at_ >= tokens_.size(); }
  // The token `ahead` positions from the current one; a token without text after the last.
  [[nodiscard]] Token peek(std::size_t ahead = 0) const noexcept;
  Token take() noexcept;
  bool accept(std::string_view text) noexcept;

  ValueType comma();       // a, b, c: the type of the last
  ValueType assignment();  // with = and ?: and all below
  // Parses the condition of an if, a loop or ?:.
  void condition();
  // Reports a conversion from `from` to `to` that is not implicit in every dialect.
  void convert(const Token& at, ValueType to, ValueType from);
  [[nodiscard]] const std::set<std::string>& called() const noexcept { return called_; }
  void forget_calls() { called_.clear(); }

 private:
  ValueType conditional();
  ValueType binary(int level);
  ValueType unary();
  ValueType postfix();
  ValueType primary();
  ValueType call(const Token& name);
  ValueType combine(const Token& sign, ValueType left, ValueType right);
  void demand_bool(const Token& at, ValueType type);

  std::span<const Token> tokens_;
  Names& names_;
  LintReport report_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::set<std::string> called_;
};

// Check all statements of a body, or all helper functions.
void check_body_types(std::span<const Token> tokens, Names& names, const LintReport& report);
void check_function_types(std::span<const Token> tokens, Names& names, const LintReport& report);

}  // namespace vectis::inline v0_1::detail
