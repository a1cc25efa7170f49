#include <algorithm>
#include <array>

#include "kernel/lint/lint.hpp"

namespace vectis::inline v0_1::detail {

namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_word(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

constexpr std::array<std::string_view, 24> long_punctuation = {
    "<<=", ">>=", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
    "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "->", "::", "##"};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (skip_blanks(), at_ < source_.size()) next();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const noexcept { return source_.substr(at_); }

  void advance(std::size_t count) {
    for (; count > 0 && at_ < source_.size(); --count, ++at_) {
      if (source_[at_] == '\n') {
        ++line_;
        column_ = 1;
        line_is_empty_ = true;
      } else {
        ++column_;
      }
    }
  }

  void skip_blanks() {
    for (;;) {
      const std::size_t blanks = std::min(rest().find_first_not_of(" \t\r\n\v\f"), rest().size());
      advance(blanks);
      if (rest().starts_with("//")) {
        advance(std::min(rest().find('\n'), rest().size()));
      } else if (rest().starts_with("/*")) {
        const std::size_t end = rest().find("*/", 2);
        advance(end == std::string_view::npos ? rest().size() : end + 2);
      } else if (rest().starts_with("\\\n")) {
        advance(2);
      } else if (blanks == 0) {
        return;
      }
    }
  }

  void add(TokenKind kind, std::size_t length) {
    tokens_.push_back({kind, rest().substr(0, length), line_, column_});
    line_is_empty_ = false;
    advance(length);
  }

  void next() {
    const char c = source_[at_];
    if (c == '#' && line_is_empty_) return add(TokenKind::directive, directive_length());
    if (is_digit(c) || (c == '.' && rest().size() > 1 && is_digit(rest()[1]))) {
      return add(TokenKind::number, number_length());
    }
    if (is_word(c)) {
      const auto* const end = std::ranges::find_if_not(rest(), is_word);
      return add(TokenKind::identifier, static_cast<std::size_t>(end - rest().begin()));
    }
    if (c == '"' || c == '\'') return add(TokenKind::text, text_length(c));
    for (const std::string_view sign : long_punctuation) {
      if (rest().starts_with(sign)) return add(TokenKind::punctuation, sign.size());
    }
    add(TokenKind::punctuation, 1);
  }

  // To the end of the line, with the lines a backslash joins to it.
  [[nodiscard]] std::size_t directive_length() const noexcept {
    std::size_t end = 0;
    for (;;) {
      end = std::min(rest().find('\n', end), rest().size());
      if (end == rest().size() || rest()[end - 1] != '\\') return end;
      ++end;
    }
  }

  // A preprocessing number: digits, letters, dots, and signs after an exponent.
  [[nodiscard]] std::size_t number_length() const noexcept {
    const bool hexadecimal = rest().starts_with("0x") || rest().starts_with("0X");
    std::size_t end = 1;
    for (; end < rest().size(); ++end) {
      const char c = rest()[end];
      const char before = rest()[end - 1];
      const bool exponent = hexadecimal ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
      if (!is_word(c) && c != '.' && !(exponent && (c == '+' || c == '-'))) break;
    }
    return end;
  }

  [[nodiscard]] std::size_t text_length(char quote) const noexcept {
    for (std::size_t end = 1; end < rest().size() && rest()[end] != '\n'; ++end) {
      if (rest()[end] == quote) return end + 1;
      if (rest()[end] == '\\') ++end;
    }
    return 1;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
  bool line_is_empty_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace vectis::inline v0_1::detail
