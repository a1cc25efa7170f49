// vocab.txt, a token in each line, and tokenizer_config.json of Hugging Face's transformers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/parsed_file.hpp"
#include "nn/text/config_fields.hpp"
#include "nn/text/json_value.hpp"
#include "nn/text/tokenizer_parts.hpp"
#include "nn/text/unicode.hpp"

namespace vectis::inline v0_1::nn {

namespace {

std::int32_t id_of_special(const Vocabulary& vocabulary, const std::string& token) {
  if (const std::optional<std::int32_t> id = vocabulary.find(token)) return *id;
  throw_corrupt_file(tokenizer_op, fmt::format("the vocabulary has no token '{}'", shown(token)));
}

// A special token is a string, or an object with its content.
std::string special_token(const ConfigFields& config, std::string_view name, const std::string& missing) {
  const JsonValue* const value = config.find(name);
  if (value == nullptr || value->object() == nullptr) return config.string(name, missing);
  return ConfigFields(tokenizer_op, name, *value).string_at("content");
}

// Without white space at its end, of which files have only that of ASCII.
std::string_view trimmed(std::string_view line) noexcept {
  const std::size_t last = line.find_last_not_of(" \t\r\v\f");
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::vector<std::string> parse_vocabulary(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    tokens.emplace_back(trimmed(text.substr(at, end - at)));
    at = end + 1;
  }
  return tokens;
}

VocabularyOptions parse_tokenizer_config(std::string_view text) {
  const JsonValue document = JsonValue::parse(tokenizer_op, text);
  const ConfigFields config(tokenizer_op, "the configuration", document);
  if (!config.boolean("do_basic_tokenize", true)) {
    throw_unsupported(tokenizer_op,
                      "do_basic_tokenize is false; only text that the tokenizer splits into words is "
                      "supported");
  }
  VocabularyOptions options;
  options.normalization.lowercase = config.boolean("do_lower_case", true);
  options.normalization.handle_chinese_chars = config.boolean("tokenize_chinese_chars", true);
  if (config.find("strip_accents") != nullptr) {
    options.normalization.strip_accents = config.boolean("strip_accents", true);
  }
  options.unknown = special_token(config, "unk_token", options.unknown);
  options.begin = special_token(config, "cls_token", options.begin);
  options.end = special_token(config, "sep_token", options.end);
  options.special = {special_token(config, "pad_token", "[PAD]"), special_token(config, "mask_token", "[MASK]")};
  return options;
}

TokenizerParts parts_of_vocabulary(std::span<const std::string> tokens, const VocabularyOptions& options) {
  Vocabulary vocabulary;
  for (std::size_t i = 0; i < tokens.size(); ++i) vocabulary.set(tokens[i], static_cast<std::int32_t>(i));
  const std::int32_t unknown = id_of_special(vocabulary, options.unknown);
  const std::int32_t begin = id_of_special(vocabulary, options.begin);
  const std::int32_t end = id_of_special(vocabulary, options.end);

  std::vector<std::string> special = {options.unknown, options.begin, options.end};
  special.insert(special.end(), options.special.begin(), options.special.end());
  std::vector<AddedToken> added;
  for (const std::string& token : special) {
    const std::optional<std::int32_t> id = vocabulary.find(token);
    if (id) added.push_back({.content = decode_utf8(tokenizer_op, token), .id = *id, .normalized = false});
  }
  const std::int32_t id_max = vocabulary.id_max();
  return {.normalization = options.normalization,
          .pieces = {std::move(vocabulary), {.unknown = unknown}},
          .as_written = AddedTokens(added),
          .before = {begin},
          .behind = {end},
          .id_max = id_max};
}

}  // namespace vectis::inline v0_1::nn
