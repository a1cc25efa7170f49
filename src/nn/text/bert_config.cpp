// config.json of Hugging Face's models of type "bert".
#include <fmt/format.h>

#include <array>
#include <utility>

#include "nn/parsed_file.hpp"
#include "nn/text/bert_sizes.hpp"
#include "nn/text/config_fields.hpp"
#include "nn/text/json_value.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view bert_config_op = "read_bert_config";

constexpr std::array<std::pair<std::string_view, ActivationFunction>, 10> activation_names = {{
    {"gelu", ActivationFunction::GELU},
    {"gelu_python", ActivationFunction::GELU},
    {"gelu_new", ActivationFunction::GELUTanh},
    {"gelu_fast", ActivationFunction::GELUTanh},
    {"gelu_pytorch_tanh", ActivationFunction::GELUTanh},
    {"relu", ActivationFunction::ReLU},
    {"silu", ActivationFunction::Swish},
    {"swish", ActivationFunction::Swish},
    {"tanh", ActivationFunction::Tanh},
    {"mish", ActivationFunction::Mish},
}};

ActivationFunction activation_of(const std::string& name) {
  for (const auto& [known, function] : activation_names) {
    if (known == name) return function;
  }
  throw_unsupported(bert_config_op, fmt::format("hidden_act is '{}'; gelu, gelu_new, relu, silu, tanh and mish are "
                                                "supported",
                                                shown(name)));
}

// Throws Unsupported unless a member is missing or has the one value that is supported.
void check_is(const ConfigFields& config, std::string_view name, std::string_view supported) {
  const std::string found = config.string(name, supported);
  if (found == supported) return;
  throw_unsupported(bert_config_op, fmt::format("{} is '{}', but only '{}' is supported; use another model", name,
                                                shown(found), supported));
}

double dropout_of(const ConfigFields& config, std::string_view name, double missing) {
  const double probability = config.number(name, missing);
  if (probability < 1) return probability;
  throw_corrupt_file(bert_config_op, fmt::format("{} is {}, not a probability below 1", name, probability));
}

}  // namespace

BertOptions parse_bert_config(std::string_view text) {
  const JsonValue document = JsonValue::parse(bert_config_op, text);
  const ConfigFields config(bert_config_op, "the configuration", document);
  check_is(config, "model_type", "bert");
  check_is(config, "position_embedding_type", "absolute");
  if (config.boolean("is_decoder", false)) {
    throw_unsupported(bert_config_op, "is_decoder is true; only encoders are supported, use another model");
  }
  BertOptions options;
  for (const BertSize& size : bert_sizes) {
    options.*size.field = config.integer(size.name, options.*size.field, {.min = 1, .max = size.max});
  }
  if (options.hidden_size % options.num_attention_heads != 0) {
    throw_corrupt_file(bert_config_op, fmt::format("hidden_size {} does not divide into {} attention heads",
                                                   options.hidden_size, options.num_attention_heads));
  }
  options.hidden_act = activation_of(config.string("hidden_act", "gelu"));
  options.layer_norm_eps = config.number("layer_norm_eps", options.layer_norm_eps);
  options.hidden_dropout_prob = dropout_of(config, "hidden_dropout_prob", options.hidden_dropout_prob);
  options.attention_probs_dropout_prob =
      dropout_of(config, "attention_probs_dropout_prob", options.attention_probs_dropout_prob);
  return options;
}

BertOptions read_bert_config(const std::string& path) {
  return parse_text_file(bert_config_op, path, parse_bert_config);
}

}  // namespace vectis::inline v0_1::nn
