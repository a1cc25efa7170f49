// Tokens that are found in text as they are written, such as "[MASK]", before the rest is split into words: the
// AddedVocabulary of PyPI's `tokenizers`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vectis::inline v0_1::nn {

struct AddedToken {
  std::u32string content = {};
  std::int32_t id = 0;
  bool single_word = false;  // is found only where no character of a word is beside it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool normalized = true;    // is found in normalized text, not in text as it was given
};

// A part of a text: a token, or text between tokens.
struct TextPart {
  std::optional<std::int32_t> id = std::nullopt;
  std::u32string_view text = {};  // empty for a token
};

// Tokens to find. Immutable and thread-safe.
class AddedTokens {
 public:
  AddedTokens() = default;
  // Tokens without content are left out, and those whose content an earlier one has.
  explicit AddedTokens(const std::vector<AddedToken>& tokens);

  // Splits a text at the tokens in it: the leftmost first, and of those that begin at one character the longest. The
  // parts are views of `text`, none of which is empty.
  [[nodiscard]] std::vector<TextPart> split(std::u32string_view text) const;

 private:
  // The longest token at a position; null when there is none.
  [[nodiscard]] const AddedToken* find_at(std::u32string_view text, std::size_t at) const noexcept;

  std::vector<AddedToken> tokens_;  // by content, in reverse order: of those with one beginning the longest first
};

}  // namespace vectis::inline v0_1::nn
