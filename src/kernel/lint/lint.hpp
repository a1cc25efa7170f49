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

// Kind of a token of a kernel body; a directive is a whole line that begins with #.
enum class TokenKind : std::uint8_t { identifier, number, punctuation, directive, text };

// A token of a kernel body, with its place. Its text points into the source, which must outlive it.
struct Token {
  TokenKind kind = TokenKind::punctuation;
  std::string_view text;  // of the source, which must outlive it; a directive is its whole line
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  [[nodiscard]] bool is(std::string_view other) const noexcept { return text == other; }
};

// Splits a text into tokens, without comments and white space. `source` must outlive the tokens. Never fails: a
// character that is no token of C becomes punctuation.
std::vector<Token> tokenize(std::string_view source);

// Receives one finding: the token where it is, the rule's name, and what to write instead.
using LintReport = std::function<void(const Token&, std::string_view rule, std::string message)>;

// The declared names and their types, by scope, and the helper functions of one kernel, for the linter. One thread
// at a time.
class Names {
 public:
  // Declares the buffers, scalars and shared arrays of the kernel in the outermost scope. `source` must outlive the
  // object. Names are not checked.
  explicit Names(const KernelSource& source);

  // Opens a scope; names declared from now on hide those of enclosing scopes.
  void open() { scopes_.emplace_back(); }
  // Closes the innermost scope and drops its names; no effect on the outermost scope, which holds the parameters.
  void close() {
    if (scopes_.size() > 1) scopes_.pop_back();
  }
  // Declares a name in the innermost scope, replacing an earlier declaration there.
  void declare(std::string_view name, ValueType type) { scopes_.back()[std::string(name)] = type; }
  // Returns whether the kernel has a buffer or shared array of this name.
  [[nodiscard]] bool is_array(std::string_view name) const;
  // Returns the type of the innermost declaration of the name; `unknown` if it is not declared.
  [[nodiscard]] ValueType type_of(std::string_view name) const;

  // Defines a helper function, replacing an earlier one of the same name.
  void define(std::string_view name, Signature signature) { functions_[std::string(name)] = std::move(signature); }
  // Returns the signature of the helper function or built-in of this name; empty if there is neither.
  [[nodiscard]] std::optional<Signature> signature_of(std::string_view name) const;
  // Returns whether a helper function of this name was defined.
  [[nodiscard]] bool defined(std::string_view name) const { return functions_.contains(std::string(name)); }

 private:
  const KernelSource& source_;
  std::vector<std::map<std::string, ValueType>> scopes_;
  std::map<std::string, Signature> functions_;
};

// A recursive-descent parser of the expressions in a sequence of tokens, which reports type errors. An expression
// that it cannot parse has an unknown type and is not consumed; nothing throws for malformed text. One thread at a
// time.
class Expressions {
 public:
  // Begins at the first token. `tokens` and `names` must outlive the parser; findings are passed to `report`.
  Expressions(std::span<const Token> tokens, Names& names, LintReport report)
      : tokens_(tokens), names_(names), report_(std::move(report)) {}

  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] bool at_end() const noexcept { return at_ >= tokens_.size(); }
  // Returns the token `ahead` positions after the current one, without consuming it; a token without text after the
  // end. Does not throw.
  [[nodiscard]] Token peek(std::size_t ahead = 0) const noexcept;
  // Consumes and returns the current token; returns a token without text at the end. Does not throw.
  Token take() noexcept;
  // Consumes the current token if its text is `text`, and returns whether it did. Does not throw.
  bool accept(std::string_view text) noexcept;

  // Parses expressions separated by commas and returns the type of the last; `unknown` if it cannot be parsed.
  ValueType comma();
  // Parses one expression without top-level commas, with assignments and ?:, and returns its type; `unknown` if it
  // cannot be parsed or is nested deeper than 200 levels.
  ValueType assignment();
  // Parses the condition of an if, a loop or ?:, and reports `int-condition` unless its type is bool or unknown.
  void condition();
  // Reports at token `at` a conversion from `from` to `to` that is not implicit in every dialect. Nothing is
  // reported if the types are equal or one is unknown.
  void convert(const Token& at, ValueType to, ValueType from);
  // Returns the names of the functions called since construction or forget_calls(). Does not throw.
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

// Checks the types of all statements of a kernel body and passes findings to `report`. The helper functions must
// have been checked before, which enters them into `names`. Malformed text does not throw.
void check_body_types(std::span<const Token> tokens, Names& names, const LintReport& report);
// Checks the types of all helper functions, defines them in `names`, and passes findings, also for recursion, to
// `report`. Malformed text does not throw.
void check_function_types(std::span<const Token> tokens, Names& names, const LintReport& report);

}  // namespace vectis::inline v0_1::detail
