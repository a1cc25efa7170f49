#include "vectis/nn/tokenizer.hpp"

#include <fmt/format.h>

#include <utility>

#include "nn/check.hpp"
#include "nn/parsed_file.hpp"
#include "nn/text/bert_words.hpp"
#include "nn/text/tokenizer_parts.hpp"
#include "nn/text/unicode.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1::nn {

namespace {

bool exists(const std::string& path) { return real_os().access(path) != FileAccess::absent; }

void append_text(const TokenizerParts& parts, std::u32string_view text, std::vector<std::int32_t>& ids) {
  const std::u32string normalized = normalize(std::u32string(text), parts.normalization);
  for (const TextPart& part : parts.as_normalized.split(normalized)) {
    if (part.id) {
      ids.push_back(*part.id);
    } else {
      for (const std::u32string_view word : split_words(part.text)) parts.pieces.append(word, ids);
    }
  }
}

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(TokenizerParts parts)
    : parts_(std::make_shared<const TokenizerParts>(std::move(parts))) {}

WordPieceTokenizer WordPieceTokenizer::load(const std::string& folder) {
  const std::string json = folder + "/tokenizer.json";
  const std::string vocabulary = folder + "/vocab.txt";
  const std::string config = folder + "/tokenizer_config.json";
  if (exists(json)) return parse_text_file(tokenizer_op, json, from_json);
  if (!exists(vocabulary)) {
    throw Error(ErrorCode::io, tokenizer_op,
                fmt::format("{} has neither tokenizer.json nor vocab.txt; give the folder of a model", folder));
  }
  VocabularyOptions options;
  if (exists(config)) options = parse_text_file(tokenizer_op, config, parse_tokenizer_config);
  return parse_text_file(tokenizer_op, vocabulary,
                         [&](std::string_view text) { return from_vocabulary(parse_vocabulary(text), options); });
}

WordPieceTokenizer WordPieceTokenizer::from_json(std::string_view text) {
  return WordPieceTokenizer(parse_tokenizer_json(text));
}

WordPieceTokenizer WordPieceTokenizer::from_vocabulary(std::span<const std::string> tokens,
                                                       const VocabularyOptions& options) {
  return WordPieceTokenizer(parts_of_vocabulary(tokens, options));
}

std::vector<std::int32_t> WordPieceTokenizer::encode(std::string_view text,
                                                     std::optional<std::int64_t> max_length) const {
  if (max_length && *max_length <= added_count()) {
    throw_invalid(tokenizer_op, fmt::format("max_length is {}, of which {} are taken by the tokens before and behind a "
                                            "text; give at least {}",
                                            *max_length, added_count(), added_count() + 1));
  }
  std::vector<std::int32_t> ids = parts_->before;
  const std::u32string characters = decode_utf8(tokenizer_op, text);
  for (const TextPart& part : parts_->as_written.split(characters)) {
    if (part.id) {
      ids.push_back(*part.id);
    } else {
      append_text(*parts_, part.text, ids);
    }
  }
  const std::size_t behind = parts_->behind.size();
  if (max_length && std::cmp_greater(ids.size() + behind, *max_length)) {
    ids.resize(static_cast<std::size_t>(*max_length) - behind);
  }
  ids.insert(ids.end(), parts_->behind.begin(), parts_->behind.end());
  return ids;
}

std::optional<std::int32_t> WordPieceTokenizer::id(std::string_view token) const {
  return parts_->pieces.vocabulary().find(token);
}

std::int32_t WordPieceTokenizer::id_max() const noexcept { return parts_->id_max; }

std::int64_t WordPieceTokenizer::added_count() const noexcept {
  return static_cast<std::int64_t>(parts_->before.size() + parts_->behind.size());
}

bool WordPieceTokenizer::is_lowercase() const noexcept { return parts_->normalization.lowercase; }

}  // namespace vectis::inline v0_1::nn
