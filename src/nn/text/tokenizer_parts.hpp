// What a WordPiece tokenizer is made of, and its files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/added_tokens.hpp"
#include "nn/text/word_piece.hpp"
#include "vectis/nn/tokenizer.hpp"

namespace vectis::inline v0_1::nn {

inline constexpr std::string_view tokenizer_op = "tokenizer";

struct TokenizerParts {
  BertNormalization normalization;
  WordPiece pieces;
  AddedTokens as_written = {};            // tokens that are found before normalization
  AddedTokens as_normalized = {};         // tokens that are found behind it
  std::vector<std::int32_t> before = {};  // what stands before each text
  std::vector<std::int32_t> behind = {};  // what stands behind each text
  std::int32_t id_max = -1;               // of all tokens
};

// Reads the text of a tokenizer.json. Throws as WordPieceTokenizer::from_json does.
[[nodiscard]] TokenizerParts parse_tokenizer_json(std::string_view text);
// Makes the parts of the lines of a vocab.txt. Throws as WordPieceTokenizer::from_vocabulary does.
[[nodiscard]] TokenizerParts parts_of_vocabulary(std::span<const std::string> tokens, const VocabularyOptions& options);
// Returns the lines of a vocab.txt without white space at their ends.
[[nodiscard]] std::vector<std::string> parse_vocabulary(std::string_view text);
// Reads the text of a tokenizer_config.json. Throws CorruptData when it is not one, Unsupported for a tokenizer that
// does not split text into words.
[[nodiscard]] VocabularyOptions parse_tokenizer_config(std::string_view text);

}  // namespace vectis::inline v0_1::nn
