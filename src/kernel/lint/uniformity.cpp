#include "kernel/lint/uniformity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernel/lint/macros.hpp"

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

// A variable is identified by the place of its declaration, a loop or switch by the place of its keyword; what is found
// out about them stays for the next pass over the body, until a pass finds nothing new.
class Uniformity {
 public:
  Uniformity(const KernelSource& source, std::span<const Token> tokens, const LintReport& report)
      : source_(source), report_(report) {
    Macros macros(source);
    const std::vector<Token> functions = macros.expand(tokenize(source.functions));
    std::string_view defined;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (functions[i].is("FUNCTION") && i + 2 < functions.size()) defined = functions[i + 2].text;
      if (differs_by_item(functions[i].text) || varying_functions_.contains(std::string(functions[i].text)))
        varying_functions_.insert(std::string(defined));
    }
    tokens_ = macros.expand(tokens);
  }

  void run() {
    std::size_t known = 0;
    do {
      known = varying_.size() + divergent_.size();
      pass();
    } while (varying_.size() + divergent_.size() != known);
    reporting_ = true;
    pass();
  }

 private:
  struct Range {
    std::size_t begin, end;
  };

  [[nodiscard]] bool is_varying_name(std::string_view name) const {
    if (differs_by_item(name) || varying_functions_.contains(std::string(name))) return true;
    return std::ranges::find(source_.shared, name, &SharedArray::name) != source_.shared.end() ||
           std::ranges::find(source_.buffers, name, &BufferParameter::name) != source_.buffers.end();
  }

  void pass() {
    at_ = 0;
    scopes_.assign(1, {});
    left_.clear();
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
      too_deep({at_, tokens_.size()});
      at_ = tokens_.size();
    } else if (accept("{")) {
      scopes_.emplace_back();
      while (at_ < tokens_.size() && !token(at_).is("}")) statement();
      accept("}");
      scopes_.pop_back();
    } else if (token(at_).is("if")) {
      choice();
    } else if (token(at_).is("switch")) {
      selection();
    } else if (token(at_).is("case") || token(at_).is("default")) {
      at_ = find(at_, tokens_.size(), ":");
      accept(":");
    } else if (token(at_).is("for") || token(at_).is("while") || token(at_).is("do")) {
      loop();
    } else if (token(at_).is("return") || token(at_).is("break") || token(at_).is("continue")) {
      leave();
    } else {
      simple();
    }
    --nesting_;
  }

  // ( condition )
  Range condition() {
    if (!accept("(")) return {at_, at_};
    const Range range{at_, find(at_, tokens_.size(), ")")};
    at_ = range.end;
    accept(")");
    return range;
  }

  // The line of a condition that work-items may differ about, or 0.
  [[nodiscard]] std::uint32_t line_if_varying(const Range& range) const {
    return varies(range) ? token(range.begin).line : 0;
  }

  void choice() {
    ++at_;
    const Range test = condition();
    expression(test);
    controls_.push_back(line_if_varying(test));
    const std::uint32_t before = returned_at_;
    statement();
    if (accept("else")) {
      const std::uint32_t after_first = std::exchange(returned_at_, before);
      statement();
      if (returned_at_ == 0) returned_at_ = after_first;
    }
    controls_.pop_back();
  }

  void selection() {
    const std::size_t place = at_++;
    const Range test = condition();
    expression(test);
    const std::uint32_t line = token(place).line;
    controls_.push_back(varies(test) || divergent_.contains(place) ? line : 0);
    left_.push_back({place, controls_.size(), false});
    statement();
    left_.pop_back();
    controls_.pop_back();
  }

  // Work-items that differ about the test of a loop run it, and the step of a for, a different number of times.
  void loop() {
    const std::size_t place = at_;
    const std::uint32_t line = token(at_).line;
    const bool counts = accept("for");
    const bool tests_last = !counts && accept("do");
    if (!counts && !tests_last) ++at_;
    scopes_.emplace_back();
    Range step{0, 0};
    Range test{0, 0};
    if (counts && accept("(")) {
      simple();
      test = {at_, find(at_, tokens_.size(), ";")};
      at_ = test.end;
      accept(";");
      step = {at_, find(at_, tokens_.size(), ")")};
      at_ = step.end;
      accept(")");
    } else if (!counts && !tests_last) {
      test = condition();
    }
    controls_.push_back(varies(test) || divergent_.contains(place) ? line : 0);
    expression(test);
    left_.push_back({place, controls_.size(), true});
    statement();
    left_.pop_back();
    expression(step);
    if (tests_last && accept("while")) {
      test = condition();
      if (varies(test)) divergent_.insert(place);
      expression(test);
    }
    controls_.pop_back();
    scopes_.pop_back();
  }

  // Work-items that leave a loop, a switch or the kernel while others go on.
  void leave() {
    const bool returns = token(at_).is("return");
    const bool breaks = token(at_).is("break");
    const std::uint32_t since = divergent_since();
    const std::size_t end = find(at_, tokens_.size(), ";");
    at_ = std::max(end, at_ + 1);
    accept(";");
    if (since == 0) return;
    if (returns) {
      for (const Left& one : left_) divergent_.insert(one.place);
      returned_at_ = since;
      return;
    }
    const auto target =
        std::find_if(left_.rbegin(), left_.rend(), [&](const Left& one) { return breaks || one.is_loop; });
    if (target != left_.rend() && differs_within(target->controls)) divergent_.insert(target->place);
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

  // Assignments and barriers anywhere in an expression, with those parts of it that are conditions.
  void expression(const Range& range) {
    if (++nesting_ > nesting_max) {
      too_deep(range);
    } else {
      for (std::size_t from = range.begin; from < range.end;) {
        const std::size_t end = find(from, range.end, ",");
        assignment({from, end});
        from = end + 1;
      }
    }
    --nesting_;
  }

  // Without commas outside of brackets. What follows the ? of a condition that differs, differs.
  void assignment(Range range) {
    const std::size_t around = controls_.size();
    for (;;) {
      const std::size_t sign = first_of(range, [](const Token& one) { return assigns(one) || one.is("?"); });
      if (sign == range.end) break;
      const Range left{range.begin, sign};
      operands(left);
      if (!tokens_[sign].is("?")) {
        const std::size_t variable = variable_before(sign, range.begin);
        assign(variable, varies({variable + 1, sign}) || varies({sign + 1, range.end}));
        range.begin = sign + 1;
        continue;
      }
      controls_.push_back(line_if_varying(left));
      const std::size_t colon = colon_of({sign + 1, range.end});
      expression({sign + 1, colon});
      range.begin = std::min(colon + 1, range.end);
    }
    operands(range);
    controls_.resize(around);
  }

  // The : that belongs to a ? before the range.
  [[nodiscard]] std::size_t colon_of(const Range& range) const {
    int open = 1;
    return first_of(range, [&](const Token& one) {
      open += one.is("?") ? 1 : one.is(":") ? -1 : 0;
      return open == 0;
    });
  }

  // Operands of && and ||: whether one is computed depends on those to its left.
  void operands(const Range& range) {
    const std::size_t around = controls_.size();
    for (std::size_t from = range.begin; from < range.end;) {
      const Range one{from, first_of({from, range.end}, [](const Token& t) { return t.is("&&") || t.is("||"); })};
      operand(one);
      controls_.push_back(line_if_varying(one));
      from = one.end + 1;
    }
    controls_.resize(around);
  }

  void operand(const Range& range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Token& here = tokens_[i];
      if (opens(here)) {
        const std::size_t end = find(i + 1, range.end, ")");
        expression({i + 1, end});
        i = end;
      } else if (here.is("++") || here.is("--")) {
        const bool before = token(i + 1).kind == TokenKind::identifier;
        assign(before ? i + 1 : variable_before(i, range.begin), false);
      } else if (is_barrier(here.text)) {
        barrier(here);
        if (here.is(uniform_load)) check_array(token(i + 2));
      }
    }
  }

  // The first token of the range outside of brackets that `test` accepts, or its end.
  template <class Test>
  [[nodiscard]] std::size_t first_of(const Range& range, Test test) const {
    int depth = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (depth == 0 && test(tokens_[i])) return i;
      depth += opens(tokens_[i]) ? 1 : closes(tokens_[i]) ? -1 : 0;
    }
    return range.end;
  }

  void too_deep(const Range& range) {
    for (std::size_t i = range.begin; reporting_ && i < range.end; ++i) {
      if (!is_barrier(tokens_[i].text)) continue;
      report_(tokens_[i], "barrier",
              fmt::format("statements and brackets around a barrier nest up to {} deep", nesting_max));
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

  // A loop or switch around the statement, which others leave.
  struct Left {
    std::size_t place;
    std::size_t controls;  // around its body
    bool is_loop;
  };

  const KernelSource& source_;
  const LintReport& report_;
  std::vector<Token> tokens_;
  std::set<std::string> varying_functions_;  // helper functions that read ids of work-items

  std::set<std::size_t> varying_;    // declarations
  std::set<std::size_t> divergent_;  // loops, and switches, that work-items leave at different times
  bool reporting_ = false;

  std::size_t at_ = 0;
  std::vector<std::map<std::string, std::size_t>> scopes_;
  std::vector<Left> left_;
  std::vector<std::uint32_t> controls_;  // for each condition around the statement, its line if work-items may differ
  std::uint32_t returned_at_ = 0;        // the line of a condition under which some work-items returned
  int nesting_ = 0;
};

}  // namespace

void check_barriers(const KernelSource& source, std::span<const Token> body, const LintReport& report) {
  Uniformity(source, body, report).run();
}

void check_function_barriers(const KernelSource& source, std::span<const Token> functions, const LintReport& report) {
  for (const Token& token : Macros(source).expand(functions)) {
    if (token.kind == TokenKind::identifier && is_barrier(token.text)) {
      report(token, "barrier", "barriers stand in the body, where the conditions around them are known");
    }
  }
}

}  // namespace vectis::inline v0_1::detail
