// tokenizer.json of PyPI's `tokenizers`: model, normalizer, pre-tokenizer, post-processor and added tokens.
#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "nn/parsed_file.hpp"
#include "nn/text/bert_words.hpp"
#include "nn/text/config_fields.hpp"
#include "nn/text/json_value.hpp"
#include "nn/text/tokenizer_parts.hpp"
#include "nn/text/unicode.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr IntegerRange token_ids{0, std::numeric_limits<std::int32_t>::max()};

// Throws Unsupported unless the type of a part of the file is the expected one.
void check_type(const ConfigFields& part, std::string_view name, std::string_view expected) {
  const std::string type = part.string("type", "");
  if (type == expected) return;
  throw_unsupported(tokenizer_op, fmt::format("the {} is of type '{}', but only {} is supported; use a tokenizer of a "
                                              "BERT-like model",
                                              name, shown(type), expected));
}

Vocabulary read_vocabulary(const JsonValue& vocab) {
  const JsonObject* const tokens = vocab.object();
  if (tokens == nullptr) {
    throw_corrupt_file(tokenizer_op, fmt::format("the vocabulary is {}, not an object", vocab.kind_name()));
  }
  const ConfigFields fields(tokenizer_op, "the vocabulary", vocab);
  Vocabulary vocabulary;
  for (const auto& [token, id] : *tokens) {
    vocabulary.set(token, static_cast<std::int32_t>(fields.integer_at(token, token_ids)));
  }
  return vocabulary;
}

// Files of the first versions have no type, and are recognized by their members.
bool is_untyped_word_piece(const ConfigFields& model) {
  return model.find("type") == nullptr && model.find("max_input_chars_per_word") != nullptr &&
         model.find("merges") == nullptr;
}

WordPiece read_model(const ConfigFields& file) {
  const ConfigFields model(tokenizer_op, "the model", file.at("model"));
  if (!is_untyped_word_piece(model)) check_type(model, "model", "WordPiece");
  Vocabulary vocabulary = read_vocabulary(model.at("vocab"));
  const std::string unknown = model.string("unk_token", "[UNK]");
  const std::optional<std::int32_t> id = vocabulary.find(unknown);
  if (!id) throw_corrupt_file(tokenizer_op, fmt::format("the vocabulary has no token '{}'", shown(unknown)));
  return {std::move(vocabulary),
          {.unknown = *id,
           .continuing_subword_prefix = model.string("continuing_subword_prefix", "##"),
           .max_input_chars_per_word = model.integer("max_input_chars_per_word", 100, token_ids)}};
}

BertNormalization read_normalization(const ConfigFields& file) {
  const JsonValue* const given = file.find("normalizer");
  if (given == nullptr) return {false, false, false, false};
  const ConfigFields normalizer(tokenizer_op, "the normalizer", *given);
  check_type(normalizer, "normalizer", "BertNormalizer");
  BertNormalization how;
  how.clean_text = normalizer.boolean("clean_text", true);
  how.handle_chinese_chars = normalizer.boolean("handle_chinese_chars", true);
  how.lowercase = normalizer.boolean("lowercase", true);
  if (normalizer.find("strip_accents") != nullptr) how.strip_accents = normalizer.boolean("strip_accents", true);
  return how;
}

void check_pre_tokenizer(const ConfigFields& file) {
  if (file.find("pre_tokenizer") == nullptr) {
    throw_unsupported(tokenizer_op, "there is no pre-tokenizer; use a tokenizer of a BERT-like model");
  }
  check_type(ConfigFields(tokenizer_op, "the pre-tokenizer", file.at("pre_tokenizer")), "pre-tokenizer",
             "BertPreTokenizer");
}

// Returns the number of a token; empty for a value that is none.
std::optional<std::int32_t> token_id(const JsonValue& value) {
  const std::optional<std::int64_t> id = value.integer();
  if (!id || *id < token_ids.min || *id > token_ids.max) return std::nullopt;
  return static_cast<std::int32_t>(*id);
}

// The member of a pair ["[CLS]", 101] of BertProcessing.
std::int32_t id_of_pair(const ConfigFields& processor, std::string_view name) {
  const JsonValue::Array& pair = processor.array_at(name);
  const std::optional<std::int32_t> id = pair.size() == 2 ? token_id(pair[1]) : std::nullopt;
  if (id) return *id;
  throw_corrupt_file(tokenizer_op, fmt::format("{} of the post-processor is no pair of a token and its number", name));
}

