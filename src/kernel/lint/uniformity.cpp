#include "kernel/lint/uniformity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::string_view uniform_load = "UNIFORM_LOAD";

bool is_barrier(std::string_view name) noexcept { return name == "BARRIER" || name == uniform_load; }

// Built-ins whose value may differ between work-items, whatever their arguments are.
bool differs_by_item(std::string_view name) noexcept {
  if (name == "LOCAL_ID" || name == "GLOBAL_ID") return true;
  return std::ranges::any_of(std::array<std::string_view, 4>{"LOAD_", "WORD_", "OLD_WORD_", "ATOMIC_"},
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool assigns(const Token& token) noexcept {
  constexpr std::array<std::string_view, 11> signs = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  return token.kind == TokenKind::punctuation && std::ranges::find(signs, token.text) != signs.end();
}

bool opens(const Token& token) noexcept { return token.is("(") || token.is("[") || token.is("{"); }
bool closes(const Token& token) noexcept { return token.is(")") || token.is("]") || token.is("}"); }

// Statements nested deeper are not analyzed, so that no text exhausts the stack.
constexpr int nesting_max = 200;

// A variable is identified by the place of its declaration, a loop by the place of its keyword; what is found out about
// them stays for the next pass over the body, until a pass finds nothing new.
class Uniformity {
 public:
  Uniformity(const KernelSource& source, std::span<const Token> tokens, const LintReport& report)
      : source_(source), report_(report) {
    for (const auto& [name, replacement] : source.defines) learn_macro(name, replacement);
    for (const Token& token : tokens) {
      if (token.kind != TokenKind::directive) {
        tokens_.push_back(token);
      } else if (const std::size_t at = token.text.find("define"); at != std::string_view::npos) {
        const std::string_view rest = token.text.substr(std::min(at + 7, token.text.size()));
        const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
        learn_macro(std::string(rest.substr(0, end)), std::string(rest.substr(end)));
      }
    }
    for (const Token& token : tokenize(source.functions)) {
      if (token.is("LOCAL_ID") || token.is("GLOBAL_ID")) functions_differ_ = true;
    }
  }

  void run() {
    std::size_t known = 0;
    do {
      known = varying_.size() + divergent_loops_.size();
      pass();
    } while (varying_.size() + divergent_loops_.size() != known);
    reporting_ = true;
    pass();
  }

 private:
  struct Range {
    std::size_t begin, end;
  };

  void learn_macro(const std::string& head, const std::string& replacement) {
    const std::string name = head.substr(0, head.find('('));
    for (const Token& token : tokenize(replacement)) {
      if (token.kind != TokenKind::identifier) continue;
      if (is_barrier(token.text) || barrier_macros_.contains(std::string(token.text))) barrier_macros_.insert(name);
      if (is_varying_name(token.text)) varying_macros_.insert(name);
    }
  }

  [[nodiscard]] bool is_varying_name(std::string_view name) const {
    if (differs_by_item(name) || varying_macros_.contains(std::string(name))) return true;
    return std::ranges::find(source_.shared, name, &SharedArray::name) != source_.shared.end() ||
           std::ranges::find(source_.buffers, name, &BufferParameter::name) != source_.buffers.end();
  }

  void pass() {
    at_ = 0;
    scopes_.assign(1, {});
    loops_.clear();
    controls_.clear();
    returned_at_ = 0;
    nesting_ = 0;
    while (at_ < tokens_.size()) statement();
  }

  [[nodiscard]] const Token& token(std::size_t i) const {
    static const Token none;
    return i < tokens_.size() ? tokens_[i] : none;
  }
  bool accept(std::string_view text) {
    if (!token(at_).is(text)) return false;
    ++at_;
    return true;
  }

  // The first of the texts after `from` outside of brackets, or the closing bracket of the enclosing pair.
  [[nodiscard]] std::size_t find(std::size_t from, std::size_t end, std::string_view text) const {
    int depth = 0;
    for (std::size_t i = from; i < end; ++i) {
      if (depth == 0 && (tokens_[i].is(text) || closes(tokens_[i]))) return i;
      depth += opens(tokens_[i]) ? 1 : closes(tokens_[i]) ? -1 : 0;
    }
    return end;
  }

  // The line of the condition that work-items may differ about here, or 0.
  [[nodiscard]] std::uint32_t divergent_since() const {
    for (const std::uint32_t line : controls_) {
      if (line != 0) return line;
    }
    return returned_at_;
  }

  void statement() {
    if (++nesting_ > nesting_max) {
      at_ = tokens_.size();
    } else if (accept("{")) {
      scopes_.emplace_back();
      while (at_ < tokens_.size() && !token(at_).is("}")) statement();
      accept("}");
      scopes_.pop_back();
    } else if (token(at_).is("if") || token(at_).is("switch")) {
      choice();
    } else if (token(at_).is("for") || token(at_).is("while") || token(at_).is("do")) {
      loop();
    } else if (token(at_).is("return") || token(at_).is("break") || token(at_).is("continue")) {
      leave();
    } else {
      simple();
    }
    --nesting_;
  }

  // ( condition ), whose line is 0 if it is the same for all work-items.
  std::uint32_t condition() {
    const std::uint32_t line = token(at_).line;
    if (!accept("(")) return 0;
    const Range range{at_, find(at_, tokens_.size(), ")")};
    expression(range);
    at_ = range.end;
    accept(")");
    return varies(range) ? line : 0;
  }

  void choice() {
    const bool selects = accept("switch");
    if (!selects) ++at_;
    controls_.push_back(condition());
    statement();
    if (!selects && accept("else")) statement();
    controls_.pop_back();
  }

  void loop() {
    const std::size_t place = at_;
    const std::uint32_t line = token(at_).line;
    const bool counts = accept("for");
    const bool tests_last = !counts && accept("do");
    if (!counts && !tests_last) ++at_;
    scopes_.emplace_back();
    Range step{0, 0};
    std::uint32_t differs = 0;
    if (counts && accept("(")) {
      simple();
      const Range test{at_, find(at_, tokens_.size(), ";")};
      differs = varies(test) ? line : 0;
      expression(test);
      at_ = test.end;
      accept(";");
      step = {at_, find(at_, tokens_.size(), ")")};
      at_ = step.end;
      accept(")");
    } else if (!counts && !tests_last) {
      differs = condition();
    }
    if (divergent_loops_.contains(place)) differs = line;
    controls_.push_back(differs);
    loops_.push_back({place, controls_.size()});
    statement();
    expression(step);
    loops_.pop_back();
    controls_.pop_back();
    if (tests_last && accept("while") && condition() != 0) divergent_loops_.insert(place);
    scopes_.pop_back();
  }

  // Work-items that leave a loop, or the kernel, while others go on.
  void leave() {
    const bool returns = token(at_).is("return");
    const std::uint32_t since = divergent_since();
    const std::size_t end = find(at_, tokens_.size(), ";");
    at_ = std::max(end, at_ + 1);
    accept(";");
    if (since == 0) return;
    if (!returns) {
      if (!loops_.empty() && differs_within(loops_.back().controls)) divergent_loops_.insert(loops_.back().place);
      return;
    }
    for (const Loop& loop : loops_) divergent_loops_.insert(loop.place);
    returned_at_ = since;
  }

  [[nodiscard]] bool differs_within(std::size_t controls) const {
    return std::any_of(controls_.begin() + static_cast<std::ptrdiff_t>(std::min(controls, controls_.size())),
                       controls_.end(), [](std::uint32_t line) { return line != 0; });
  }

  // A declaration or an expression, up to its semicolon.
  void simple() {
    const Range range{at_, find(at_, tokens_.size(), ";")};
    const std::size_t first = range.begin + (token(range.begin).is("const") ? 1 : 0);
    const bool declares = token(first).kind == TokenKind::identifier && token(first + 1).kind == TokenKind::identifier;
    if (declares) {
      for (std::size_t i = first + 1; i < range.end;) {
        scopes_.back()[std::string(tokens_[i].text)] = i;
        i = find(i, range.end, ",") + 1;
      }
    }
    expression(range);
    at_ = std::max(range.end, at_ + 1);
    if (!token(at_ - 1).is(";")) accept(";");
  }

  // Assignments and barriers anywhere in an expression.
  void expression(const Range& range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Token& here = tokens_[i];
      if (assigns(here)) {
        const std::size_t end = std::min(find(i + 1, range.end, ","), range.end);
        const std::size_t variable = variable_before(i, range.begin);
        assign(variable, varies({variable + 1, i}) || varies({i + 1, end}));
      } else if (here.is("++") || here.is("--")) {
        const bool before = token(i + 1).kind == TokenKind::identifier;
        assign(before ? i + 1 : variable_before(i, range.begin), false);
      } else if (here.kind == TokenKind::identifier &&
                 (is_barrier(here.text) || barrier_macros_.contains(std::string(here.text)))) {
        barrier(here);
        if (here.is(uniform_load)) check_array(token(i + 2));
      }
    }
  }

  void check_array(const Token& array) {
    const bool shared = std::ranges::find(source_.shared, array.text, &SharedArray::name) != source_.shared.end();
    if (reporting_ && !shared)
      report_(array, "arguments", "UNIFORM_LOAD takes the name of a shared array and an index");
  }

  // The name before an assignment sign and the indices of its elements.
  [[nodiscard]] std::size_t variable_before(std::size_t sign, std::size_t begin) const {
    std::size_t i = sign;
    for (int depth = 0; i > begin && (depth > 0 || tokens_[i - 1].is("]")); --i) {
      depth += tokens_[i - 1].is("]") ? 1 : tokens_[i - 1].is("[") ? -1 : 0;
    }
    return i > begin && tokens_[i - 1].kind == TokenKind::identifier ? i - 1 : sign;
  }

  // Notes that the variable named at `at` gets a value.
  void assign(std::size_t at, bool varying) {
    if (!varying && divergent_since() == 0) return;
    if (const std::size_t declared = declaration_of(token(at).text); declared != none) varying_.insert(declared);
  }

  [[nodiscard]] std::size_t declaration_of(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(std::string(name));
      if (found != scope->end()) return found->second;
    }
    return none;
  }

  [[nodiscard]] bool varies(const Range& range) const {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Token& here = tokens_[i];
      if (here.kind != TokenKind::identifier) continue;
      if (here.is(uniform_load)) {
        i += 2;  // the array; the index must be the same for all
        continue;
      }
      const std::size_t declared = declaration_of(here.text);
      if (declared != none ? varying_.contains(declared) : is_varying_name(here.text)) return true;
      const bool helper = token(i + 1).is("(") && here.text.front() >= 'a' && here.text.front() <= 'z';
      if (helper && functions_differ_) return true;
    }
    return false;
  }

  void barrier(const Token& at) {
    const std::uint32_t since = divergent_since();
    if (!reporting_ || since == 0) return;
    report_(
        at, "barrier",
        fmt::format("work-items may differ about the condition on line {}: conditions around a barrier take scalars, "
                    "group ids and UNIFORM_LOAD(array, i), no other memory and no ids of work-items",
                    since));
  }

  static constexpr std::size_t none = SIZE_MAX;

  struct Loop {
    std::size_t place;
    std::size_t controls;  // around its body
  };

  const KernelSource& source_;
  const LintReport& report_;
  std::vector<Token> tokens_;
  std::set<std::string> varying_macros_;
  std::set<std::string> barrier_macros_;
  bool functions_differ_ = false;  // helper functions read ids of work-items

  std::set<std::size_t> varying_;  // declarations
  std::set<std::size_t> divergent_loops_;
  bool reporting_ = false;

  std::size_t at_ = 0;
  std::vector<std::map<std::string, std::size_t>> scopes_;
  std::vector<Loop> loops_;
  std::vector<std::uint32_t> controls_;  // for each condition around the statement, its line if work-items may differ
  std::uint32_t returned_at_ = 0;        // the line of a condition under which some work-items returned
  int nesting_ = 0;
};

}  // namespace

void check_barriers(const KernelSource& source, std::span<const Token> body, const LintReport& report) {
  Uniformity(source, body, report).run();
}

void check_function_barriers(std::span<const Token> functions, const LintReport& report) {
  for (const Token& token : functions) {
    if (token.kind == TokenKind::identifier && is_barrier(token.text)) {
      report(token, "barrier", "barriers stand in the body, where the conditions around them are known");
    }
  }
}

}  // namespace vectis::inline v0_1::detail
