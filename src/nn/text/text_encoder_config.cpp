#include "nn/text/text_encoder_config.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "nn/parsed_file.hpp"
#include "nn/text/config_fields.hpp"
#include "nn/text/json_value.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::int64_t configured_length_max = std::int64_t{1} << 40;  // files write "no limit" as a huge number

// Calls `read` with the JSON document at `path`; returns false when there is no such file.
template <class Read>
bool read_if_present(const std::string& path, const Read& read) {
  if (real_os().access(path) == FileAccess::absent) return false;
  parse_text_file(text_encoder_op, path, [&](std::string_view text) { read(JsonValue::parse(text_encoder_op, text)); });
  return true;
}

TextPooling read_pooling(const JsonValue& document) {
  constexpr std::array<std::pair<std::string_view, TextPooling>, 3> modes = {{
      {"pooling_mode_mean_tokens", TextPooling::mean},
      {"pooling_mode_cls_token", TextPooling::cls},
      {"pooling_mode_max_tokens", TextPooling::max},
  }};
  constexpr std::array<std::string_view, 3> unsupported = {
      "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
  const ConfigFields config(text_encoder_op, "the pooling", document);
  std::vector<TextPooling> chosen;
  for (const auto& [name, pooling] : modes) {
    if (config.boolean(name, false)) chosen.push_back(pooling);
  }
  for (const std::string_view name : unsupported) {
    if (config.boolean(name, false)) {
      throw_unsupported(text_encoder_op, fmt::format("{} is true; mean, cls and max are supported", name));
    }
  }
  if (chosen.size() != 1) {
    throw_unsupported(text_encoder_op, fmt::format("{} modes of pooling are true; one of mean, cls and max is "
                                                   "supported",
                                                   chosen.size()));
  }
  return chosen.front();
}

// The folder of a module, inside of that of the model.
std::string module_folder(const std::string& folder, const std::string& path) {
  if (path.empty()) return folder;
  if (path.front() == '/' || path.find("..") != std::string::npos || path.find('\0') != std::string::npos) {
    throw_corrupt_file(text_encoder_op, fmt::format("the module '{}' is not inside of the folder", shown(path)));
  }
  return folder + "/" + path;
}

// Reads one module of the row: the network, then pooling, then perhaps normalization.
void read_module(const std::string& folder, const JsonValue& document, std::size_t position,
                 TextEncoderConfig& config) {
  constexpr std::array<std::string_view, 3> kinds = {"Transformer", "Pooling", "Normalize"};
  const ConfigFields module(text_encoder_op, "a module", document);
  const std::string& type = module.string_at("type");
  const std::string_view kind = std::string_view(type).substr(type.rfind('.') + 1);
  if (position >= kinds.size() || kind != kinds.at(position)) {
    throw_unsupported(text_encoder_op,
                      fmt::format("module {} is '{}'; a Transformer, a Pooling and perhaps a Normalize "
                                  "are supported, in this order",
                                  position, shown(type)));
  }
  const std::string path = module_folder(folder, module.string("path", ""));
  if (kind == "Transformer") config.network_folder = path;
  if (kind == "Normalize") config.normalizes = true;
  if (kind != "Pooling") return;
  const std::string file = path + "/config.json";
  if (!read_if_present(file, [&](const JsonValue& pooling) { config.pooling = read_pooling(pooling); })) {
    throw Error(ErrorCode::io, text_encoder_op, fmt::format("{} does not exist; use a complete folder", file));
  }
}

void read_modules(const std::string& folder, const JsonValue& document, TextEncoderConfig& config) {
  constexpr std::size_t min_modules = 2;
  if (document.array() == nullptr || document.array()->size() < min_modules) {
    throw_corrupt_file(text_encoder_op, "the document is no list of a network and a pooling");
  }
  for (std::size_t i = 0; i < document.array()->size(); ++i) read_module(folder, (*document.array())[i], i, config);
}

void read_sentence_config(const JsonValue& document, TextEncoderConfig& config) {
  const ConfigFields fields(text_encoder_op, "the configuration", document);
  config.lowercases = fields.boolean("do_lower_case", false);
  if (fields.find("max_seq_length") == nullptr) return;
  config.max_length = fields.integer_at("max_seq_length", {.min = 1, .max = configured_length_max});
}

// The tokenizer's limit, which is written as 1e30 when there is none.
void read_tokenizer_limit(const JsonValue& document, TextEncoderConfig& config) {
  const ConfigFields fields(text_encoder_op, "the configuration", document);
  const JsonValue* const limit = fields.find("model_max_length");
  if (config.max_length || limit == nullptr || limit->kind() == JsonKind::real) return;
  config.max_length = fields.integer_at("model_max_length", {.min = 1});
}

}  // namespace

TextEncoderConfig read_text_encoder_config(const std::string& folder) {
  TextEncoderConfig config{.network_folder = folder};
  read_if_present(folder + "/modules.json", [&](const JsonValue& document) { read_modules(folder, document, config); });
  read_if_present(config.network_folder + "/sentence_bert_config.json",
                  [&](const JsonValue& document) { read_sentence_config(document, config); });
  read_if_present(config.network_folder + "/tokenizer_config.json",
                  [&](const JsonValue& document) { read_tokenizer_limit(document, config); });
  return config;
}

}  // namespace vectis::inline v0_1::nn