// Appends the numbers of a special token of a TemplateProcessing.
void append_special(const ConfigFields& processor, const JsonValue& step, std::vector<std::int32_t>& ids) {
  const ConfigFields token(tokenizer_op, "a special token of the template", step);
  if (token.integer("type_id", 0, token_ids) != 0) {
    throw_unsupported(tokenizer_op,
                      "a special token of the template has a type other than 0; the types of tokens of a "
                      "single text must be 0");
  }
  const ConfigFields known(tokenizer_op, "the special tokens of the post-processor", processor.at("special_tokens"));
  const ConfigFields entry(tokenizer_op, "a special token", known.at(token.string_at("id")));
  for (const JsonValue& id : entry.array_at("ids")) {
    const std::optional<std::int32_t> number = token_id(id);
    if (!number) throw_corrupt_file(tokenizer_op, "an id of a special token is no number of a token");
    ids.push_back(*number);
  }
}

void read_template(const ConfigFields& processor, TokenizerParts& parts) {
  bool has_text = false;
  for (const JsonValue& step : processor.array_at("single")) {
    if (const JsonValue* const special = step.find("SpecialToken")) {
      append_special(processor, *special, has_text ? parts.behind : parts.before);
    } else if (step.find("Sequence") == nullptr || std::exchange(has_text, true)) {
      throw_corrupt_file(tokenizer_op, "the template of a single text does not have the text once");
    }
  }
  if (!has_text) throw_corrupt_file(tokenizer_op, "the template of a single text does not have the text");
}

void read_post_processor(const ConfigFields& file, TokenizerParts& parts) {
  const JsonValue* const given = file.find("post_processor");
  if (given == nullptr) return;
  const ConfigFields processor(tokenizer_op, "the post-processor", *given);
  if (processor.string("type", "") == "BertProcessing") {
    parts.before = {id_of_pair(processor, "cls")};
    parts.behind = {id_of_pair(processor, "sep")};
    return;
  }
  check_type(processor, "post-processor", "TemplateProcessing");
  read_template(processor, parts);
}

AddedToken read_added_token(const JsonValue& value, const Vocabulary& vocabulary) {
  const ConfigFields fields(tokenizer_op, "an added token", value);
  const std::string& content = fields.string_at("content");
  const auto id = static_cast<std::int32_t>(fields.integer_at("id", token_ids));
  const std::int32_t known = vocabulary.find(content).value_or(id);
  if (known != id) {
    throw_corrupt_file(tokenizer_op, fmt::format("the added token '{}' has number {}, but {} in the vocabulary",
                                                 shown(content), id, known));
  }
  return {.content = decode_utf8(tokenizer_op, content),
          .id = id,
          .single_word = fields.boolean("single_word", false),
          .lstrip = fields.boolean("lstrip", false),
          .rstrip = fields.boolean("rstrip", false),
          .normalized = fields.boolean("normalized", true)};
}

void read_added_tokens(const ConfigFields& file, TokenizerParts& parts) {
  if (file.find("added_tokens") == nullptr) return;
  std::vector<AddedToken> as_written;
  std::vector<AddedToken> as_normalized;
  for (const JsonValue& value : file.array_at("added_tokens")) {
    AddedToken token = read_added_token(value, parts.pieces.vocabulary());
    parts.id_max = std::max(parts.id_max, token.id);
    if (!token.normalized) {
      as_written.push_back(std::move(token));
      continue;
    }
    token.content = normalize(std::move(token.content), parts.normalization);
    as_normalized.push_back(std::move(token));
  }
  parts.as_written = AddedTokens(as_written);
  parts.as_normalized = AddedTokens(as_normalized);
}

}  // namespace

TokenizerParts parse_tokenizer_json(std::string_view text) {
  const JsonValue document = JsonValue::parse(tokenizer_op, text);
  const ConfigFields file(tokenizer_op, "the document", document);
  TokenizerParts parts{.normalization = read_normalization(file), .pieces = read_model(file)};
  parts.id_max = parts.pieces.vocabulary().id_max();
  check_pre_tokenizer(file);
  read_post_processor(file, parts);
  read_added_tokens(file, parts);
  for (const std::int32_t id : parts.before) parts.id_max = std::max(parts.id_max, id);
  for (const std::int32_t id : parts.behind) parts.id_max = std::max(parts.id_max, id);
  return parts;
}

}  // namespace vectis::inline v0_1::nn
