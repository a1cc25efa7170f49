#include "nn/text/bert_words.hpp"

#include <algorithm>
#include <utility>

#include "nn/text/unicode.hpp"

namespace vectis::inline v0_1::nn {

namespace {

void clean(std::u32string& text) {
  constexpr char32_t replacement_character = 0xFFFD;
  std::erase_if(text, [](char32_t c) { return c == 0 || c == replacement_character || is_control(c); });
  std::ranges::replace_if(text, is_white_space, U' ');
}

std::u32string with_spaces_around_chinese(std::u32string_view text) {
  std::u32string spaced;
  spaced.reserve(text.size());
  for (const char32_t c : text) {
    if (is_chinese(c)) {
      spaced += {U' ', c, U' '};
    } else {
      spaced += c;
    }
  }
  return spaced;
}

}  // namespace

std::u32string normalize(std::u32string text, const BertNormalization& how) {
  if (how.clean_text) clean(text);
  if (how.handle_chinese_chars) text = with_spaces_around_chinese(text);
  if (how.strip_accents.value_or(how.lowercase)) {
    text = decompose(text);
    std::erase_if(text, is_nonspacing_mark);
  }
  return how.lowercase ? to_lowercase(text) : text;
}

std::vector<std::u32string_view> split_words(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const bool is_mark = at < text.size() && is_punctuation(text[at]);
    if (at < text.size() && !is_mark && !is_white_space(text[at])) continue;
    if (begin < at) words.push_back(text.substr(begin, at - begin));
    if (is_mark) words.push_back(text.substr(at, 1));
    begin = at + 1;
  }
  return words;
}

}  // namespace vectis::inline v0_1::nn
