// WordPiece tokenizers (Schuster and Nakajima, 2012), as BERT (Devlin et al., 2018) and the models made from it use
// them: text in, numbers of tokens out.
//
//   nn::WordPieceTokenizer tokenizer = nn::WordPieceTokenizer::load("all-MiniLM-L6-v2");
//   std::vector<std::int32_t> ids = tokenizer.encode("semantic search");  // [CLS] semantic search [SEP]
//
// docs/text-encoders.md is the guide.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1::nn {

struct TokenizerParts;

// How text is changed before it is split into words: the BertNormalizer of PyPI's `tokenizers`.
struct BertNormalization {
  bool clean_text = true;            // removes control characters; white space of any kind becomes spaces
  bool handle_chinese_chars = true;  // each Chinese character is a word
  std::optional<bool> strip_accents = std::nullopt;  // empty: as `lowercase`
  bool lowercase = true;
};

// What a list of tokens does not say, and the file tokenizer_config.json does.
struct VocabularyOptions {
  BertNormalization normalization = {};
  std::string unknown = "[UNK]";
  std::string begin = "[CLS]";  // stands before each text
  std::string end = "[SEP]";    // stands behind it
  // Tokens that are found in text as they are written, besides the three above. Those without a number are left out.
  std::vector<std::string> special = {"[PAD]", "[MASK]"};
};

// Splits text into the tokens of a vocabulary and returns their numbers, those that PyPI's `tokenizers` returns for the
// same file without its truncation and padding. Characters that are newer than Unicode 15 may differ. Immutable and
// thread-safe; copies share the vocabulary.
class VECTIS_API WordPieceTokenizer {
 public:
  // Reads tokenizer.json in `folder`, or where there is none vocab.txt, with tokenizer_config.json if there is one.
  // Throws Io when there is neither, and what from_json() and from_vocabulary() throw, naming the file.
  static WordPieceTokenizer load(const std::string& folder);
  // Reads the text of a tokenizer.json. Throws CorruptData when it is not one, and Unsupported for another model than
  // WordPiece and another normalizer, pre-tokenizer or post-processor than those of BERT.
  static WordPieceTokenizer from_json(std::string_view text);
  // Makes a tokenizer of the lines of a vocab.txt: the number of a token is its position, the last one when it is
  // there twice. Throws CorruptData when it lacks `unknown`, `begin` or `end`.
  static WordPieceTokenizer from_vocabulary(std::span<const std::string> tokens, const VocabularyOptions& options = {});

  // Returns the numbers of the tokens of a text, with those that belong before and behind it. Of a text with more than
  // `max_length`, these included, the last ones are left out. Throws InvalidInput for text that is not UTF-8, and a
  // `max_length` without space for a token between those before and behind it.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text,
                                                 std::optional<std::int64_t> max_length = std::nullopt) const;

  // Returns the number of a token; nothing when it is not in the vocabulary.
  [[nodiscard]] std::optional<std::int32_t> id(std::string_view token) const;
  // Returns the largest number of a token.
  [[nodiscard]] std::int32_t id_max() const noexcept;
  // Returns the number of tokens that encode() adds before and behind each text.
  [[nodiscard]] std::int64_t added_count() const noexcept;
  // Returns true when text is converted to lowercase.
  [[nodiscard]] bool is_lowercase() const noexcept;

 private:
  explicit WordPieceTokenizer(TokenizerParts parts);

  std::shared_ptr<const TokenizerParts> parts_;
};

}  // namespace vectis::inline v0_1::nn
