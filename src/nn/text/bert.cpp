#include "vectis/nn/bert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/check.hpp"
#include "nn/heads.hpp"
#include "nn/text/bert_sizes.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/attention.hpp"
#include "vectis/nn/dropout.hpp"
#include "vectis/nn/safetensors.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view bert_op = "bert";

void check_options(const BertOptions& options) {
  for (const BertSize& size : bert_sizes) {
    const std::int64_t value = options.*size.field;
    if (value >= 1 && value <= size.max) continue;
    throw_invalid(bert_op, fmt::format("{} is {}; give 1 to {}", size.name, value, size.max));
  }
  if (options.hidden_size % options.num_attention_heads != 0) {
    throw_invalid(bert_op, fmt::format("hidden_size {} does not divide into {} heads; change one of them",
                                       options.hidden_size, options.num_attention_heads));
  }
  check_not_negative(bert_op, "layer_norm_eps", options.layer_norm_eps);
  check_dropout(bert_op, options.hidden_dropout_prob);
  check_dropout(bert_op, options.attention_probs_dropout_prob);
}

LayerNorm norm_of(const BertOptions& options, const Generator& random) {
  return LayerNorm({options.hidden_size}, {.epsilon = options.layer_norm_eps, .where = random.options()});
}

// The name of a tensor of Hugging Face's files in Bert; empty for one of another part.
std::string name_in_bert(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  const bool is_part = name.starts_with("embeddings.") || name.starts_with("encoder.");
  if (!is_part || name == "embeddings.position_ids") return {};
  constexpr std::string_view old_weight = ".LayerNorm.gamma";
  constexpr std::string_view old_bias = ".LayerNorm.beta";
  if (name.ends_with(old_weight)) return std::string(name.substr(0, name.size() - 5)) + "weight";
  if (name.ends_with(old_bias)) return std::string(name.substr(0, name.size() - 4)) + "bias";
  return std::string(name);
}

}  // namespace

BertLayer::BertLayer(const BertOptions& options, Generator& random)
    : query((check_options(options), options.hidden_size), options.hidden_size, random),
      key(options.hidden_size, options.hidden_size, random),
      value(options.hidden_size, options.hidden_size, random),
      attention_output(options.hidden_size, options.hidden_size, random),
      attention_norm(norm_of(options, random)),
      intermediate(options.hidden_size, options.intermediate_size, random),
      output(options.intermediate_size, options.hidden_size, random),
      output_norm(norm_of(options, random)),
      heads_(options.num_attention_heads),
      activation_(options.hidden_act),
      dropout_(options.hidden_dropout_prob),
      attention_dropout_(options.attention_probs_dropout_prob) {}

Tensor BertLayer::attend(const Tensor& x, const Tensor& padding, const Mode& mode) const {
  const auto projected = [&](const Dense& dense) { return by_heads(dense.forward(x, mode), heads_); };
  const Tensor attended = scaled_dot_product_attention(projected(query), projected(key), projected(value),
                                                       {.key_padding = padding}, attention_dropout_, mode);
  return dropout(attention_output.forward(joined_heads(attended), mode), dropout_, mode);
}

Tensor BertLayer::feed_forward(const Tensor& x, const Mode& mode) const {
  return dropout(output.forward(activate(intermediate.forward(x, mode), activation_), mode), dropout_, mode);
}

Tensor BertLayer::forward(const Tensor& x, const Tensor& padding, const Mode& mode) const {
  check_rank(bert_op, x, 3, "(batch, sequence, features)");
  check_extent(bert_op, x, -1, query.weight.extent(1), "features");
  const Tensor attended = attention_norm.forward(x + attend(x, padding, mode), mode);
  return output_norm.forward(attended + feed_forward(attended, mode), mode);
}

void BertLayer::visit(Visitor& visitor) {
  visitor.child("attention.self.query", query);
  visitor.child("attention.self.key", key);
  visitor.child("attention.self.value", value);
  visitor.child("attention.output.dense", attention_output);
  visitor.child("attention.output.LayerNorm", attention_norm);
  visitor.child("intermediate.dense", intermediate);
  visitor.child("output.dense", output);
  visitor.child("output.LayerNorm", output_norm);
}

Bert::Bert(const BertOptions& given, Generator& random)
    : word_embeddings((check_options(given), given.vocab_size), given.hidden_size, random),
      position_embeddings(given.max_position_embeddings, given.hidden_size, random),
      token_type_embeddings(given.type_vocab_size, given.hidden_size, random),
      embeddings_norm(norm_of(given, random)),
      options_(given) {
  for (std::int64_t i = 0; i < given.num_hidden_layers; ++i) layers.emplace_back(given, random);
}

Tensor Bert::embed(const Tensor& ids, const Tensor& token_types, const Mode& mode) const {
  const Tensor types = token_types.is_empty() ? array::select(token_type_embeddings.weight, 0, 0)
                                              : token_type_embeddings.forward(token_types, mode);
  const Tensor positions = slice(position_embeddings.weight, 0, {.stop = ids.extent(1)});
  const Tensor sum = word_embeddings.forward(ids, mode) + types + positions;
  return dropout(embeddings_norm.forward(sum, mode), options_.hidden_dropout_prob, mode);
}

Tensor Bert::forward(const Tensor& ids, const BertInputs& inputs, const Mode& mode) const {
  check_rank(bert_op, ids, 2, "(batch, sequence) of numbers of tokens");
  if (ids.extent(1) > options_.max_position_embeddings) {
    throw_invalid(bert_op, fmt::format("a sequence has {} tokens, at most {} are allowed; truncate it", ids.extent(1),
                                       options_.max_position_embeddings));
  }
  Tensor x = in_layer("embeddings", [&] { return embed(ids, inputs.token_types, mode); });
  for (std::size_t i = 0; i < layers.size(); ++i) {
    x = in_layer(fmt::format("encoder.layer.{}", i), [&] { return layers[i].forward(x, inputs.padding, mode); });
  }
  return x;
}

void Bert::visit(Visitor& visitor) {
  visitor.child("embeddings.word_embeddings", word_embeddings);
  visitor.child("embeddings.position_embeddings", position_embeddings);
  visitor.child("embeddings.token_type_embeddings", token_type_embeddings);
  visitor.child("embeddings.LayerNorm", embeddings_norm);
  visitor.children("encoder.layer", layers);
}

void load_bert_state(Bert& model, const StateDict& state) {
  constexpr std::string_view prefix = "bert.";
  const bool has_prefix =
      std::ranges::any_of(state, [&](const StateDict::Entry& entry) { return entry.first.starts_with(prefix); });
  StateDict own;
  for (const auto& [name, value] : state) {
    std::string known = name_in_bert(name, has_prefix ? prefix : "");
    if (!known.empty()) own.add(std::move(known), value);
  }
  load_state_dict(model, own);
}

Bert load_bert(const std::string& folder, const array::TensorOptions& where, DType type) {
  Generator random(0, where);
  Bert model(read_bert_config(folder + "/config.json"), random);
  convert_to(model, type);
  const std::string weights = folder + "/model.safetensors";
  const StateDict state = load_safetensors(weights, {.runtime = &array::runtime_of(model.word_embeddings.weight)});
  in_layer(weights, [&] { load_bert_state(model, state); });
  eval(model);
  return model;
}

}  // namespace vectis::inline v0_1::nn
