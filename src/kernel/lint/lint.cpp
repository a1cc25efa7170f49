// The rules that can be seen in the tokens. What needs types is in lint_expressions.cpp and lint_statements.cpp.
#include "kernel/lint/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "kernel/lint/uniformity.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1 {

namespace {

using detail::Token;
using detail::TokenKind;

class Linter {
 public:
  Linter(const KernelSource& source, std::string_view text, bool functions)
      : source_(source), tokens_(detail::tokenize(text)), functions_(functions) {}

  // `names` learns the helper functions, which the body then finds.
  std::vector<LintFinding> run(detail::Names& names) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      switch (tokens_[i].kind) {
        case TokenKind::identifier:
          identifier(i);
          break;
        case TokenKind::number:
          number(tokens_[i]);
          break;
        case TokenKind::directive:
          directive(tokens_[i]);
          break;
        case TokenKind::text:
          report(tokens_[i], "text", "there are no strings and characters in a kernel");
          break;
        case TokenKind::punctuation:
          punctuation(i);
          break;
      }
    }
    check_types(names);
    return std::move(findings_);
  }

 private:
  void report(const Token& token, std::string_view rule, std::string message) {
    findings_.push_back({token.line, token.column, functions_, std::string(rule), std::move(message)});
  }

  // A line on which something stands that is not of the subset has no types worth looking at.
  void check_types(detail::Names& names) {
    std::vector<Token> code;
    std::ranges::copy_if(tokens_, std::back_inserter(code), [](auto& t) { return t.kind != TokenKind::directive; });
    std::set<std::uint32_t> reported;
    for (const LintFinding& finding : findings_) reported.insert(finding.line);
    const detail::LintReport unless_reported = [&](const Token& at, std::string_view rule, std::string text) {
      if (!reported.contains(at.line)) report(at, rule, std::move(text));
    };
    if (functions_) {
      detail::check_function_types(code, names, unless_reported);
      detail::check_function_barriers(source_, tokens_, unless_reported);
    } else {
      detail::check_body_types(code, names, unless_reported);
      detail::check_barriers(source_, tokens_, unless_reported);
    }
    std::ranges::sort(findings_, {}, [](auto& f) { return std::tie(f.line, f.column, f.rule, f.message); });
  }

  // The token `step` places away, or one without text.
  [[nodiscard]] Token near(std::size_t i, int step) const {
    const auto at = static_cast<std::ptrdiff_t>(i) + step;
    if (at < 0 || at >= static_cast<std::ptrdiff_t>(tokens_.size())) return {};
    return tokens_[static_cast<std::size_t>(at)];
  }

  void identifier(std::size_t i) {
    const Token& token = tokens_[i];
    const detail::IdentifierVerdict verdict = detail::judge_identifier(token.text);
    // A variable may be called as a function is, since no dialect minds: only a call is wrong.
    if (!verdict.rule.empty() && (verdict.rule != "function" || near(i, 1).is("(") || !is_lower(token.text))) {
      report(token, verdict.rule, fmt::format("{}: {}", token.text, verdict.advice));
      return;
    }
    if (detail::is_value_type(token.text)) return value_type(i);
    buffer_word(i);
  }

  static bool is_lower(std::string_view text) noexcept { return text[0] >= 'a' && text[0] <= 'z'; }

  void value_type(std::size_t i) {
    const Token& token = tokens_[i];
    if (near(i, 1).is("(")) {
      report(token, "cast", fmt::format("{0}(…) is a conversion: use {1}(…)", token.text, conversion(token.text)));
    } else if (near(i, -1).is("(") && near(i, 1).is(")")) {
      report(token, "cast", fmt::format("({0}) is a cast: use {1}(…)", token.text, conversion(token.text)));
    } else if (near(i, 1).is("*") || near(i, 1).is("&")) {
      report(near(i, 1), "pointer", "there are no pointers and references: use an index");
    }
  }

  static std::string_view conversion(std::string_view type) noexcept {
    return type == "float" ? "F32" : type == "int" ? "I32" : type == "uint" ? "U32" : "a comparison instead of bool";
  }

  [[nodiscard]] const BufferParameter* buffer(std::string_view name) const noexcept {
    const auto found = std::ranges::find(source_.buffers, name, &BufferParameter::name);
    return found == source_.buffers.end() ? nullptr : &*found;
  }

  // LOAD_x and its like, and x[i] itself.
  void buffer_word(std::size_t i) {
    const Token& token = tokens_[i];
    if (const BufferParameter* const direct = buffer(token.text); direct != nullptr && near(i, 1).is("[")) {
      if (lanes(direct->element) > 1) {
        report(token, "packed",
               fmt::format("{0} holds {1} packed into words: use LOAD_{0}, WORD_{0} or STORE_WORD_{0}", token.text,
                           short_name(direct->element)));
      }
      if (functions_) outside(token);
      return;
    }
    for (const std::string_view prefix :
         {"LOAD_", "STORE_WORD_", "STORE_", "OLD_WORD_", "WORD_", "INSERT_", "LANES_"}) {
      if (token.text.starts_with(prefix)) return check_buffer_word(token, prefix, token.text.substr(prefix.size()));
    }
  }

  void check_buffer_word(const Token& token, std::string_view prefix, std::string_view name_of_buffer) {
    const BufferParameter* const found = buffer(name_of_buffer);
    if (found == nullptr) {
      return report(token, "unknown-buffer", fmt::format("the kernel has no buffer {}", name_of_buffer));
    }
    const bool stores = prefix.starts_with("STORE_");
    const bool loads = prefix == "LOAD_" || prefix == "WORD_";
    if (functions_ && (stores || loads || prefix == "OLD_WORD_")) outside(token);
    if (stores && found->access == Access::read) {
      report(token, "access", fmt::format("{} is only read: declare it as write or read_write", found->name));
    } else if (loads && found->access == Access::write) {
      report(token, "access", fmt::format("{} is only written: declare it as read_write", found->name));
    } else if (prefix == "STORE_" && lanes(found->element) > 1) {
      report(token, "packed",
             fmt::format("{0} holds {1} packed into words: build a word with INSERT_{0} and store it "
                         "with STORE_WORD_{0}",
                         found->name, short_name(found->element)));
    }
  }

  void outside(const Token& token) {
    report(token, "buffer-in-function",
           fmt::format("{}: helper functions cannot reach buffers; pass the value", token.text));
  }

  void number(const Token& token) {
    const std::string_view text = token.text;
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    const char last = text.back();
    if (hexadecimal && text.find_first_of(".pP") != std::string_view::npos) {
      return report(token, "literal", fmt::format("{}: write the number in decimal", text));
    }
    if (!hexadecimal && text.find_first_of(".eE") != std::string_view::npos) {
      if (last != 'f') report(token, "literal", fmt::format("{0} would be a double: write {0}f", text));
      return;
    }
    if (!hexadecimal && (last == 'f' || last == 'F')) {
      return report(token, "literal", fmt::format("{}: a float has a point, as in 1.0f", text));
    }
    integer(token, hexadecimal);
  }

  void integer(const Token& token, bool hexadecimal) {
    const std::string_view text = token.text;
    const std::string_view digits = text.substr(hexadecimal ? 2 : 0);
    const std::size_t end =
        std::min(digits.find_first_not_of(hexadecimal ? "0123456789abcdefABCDEF" : "0123456789"), digits.size());
    const std::string_view suffix = digits.substr(end);
    if (!suffix.empty() && suffix != "u") {
      return report(token, "literal", fmt::format("{}: integers end in a digit, or in u", text));
    }
    if (!hexadecimal && end > 1 && digits[0] == '0') {
      return report(token, "literal", fmt::format("{} would be octal", text));
    }
    std::uint64_t value = 0;
    for (const char digit : digits.substr(0, end)) {
      const unsigned number =
          digit <= '9' ? static_cast<unsigned>(digit - '0') : (static_cast<unsigned>(digit) & 7U) + 9;
      value = std::min<std::uint64_t>(value * (hexadecimal ? 16 : 10) + number, std::uint64_t{1} << 40);
    }
    if (value > 0xffffffffU || (suffix.empty() && value > 0x7fffffffU)) {
      report(token, "literal", fmt::format("{} does not fit in {}", text, suffix.empty() ? "int: add u" : "32 bits"));
    }
  }

  void directive(const Token& token) {
    const std::size_t begin = std::min(token.text.find_first_not_of("# \t"), token.text.size());
    const std::string_view rest = token.text.substr(begin);
    const std::string_view word = rest.substr(0, std::min(rest.find_first_of(" \t\n("), rest.size()));
    for (const std::string_view allowed : {"define", "undef", "if", "ifdef", "ifndef", "else", "elif", "endif"}) {
      if (word != allowed) continue;
      if (rest.find('#') == std::string_view::npos) return;
      return report(token, "directive", "# and ## are not in every dialect's preprocessor");
    }
    report(token, "directive", fmt::format("#{} is not in every dialect; only #define, #if and their like are", word));
  }

  // Whether an operator at `i` stands before an operand, with nothing to its left.
  [[nodiscard]] bool is_prefix(std::size_t i) const {
    const Token before = near(i, -1);
    if (before.kind == TokenKind::identifier && !before.text.empty()) return before.is("return") || before.is("case");
    return before.text.empty() || (before.kind == TokenKind::punctuation && !before.is(")") && !before.is("]") &&
                                   !before.is("++") && !before.is("--"));
  }

  void punctuation(std::size_t i) {
    const Token& token = tokens_[i];
    if (token.is("->")) return report(token, "pointer", "there are no pointers: use an index");
    if (token.is("&") && is_prefix(i)) return report(token, "pointer", "addresses are not taken: use an index");
    if (token.is("*") && is_prefix(i)) return report(token, "pointer", "there are no pointers: use an index");
    if (token.is("=") && near(i, 1).is("{")) {
      return report(near(i, 1), "initializer", "lists do not initialize in every dialect: assign the elements");
    }
    if (token.is(".") && near(i, 1).kind == TokenKind::identifier) {
      return report(token, "member", "there are no members and swizzles: use scalars and arrays");
    }
    for (const std::string_view foreign : {"::", "...", "##", "#", "@", "$", "`", "\\", "\"", "'"}) {
      if (token.is(foreign)) return report(token, "syntax", fmt::format("{} is not in every dialect", token.text));
    }
  }

  const KernelSource& source_;
  std::vector<Token> tokens_;
  bool functions_;
  std::vector<LintFinding> findings_;
};

}  // namespace

std::vector<LintFinding> lint(const KernelSource& source) {
  detail::Names names(source);
  std::vector<LintFinding> findings = Linter(source, source.functions, true).run(names);
  std::vector<LintFinding> body = Linter(source, source.body, false).run(names);
  findings.insert(findings.end(), std::make_move_iterator(body.begin()), std::make_move_iterator(body.end()));
  return findings;
}

}  // namespace vectis::inline v0_1
