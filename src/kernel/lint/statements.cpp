#include <fmt/format.h>

#include <algorithm>

#include "kernel/lint/lint.hpp"

namespace vectis::inline v0_1::detail {

Names::Names(const KernelSource& source) : source_(source), scopes_(1) {
  for (const BufferParameter& buffer : source.buffers) {
    declare(buffer.name, lanes(buffer.element) > 1 ? ValueType::u32 : loaded(buffer.element));
  }
  for (const ScalarParameter& scalar : source.scalars) declare(scalar.name, loaded(scalar.element));
  for (const SharedArray& array : source.shared) declare(array.name, loaded(array.element));
}

bool Names::is_array(std::string_view name) const {
  return std::ranges::find(source_.buffers, name, &BufferParameter::name) != source_.buffers.end() ||
         std::ranges::find(source_.shared, name, &SharedArray::name) != source_.shared.end();
}

ValueType Names::type_of(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(std::string(name));
    if (found != scope->end()) return found->second;
  }
  return ValueType::unknown;
}

std::optional<Signature> Names::signature_of(std::string_view name) const {
  const auto found = functions_.find(std::string(name));
  if (found != functions_.end()) return found->second;
  return builtin_signature(source_, name);
}

namespace {

// Reads statements, as loosely as an expression allows: braces open and close scopes, the rest is declarations,
// conditions and expressions.
class Statements {
 public:
  Statements(std::span<const Token> tokens, Names& names, const LintReport& report)
      : names_(names), report_(report), expressions_(tokens, names, report) {}

  void body() {
    names_.open();
    while (!expressions_.at_end()) statement();
    names_.close();
  }

  void functions() {
    while (!expressions_.at_end()) function();
  }

 private:
  [[nodiscard]] bool at_declaration() const {
    const Token token = expressions_.peek();
    return token.is("const") || (is_value_type(token.text) && expressions_.peek(1).kind == TokenKind::identifier);
  }

  void statement() {
    const std::size_t before = expressions_.position();
    const Token token = expressions_.peek();
    if (token.is("{")) {
      expressions_.take();
      names_.open();
    } else if (token.is("}")) {
      expressions_.take();
      names_.close();
    } else if (token.is("if") || token.is("while")) {
      expressions_.take();
      expressions_.accept("(");
      expressions_.condition();
      expressions_.accept(")");
    } else if (token.is("for")) {
      expressions_.take();
      loop();
    } else if (token.is("return")) {
      expressions_.take();
      give_back();
    } else if (at_declaration()) {
      declaration();
    } else if (token.is("else") || token.is("do") || token.is("case") || token.is("default")) {
      expressions_.take();
    } else {
      expressions_.comma();
    }
    // A token that begins nothing, such as ; or one that another rule reported.
    if (expressions_.position() == before) expressions_.take();
  }

  // The names of a for belong to the scope around it here, which no rule minds.
  void loop() {
    expressions_.accept("(");
    if (at_declaration()) {
      declaration();
    } else if (!expressions_.peek().is(";")) {
      expressions_.comma();
    }
    expressions_.accept(";");
    if (!expressions_.peek().is(";")) expressions_.condition();
    expressions_.accept(";");
    if (!expressions_.peek().is(")")) expressions_.comma();
    expressions_.accept(")");
  }

  void give_back() {
    const Token at = expressions_.peek();
    if (at.is(";")) return;
    expressions_.convert(at, result_, expressions_.comma());
  }

  void declaration() {
    expressions_.accept("const");
    const Token type_token = expressions_.take();
    const ValueType type = value_type_named(type_token.text);
    do {
      const Token variable = expressions_.take();
      if (expressions_.peek().is("(")) {
        report_(variable, "nested-function", "functions stand in KernelSource::functions");
        return;
      }
      if (names_.is_array(variable.text)) {
        report_(variable, "hides", fmt::format("{} is a buffer or shared array: choose another name", variable.text));
      }
      while (expressions_.accept("[")) {
        if (expressions_.peek().is("]")) report_(expressions_.peek(), "array-size", "arrays have a constant size");
        if (!expressions_.peek().is("]")) expressions_.comma();
        expressions_.accept("]");
      }
      if (expressions_.accept("=") && !expressions_.peek().is("{")) {
        const Token at = expressions_.peek();
        expressions_.convert(at, type, expressions_.assignment());
      }
      names_.declare(variable.text, type);
    } while (expressions_.accept(","));
  }

  // FUNCTION type name(type parameter, ...) { ... }
  void function() {
    const Token word = expressions_.peek();
    const bool marked = expressions_.accept("FUNCTION");
    const Token type = expressions_.take();
    if (value_type_named(type.text) == ValueType::unknown) return;
    const Token name = expressions_.take();
    if (!expressions_.accept("(")) {
      report_(word, "static", "there are no global variables: pass the value, or use #define");
      while (!expressions_.at_end() && !expressions_.take().is(";")) continue;
      return;
    }
    if (!marked)
      report_(word, "function-word", fmt::format("begin with FUNCTION: FUNCTION {} {}(", type.text, name.text));
    Signature signature{value_type_named(type.text), {}};
    names_.open();
    parameters(signature);
    if (expressions_.accept("{")) {
      result_ = signature.result;
      names_.define(name.text, std::move(signature));
      expressions_.forget_calls();
      block();
      if (expressions_.called().contains(std::string(name.text))) {
        report_(name, "recursion", fmt::format("{} calls itself, which no dialect but C++ takes", name.text));
      }
    } else {
      report_(name, "prototype", "define functions before they are called: declarations make recursion possible");
    }
    names_.close();
  }

  void parameters(Signature& signature) {
    while (!expressions_.at_end() && !expressions_.peek().is(")")) {
      expressions_.accept("const");
      const Token type = expressions_.take();
      if (type.is("void") || type.is(",")) continue;
      signature.parameters.push_back(value_type_named(type.text));
      if (expressions_.peek().kind != TokenKind::identifier) continue;
      const Token parameter = expressions_.take();
      names_.declare(parameter.text, value_type_named(type.text));
      if (expressions_.peek().is("[")) {
        report_(parameter, "array-parameter", "arrays are not passed the same way in every dialect");
        while (!expressions_.at_end() && !expressions_.take().is("]")) continue;
      }
    }
    expressions_.accept(")");
  }

  // To the brace that closes the function.
  void block() {
    int depth = 1;
    names_.open();
    while (!expressions_.at_end()) {
      if (expressions_.peek().is("{")) ++depth;
      if (expressions_.peek().is("}") && --depth == 0) break;
      statement();
    }
    expressions_.accept("}");
    names_.close();
  }

  Names& names_;
  const LintReport& report_;
  Expressions expressions_;
  ValueType result_ = ValueType::unknown;  // what `return` gives
};

}  // namespace

void check_body_types(std::span<const Token> tokens, Names& names, const LintReport& report) {
  Statements(tokens, names, report).body();
}

void check_function_types(std::span<const Token> tokens, Names& names, const LintReport& report) {
  Statements(tokens, names, report).functions();
}

}  // namespace vectis::inline v0_1::detail
