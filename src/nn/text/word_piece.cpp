#include "nn/text/word_piece.hpp"

#include <algorithm>

#include "nn/text/unicode.hpp"

namespace vectis::inline v0_1::nn {

void Vocabulary::set(std::string token, std::int32_t id) {
  id_max_ = std::max(id_max_, id);
  bytes_max_ = std::max(bytes_max_, token.size());
  ids_.insert_or_assign(std::move(token), id);
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<WordPiece::Piece> WordPiece::longest_piece(std::string_view text, std::size_t prefix_bytes) const {
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;  // within a character
  };
  for (std::size_t bytes = std::min(text.size(), vocabulary_.bytes_max()); bytes > prefix_bytes; --bytes) {
    if (continues(bytes)) continue;
    if (const std::optional<std::int32_t> id = vocabulary_.find(text.substr(0, bytes))) return Piece{*id, bytes};
  }
  return std::nullopt;
}

void WordPiece::append(std::u32string_view word, std::vector<std::int32_t>& ids) const {
  if (std::cmp_greater(word.size(), options_.max_input_chars_per_word)) {
    ids.push_back(options_.unknown);
    return;
  }
  const std::string& prefix = options_.continuing_subword_prefix;
  const std::size_t count_before = ids.size();
  std::string left = encode_utf8(word);
  std::size_t prefix_bytes = 0;
  while (left.size() > prefix_bytes) {
    const std::optional<Piece> piece = longest_piece(left, prefix_bytes);
    if (!piece) {
      ids.resize(count_before);
      ids.push_back(options_.unknown);
      return;
    }
    ids.push_back(piece->id);
    left.replace(0, piece->bytes, prefix);
    prefix_bytes = prefix.size();
  }
}

}  // namespace vectis::inline v0_1::nn
