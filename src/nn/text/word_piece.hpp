// The vocabulary of a WordPiece tokenizer, and the pieces of words in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vectis::inline v0_1::nn {

// Numbers of tokens. Distinct tokens may have one number.
class Vocabulary {
 public:
  void set(std::string token, std::int32_t id);
  [[nodiscard]] std::optional<std::int32_t> find(std::string_view token) const;
  [[nodiscard]] std::int32_t id_max() const noexcept { return id_max_; }       // -1 without tokens
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }  // of a token

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view token) const noexcept { return std::hash<std::string_view>()(token); }
  };

  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::int32_t id_max_ = -1;
  std::size_t bytes_max_ = 0;
};

struct WordPieceOptions {
  std::int32_t unknown = 0;                      // stands for a word without pieces in the vocabulary
  std::string continuing_subword_prefix = "##";  // of the pieces behind the first
  std::int64_t max_input_chars_per_word = 100;   // a longer word is unknown
};

// Splits a word into the longest pieces, from its beginning on. Immutable and thread-safe.
class WordPiece {
 public:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options)
      : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {}

  // Appends the numbers of the pieces of a word that is not empty. Takes O(characters * longest token) lookups.
  void append(std::u32string_view word, std::vector<std::int32_t>& ids) const;

  [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

 private:
  struct Piece {
    std::int32_t id;
    std::size_t bytes;
  };
  // The longest token that `text` begins with, `prefix` included; nothing when there is none beyond the prefix.
  [[nodiscard]] std::optional<Piece> longest_piece(std::string_view text, std::size_t prefix_bytes) const;

  Vocabulary vocabulary_;
  WordPieceOptions options_;
};

}  // namespace vectis::inline v0_1::nn
