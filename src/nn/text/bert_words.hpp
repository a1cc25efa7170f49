// From text to words as BERT's tokenizer does: BertNormalizer and BertPreTokenizer of PyPI's `tokenizers`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vectis/nn/tokenizer.hpp"

namespace vectis::inline v0_1::nn {

// Returns the text as `how` changes it.
[[nodiscard]] std::u32string normalize(std::u32string text, const BertNormalization& how);

// Returns the words of normalized text: separated by white space, and each punctuation character by itself. They are
// views of `text`.
[[nodiscard]] std::vector<std::u32string_view> split_words(std::u32string_view text);

}  // namespace vectis::inline v0_1::nn
