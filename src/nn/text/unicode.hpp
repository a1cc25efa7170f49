// Characters and their properties as PyPI's `tokenizers` sees them, which classifies by tables of Unicode 8.
#pragma once

#include <string>
#include <string_view>

namespace vectis::inline v0_1::nn {

// Returns the characters of UTF-8 text. Throws InvalidInput, for the call `op`, at the first byte that is not UTF-8.
[[nodiscard]] std::u32string decode_utf8(std::string_view op, std::string_view text);
void append_utf8(std::string& text, char32_t c);
[[nodiscard]] std::string encode_utf8(std::u32string_view text);

// True for the property White_Space.
[[nodiscard]] bool is_white_space(char32_t c) noexcept;
// True for the categories Cc, Cf and Co, except tab, line feed and carriage return.
[[nodiscard]] bool is_control(char32_t c) noexcept;
// True for the categories P* and for what ASCII calls punctuation, such as '$' and '^'.
[[nodiscard]] bool is_punctuation(char32_t c) noexcept;
// True for the category Mn.
[[nodiscard]] bool is_nonspacing_mark(char32_t c) noexcept;
// True for the blocks that BERT's tokenizer takes for Chinese, each of whose characters is a word.
[[nodiscard]] bool is_chinese(char32_t c) noexcept;
// True for what regular expressions call \w (Unicode TR18).
[[nodiscard]] bool is_word_character(char32_t c) noexcept;

// Returns every character in lowercase, by itself: no rule looks at its neighbors, such as that of a final sigma.
[[nodiscard]] std::u32string to_lowercase(std::u32string_view text);
// Returns the canonical decomposition, NFD. Takes O(n log n), also for marks without end.
[[nodiscard]] std::u32string decompose(std::u32string_view text);

}  // namespace vectis::inline v0_1::nn
