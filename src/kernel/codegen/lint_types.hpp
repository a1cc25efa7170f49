// The rules that need types: conditions, narrowing, arithmetic of bool, arguments, recursion.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/codegen/lexer.hpp"
#include "kernel/codegen/word_types.hpp"

namespace vectis::inline v0_1::detail {

using Report = std::function<void(const Token&, std::string_view rule, std::string message)>;

// Names and their types, inner scopes hiding outer ones; the helper functions of the kernel.
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

// Reads one expression after another from `tokens`. What it cannot read has an unknown type and is left where it is.
class Expressions {
 public:
  Expressions(std::span<const Token> tokens, Names& names, Report report)
      : tokens_(tokens), names_(names), report_(std::move(report)) {}

  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] bool at_end() const noexcept { return at_ >= tokens_.size(); }
  // The token `ahead` places on, or one without text behind the last.
  [[nodiscard]] Token peek(std::size_t ahead = 0) const noexcept;
  Token take() noexcept;
  bool accept(std::string_view text) noexcept;

  ValueType comma();       // a, b, c: the type of the last
  ValueType assignment();  // with = and ?: and all below
  // A whole expression that decides something.
  void condition();
  // Reports when a value of type `from` does not go into one of type `to` in every dialect.
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
  Report report_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::set<std::string> called_;
};

// All statements of a body, or all helper functions.
void check_body_types(std::span<const Token> tokens, Names& names, const Report& report);
void check_function_types(std::span<const Token> tokens, Names& names, const Report& report);

}  // namespace vectis::inline v0_1::detail
