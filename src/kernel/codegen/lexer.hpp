// The tokens of a body, with their places.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vectis::inline v0_1::detail {

enum class TokenKind : std::uint8_t { identifier, number, punctuation, directive, text };

struct Token {
  TokenKind kind = TokenKind::punctuation;
  std::string_view text;  // of the source, which must outlive it; a directive is its whole line
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  [[nodiscard]] bool is(std::string_view other) const noexcept { return text == other; }
};

// Comments and blanks are left out. Never fails: what is no token of C is punctuation of one character.
std::vector<Token> tokenize(std::string_view source);

}  // namespace vectis::inline v0_1::detail
