#include "tests/nn/layer_cases.hpp"

#include <utility>

namespace vectis::test {

namespace {

using Kind = CaseInput::Kind;
using nn::ActivationFunction;
using nn::Mode;

CaseInput integers(const Shape& shape, std::int64_t limit) { return {shape, Kind::integer, limit}; }
CaseInput units(const Shape& shape) { return {shape, Kind::unit}; }
CaseInput booleans(const Shape& shape) { return {shape, Kind::boolean}; }

// A case of the module that `make` returns, called by forward(module, inputs).
template <class Make, class Forward>
LayerCase layer(std::string name, std::vector<CaseInput> inputs, Make make, Forward forward) {
  LayerCase made{.name = std::move(name), .inputs = std::move(inputs), .make = {}};
  made.make = [make, forward](Generator& random) {
    auto module = std::make_shared<decltype(make(random))>(make(random));
    return CaseModule{module, [module](nn::Visitor& visitor) { module->visit(visitor); },
                      [module, forward](Inputs x) -> Outputs { return forward(*module, x); }};
  };
  return made;
}

// A case of a module with one input.
template <class Make>
LayerCase layer(std::string name, std::vector<CaseInput> inputs, Make make) {
  return layer(std::move(name), std::move(inputs), make,
               [](auto& module, Inputs x) { return Outputs{module.forward(x[0], Mode())}; });
}

struct NoModule {
  void visit(nn::Visitor& /*visitor*/) {}
};

// A case of a function.
template <class F>
LayerCase function(std::string name, std::vector<CaseInput> inputs, F f) {
  return layer(
      std::move(name), std::move(inputs), [](Generator&) { return NoModule(); },
      [f](NoModule&, Inputs x) { return Outputs{f(x)}; });
}

// Training of batch normalization draws no random numbers.
Mode training_without_draws() {
  static Generator random(0);
  return Mode::training(random);
}

void add_simple_layers(std::vector<LayerCase>& cases) {
  cases.push_back(layer("dense", {{{5, 3}}}, [](Generator& r) { return nn::Dense(3, 4, r); }));
  cases.push_back(
      layer("dense_no_bias", {{{2, 3, 5}}}, [](Generator& r) { return nn::Dense(5, 2, r, {.bias = false}); }));
  cases.push_back(layer("dense_vector", {{{5}}}, [](Generator& r) { return nn::Dense(5, 2, r); }));
  cases.push_back(layer("conv1d", {{{2, 3, 9}}},
                        [](Generator& r) { return nn::Conv1d(3, 4, {3}, r, {.stride = {2}, .padding = {1}}); }));
  cases.push_back(layer("conv2d", {{{2, 4, 7, 6}}}, [](Generator& r) {
    return nn::Conv2d(4, 6, {3, 2}, r, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
  }));
  cases.push_back(layer("conv2d_no_bias", {{{1, 1, 4, 4}}},
                        [](Generator& r) { return nn::Conv2d(1, 2, {3}, r, {.bias = false}); }));
  cases.push_back(
      layer("conv3d", {{{1, 2, 4, 5, 3}}}, [](Generator& r) { return nn::Conv3d(2, 3, {2}, r, {.padding = {1}}); }));
  cases.push_back(layer("max_pool", {{{2, 3, 7, 6}}},
                        [](Generator&) { return nn::MaxPool({3, 2}, {.stride = {2}, .padding = {1, 0}}); }));
  cases.push_back(layer("average_pool", {{{2, 3, 7, 6}}},
                        [](Generator&) { return nn::AveragePool({3, 2}, {.stride = {2}, .padding = {1, 0}}); }));
  cases.push_back(layer("global_average_pool", {{{2, 3, 4, 5}}}, [](Generator&) { return nn::GlobalAveragePool(); }));
  cases.push_back(layer("flatten", {{{2, 3, 4}}}, [](Generator&) { return nn::Flatten(); }));
  cases.push_back(layer("embedding", {integers({3, 4}, 7)}, [](Generator& r) { return nn::Embedding(7, 5, r); }));
  cases.push_back(layer("embedding_padding", {integers({3, 4}, 4)},
                        [](Generator& r) { return nn::Embedding(4, 5, r, {.padding_index = 1}); }));
  cases.push_back(layer("sequential", {{{4, 3}}}, [](Generator& r) {
    return nn::Sequential{nn::Dense(3, 6, r), nn::Activation(ActivationFunction::Tanh),
                          nn::Sequential{nn::Dense(6, 5, r), nn::Activation(ActivationFunction::GELU)},
                          nn::Dense(5, 2, r)};
  }));
}

void add_norms(std::vector<LayerCase>& cases) {
  const auto training = [](auto& module, Inputs x) { return Outputs{module.forward(x[0], training_without_draws())}; };
  cases.push_back(layer(
      "batch_norm_train", {{{6, 3}}}, [](Generator& r) { return nn::BatchNorm(3, {.where = r.options()}); }, training));
  cases.push_back(layer(
      "batch_norm_train_2d", {{{2, 3, 4, 5}}}, [](Generator& r) { return nn::BatchNorm(3, {.where = r.options()}); },
      training));
  cases.push_back(
      layer("batch_norm_eval", {{{4, 3, 5}}}, [](Generator& r) { return nn::BatchNorm(3, {.where = r.options()}); }));
  cases.push_back(layer("batch_norm_no_affine", {{{4, 3}}},
                        [](Generator& r) { return nn::BatchNorm(3, {.affine = false, .where = r.options()}); }));
  cases.push_back(
      layer("layer_norm", {{{2, 3, 8}}}, [](Generator& r) { return nn::LayerNorm({8}, {.where = r.options()}); }));
  cases.push_back(layer("layer_norm_2d", {{{3, 4, 5}}},
                        [](Generator& r) { return nn::LayerNorm({4, 5}, {.where = r.options()}); }));
  cases.push_back(layer("layer_norm_no_affine", {{{3, 5}}},
                        [](Generator& r) { return nn::LayerNorm({5}, {.affine = false, .where = r.options()}); }));
  cases.push_back(
      layer("rms_norm", {{{2, 3, 8}}}, [](Generator& r) { return nn::RMSNorm({8}, {.where = r.options()}); }));
  cases.push_back(
      layer("group_norm", {{{2, 6, 3, 2}}}, [](Generator& r) { return nn::GroupNorm(3, 6, {.where = r.options()}); }));
}

void add_recurrent(std::vector<LayerCase>& cases) {
  const auto with_state = [](auto& module, Inputs x) {
    const auto result = module.run(x[0], {x[1], Tensor()});
    return Outputs{result.output, result.state.hidden};
  };
  const auto with_cells = [](nn::LSTM& module, Inputs x) {
    const auto result = module.run(x[0], {x[1], x[2]});
    return Outputs{result.output, result.state.hidden, result.state.cell};
  };
  const auto both_ways = nn::RecurrentOptions{.layers = 2, .bidirectional = true, .batch_first = true};
  cases.push_back(layer("rnn", {{{5, 2, 3}}}, [](Generator& r) { return nn::RNN(3, 4, r); }));
  cases.push_back(layer(
      "rnn_relu", {{{3, 5, 3}}, {{4, 3, 4}}},
      [=](Generator& r) { return nn::RNN(3, 4, r, both_ways, nn::RecurrentActivation::relu); }, with_state));
  cases.push_back(layer("lstm", {{{5, 2, 3}}}, [](Generator& r) { return nn::LSTM(3, 4, r); }));
  cases.push_back(
      layer("lstm_no_bias", {{{1, 2, 3}}}, [](Generator& r) { return nn::LSTM(3, 4, r, {.bias = false}); }));
  cases.push_back(layer(
      "lstm_state", {{{3, 5, 3}}, {{4, 3, 4}}, {{4, 3, 4}}}, [=](Generator& r) { return nn::LSTM(3, 4, r, both_ways); },
      with_cells));
  cases.push_back(layer("gru", {{{5, 2, 3}}}, [](Generator& r) { return nn::GRU(3, 4, r); }));
  cases.push_back(layer("gru_no_bias", {{{1, 2, 3}}}, [](Generator& r) { return nn::GRU(3, 4, r, {.bias = false}); }));
  cases.push_back(layer(
      "gru_state", {{{3, 5, 3}}, {{4, 3, 4}}}, [=](Generator& r) { return nn::GRU(3, 4, r, both_ways); }, with_state));
}

void add_attention(std::vector<LayerCase>& cases) {
  using nn::MultiHeadAttention;
  const auto encoder = [](auto& module, Inputs x) { return Outputs{module.forward(x[0], {.is_causal = true})}; };
  const auto decoder = [](auto& module, Inputs x) {
    return Outputs{module.forward(x[0], x[1], {.self = {.is_causal = true}})};
  };
  const nn::TransformerOptions post{.feed_forward = 12, .dropout = 0};
  const nn::TransformerOptions pre{
      .feed_forward = 12, .dropout = 0, .activation = ActivationFunction::GELU, .norm_first = true};
  cases.push_back(layer("attention", {{{2, 5, 8}}}, [](Generator& r) { return MultiHeadAttention(8, 2, r); }));
  cases.push_back(layer(
      "attention_causal", {{{2, 5, 8}}}, [](Generator& r) { return MultiHeadAttention(8, 4, r, {.bias = false}); },
      [](MultiHeadAttention& module, Inputs x) {
        return Outputs{module.attend(x[0], x[0], x[0], {.is_causal = true})};
      }));
  cases.push_back(layer(
      "attention_cross", {{{2, 3, 8}}, {{2, 5, 8}}, {{2, 5, 8}}, {{3, 5}}},
      [](Generator& r) { return MultiHeadAttention(8, 2, r); },
      [](MultiHeadAttention& module, Inputs x) { return Outputs{module.attend(x[0], x[1], x[2], {.scores = x[3]})}; }));
  // The first key is never masked: a query without keys has no value.
  const auto all_but_first = [](const Tensor& mask) {
    const Tensor positions =
        array::arange(0, static_cast<double>(mask.extent(1)), 1, DType::int32, {.device = mask.device()});
    return logical_and(mask, greater(positions, 0));
  };
  cases.push_back(layer(
      "attention_masks", {{{2, 3, 8}}, {{2, 5, 8}}, booleans({3, 5}), booleans({2, 5})},
      [](Generator& r) { return MultiHeadAttention(8, 2, r); },
      [=](MultiHeadAttention& module, Inputs x) {
        return Outputs{
            module.attend(x[0], x[1], x[1], {.scores = all_but_first(x[2]), .key_padding = all_but_first(x[3])})};
      }));
  cases.push_back(
      layer("encoder_layer", {{{2, 5, 8}}}, [=](Generator& r) { return nn::TransformerEncoderLayer(8, 2, r, post); }));
  cases.push_back(layer(
      "encoder_layer_causal", {{{2, 5, 8}}}, [=](Generator& r) { return nn::TransformerEncoderLayer(8, 2, r, pre); },
      encoder));
  cases.push_back(
      layer("encoder", {{{2, 5, 8}}}, [=](Generator& r) { return nn::TransformerEncoder(2, 8, 2, r, pre); }, encoder));
  cases.push_back(layer(
      "decoder_layer", {{{2, 3, 8}}, {{2, 5, 8}}},
      [=](Generator& r) { return nn::TransformerDecoderLayer(8, 2, r, post); }, decoder));
  cases.push_back(layer(
      "decoder", {{{2, 3, 8}}, {{2, 5, 8}}}, [=](Generator& r) { return nn::TransformerDecoder(2, 8, 2, r, pre); },
      decoder));
  const nn::BertOptions bert{.vocab_size = 9,
                             .hidden_size = 8,
                             .num_hidden_layers = 2,
                             .num_attention_heads = 2,
                             .intermediate_size = 12,
                             .max_position_embeddings = 6,
                             .type_vocab_size = 2,
                             .hidden_dropout_prob = 0,
                             .attention_probs_dropout_prob = 0};
  cases.push_back(layer(
      "bert", {integers({2, 5}, 9), integers({2, 5}, 2), booleans({2, 5})},
      [=](Generator& r) { return nn::Bert(bert, r); },
      [=](nn::Bert& module, Inputs x) {
        return Outputs{module.forward(x[0], {.padding = all_but_first(x[2]), .token_types = x[1]})};
      }));
}

void add_activations(std::vector<LayerCase>& cases) {
  for (int i = 0; i <= static_cast<int>(ActivationFunction::LogSoftmax); ++i) {
    const auto chosen = static_cast<ActivationFunction>(i);
    cases.push_back(layer(std::string("activation_") + std::string(name(chosen)), {{{4, 7}}},
                          [=](Generator&) { return nn::Activation(chosen); }));
  }
  cases.push_back(layer("leaky_relu_0.2", {{{4, 7}}}, [](Generator&) { return nn::LeakyReLU(0.2); }));
  cases.push_back(layer("elu_0.7", {{{4, 7}}}, [](Generator&) { return nn::ELU(0.7); }));
}

void add_losses(std::vector<LayerCase>& cases) {
  using nn::Reduction;
  const std::vector<CaseInput> two = {{{4, 5}}, {{4, 5}}};
  cases.push_back(function("mse_loss", two, [](Inputs x) { return nn::mse_loss(x[0], x[1]); }));
  cases.push_back(function("mae_loss", two, [](Inputs x) { return nn::mae_loss(x[0], x[1], Reduction::sum); }));
  cases.push_back(function("huber_loss", two, [](Inputs x) { return nn::huber_loss(x[0], x[1], 0.8); }));
  const std::vector<CaseInput> numbers = {{{6, 5}}, integers({6}, 5), units({5})};
  cases.push_back(function("cross_entropy", numbers, [](Inputs x) { return nn::cross_entropy(x[0], x[1]); }));
  cases.push_back(function("cross_entropy_options", numbers, [](Inputs x) {
    return nn::cross_entropy(x[0], x[1],
                             {.label_smoothing = 0.1, .ignore_index = 2, .weight = array::stop_gradient(x[2])});
  }));
  cases.push_back(function("cross_entropy_ignored", numbers, [](Inputs x) {
    return nn::cross_entropy(x[0], x[1], {.label_smoothing = 0.2, .ignore_index = 1});
  }));
  cases.push_back(function("cross_entropy_images", {{{2, 5, 3, 2}}, integers({2, 3, 2}, 5)},
                           [](Inputs x) { return nn::cross_entropy(x[0], x[1], {.reduction = Reduction::none}); }));
  cases.push_back(function("cross_entropy_probabilities", {{{6, 5}}, units({6, 5}), units({5})}, [](Inputs x) {
    return nn::cross_entropy(x[0], x[1], {.label_smoothing = 0.1, .weight = array::stop_gradient(x[2])});
  }));
  cases.push_back(function("binary_cross_entropy_with_logits", {{{4, 5}}, units({4, 5})},
                           [](Inputs x) { return nn::binary_cross_entropy_with_logits(x[0], x[1], 2.5); }));
  cases.push_back(function("binary_cross_entropy", {units({4, 5}), units({4, 5})},
                           [](Inputs x) { return nn::binary_cross_entropy(x[0], x[1]); }));
  cases.push_back(
      function("info_nce_loss", {{{5, 4}}, {{5, 4}}}, [](Inputs x) { return nn::info_nce_loss(x[0], x[1], 0.3); }));
  cases.push_back(function("triplet_loss", {{{4, 6}}, {{4, 6}}, {{4, 6}}},
                           [](Inputs x) { return nn::triplet_loss(x[0], x[1], x[2], 0.5); }));
}

}  // namespace

std::vector<LayerCase> layer_cases(std::optional<CaseGroup> group) {
  std::vector<LayerCase> cases;
  const auto is_wanted = [&](CaseGroup one) { return !group || *group == one; };
  if (is_wanted(CaseGroup::simple_layers)) add_simple_layers(cases);
  if (is_wanted(CaseGroup::norms)) add_norms(cases);
  if (is_wanted(CaseGroup::recurrent)) add_recurrent(cases);
  if (is_wanted(CaseGroup::attention)) add_attention(cases);
  if (is_wanted(CaseGroup::activations)) add_activations(cases);
  if (is_wanted(CaseGroup::losses)) add_losses(cases);
  for (LayerCase& made : cases) {
    for (const char* const name :
         {"embedding_padding", "cross_entropy_options", "cross_entropy_probabilities", "encoder", "decoder"}) {
      if (made.name == name) made.has_differences = false;
    }
  }
  return cases;
}

std::vector<Tensor> random_inputs(const LayerCase& test, Generator& random, DType type) {
  std::vector<Tensor> inputs;
  for (const CaseInput& input : test.inputs) {
    switch (input.kind) {
      case Kind::normal:
        inputs.push_back(random.normal(input.shape, 0, 1, type).eval());
        break;
      case Kind::unit:
        inputs.push_back(random.uniform(input.shape, 0.05, 0.95, type).eval());
        break;
      case Kind::integer:
        inputs.push_back(random.integers(input.shape, 0, input.limit).eval());
        break;
      case Kind::boolean:
        inputs.push_back(random.bernoulli(input.shape, 0.4).eval());
        break;
    }
  }
  return inputs;
}

CaseResult run_case(CaseModule& module, std::span<const Tensor> inputs, std::span<const Tensor> adjoints) {
  CaseResult result;
  std::vector<Tensor> variables(inputs.begin(), inputs.end());
  std::vector<Tensor*> pointers;
  const auto is_real = [](const Tensor& x) { return x.dtype() == DType::float32 || x.dtype() == DType::float64; };
  for (Tensor& input : variables) {
    if (is_real(input)) pointers.push_back(&input);
  }
  const std::size_t real_inputs = pointers.size();
  for (Tensor* parameter : nn::parameters(module)) pointers.push_back(parameter);
  const auto loss = [&] {
    result.outputs = module.forward(variables);
    Tensor total;
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      const Tensor& output = result.outputs[i];
      const Tensor part = sum(adjoints.empty() ? output : output * adjoints[i]);
      total = total.is_empty() ? part : total + part;
    }
    return total;
  };
  std::vector<Tensor> gradients;
  if (pointers.empty()) {
    loss();
  } else {
    gradients = nn::value_and_grad(pointers, loss).gradients;
  }
  std::size_t next = 0;
  for (const Tensor& input : inputs) result.input_gradients.push_back(is_real(input) ? gradients[next++] : Tensor());
  result.parameter_gradients.assign(gradients.begin() + static_cast<std::ptrdiff_t>(real_inputs), gradients.end());
  std::vector<Tensor> all = gradients;
  all.insert(all.end(), result.outputs.begin(), result.outputs.end());
  array::eval(all);
  nn::eval(module);
  return result;
}

}  // namespace vectis::test
