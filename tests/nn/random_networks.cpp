#include "tests/nn/random_networks.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

namespace vectis::test {

namespace {

using nn::ActivationFunction;
using nn::LayerBuilder;

class Draw {
 public:
  explicit Draw(Random& random) : random_(random) {}

  NetworkCase network() {
    Shape input;
    switch (random_.below(4)) {
      case 0:
        input = {between(8, 400)};
        vectors();
        break;
      case 1:
        input = {between(1, 4), 4 * between(3, 7), 4 * between(3, 7)};
        images();
        break;
      case 2:
        input = {between(3, 24), 8 * between(1, 8)};
        sequences(input[1]);
        break;
      default:
        input = {between(3, 24)};
        tokens(8 * between(1, 8));
    }
    return finished(input);
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool chance(double share) { return random_.unit() < share; }

  void add(LayerBuilder layer, std::string text) {
    if (chance(0.4)) {
      const auto function = static_cast<ActivationFunction>(random_.below(6));
      layer.activation(function);
      text += fmt::format(" {}", nn::name(function));
    }
    layers_.push_back(std::move(layer));
    text_ += (text_.empty() ? "" : ", ") + text;
  }
  void dropout() {
    if (chance(0.3)) add(LayerBuilder::dropout(0.2), "dropout");
  }

  void vectors() {
    for (std::int64_t i = between(1, 5); i > 0; --i) {
      const std::int64_t units = 8 * between(1, 64);
      add(LayerBuilder::dense(units, chance(0.8)), fmt::format("dense({})", units));
      if (chance(0.3)) add(LayerBuilder::batch_norm(), "batch_norm");
      if (chance(0.3)) add(LayerBuilder::layer_norm(), "layer_norm");
      if (chance(0.2)) add(LayerBuilder::rms_norm(), "rms_norm");
      dropout();
    }
  }

  void images() {
    for (std::int64_t i = between(1, 3); i > 0; --i) {
      const std::int64_t filters = 4 * between(1, 6);
      add(LayerBuilder::conv2d(filters, {3, 3}, {.padding = {1, 1}}), fmt::format("conv2d({})", filters));
      if (chance(0.4)) add(LayerBuilder::batch_norm(), "batch_norm");
      if (chance(0.2)) add(LayerBuilder::group_norm(2), "group_norm");
      if (i != 2)
        chance(0.5) ? add(LayerBuilder::max_pool({2, 2}), "max_pool")
                    : add(LayerBuilder::average_pool({2, 2}), "average_pool");
      dropout();
    }
    chance(0.5) ? add(LayerBuilder::flatten(), "flatten")
                : add(LayerBuilder::global_average_pool(), "global_average_pool");
  }

  void tokens(std::int64_t features) {
    tokens_ = between(50, 3000);
    add(LayerBuilder::embedding(tokens_, features), fmt::format("embedding({}, {})", tokens_, features));
    sequences(features);
  }
  void sequences(std::int64_t features) {
    if (chance(0.4)) add(LayerBuilder::positional_encoding(64), "positional_encoding");
    for (std::int64_t i = between(1, 2); i > 0; --i) features = sequence_layer(features);
    add(LayerBuilder::last_of_sequence(), "last_of_sequence");
  }
  // Returns the features of the result.
  std::int64_t sequence_layer(std::int64_t features) {
    const std::int64_t hidden = 8 * between(1, 8);
    const nn::RecurrentOptions options{.layers = between(1, 2), .bidirectional = chance(0.3)};
    const std::int64_t features_after = options.bidirectional ? 2 * hidden : hidden;
    const std::string text = fmt::format("({}, {}, {})", hidden, options.layers, options.bidirectional);
    switch (random_.below(6)) {
      case 0:
        add(LayerBuilder::rnn(hidden, options), "rnn" + text);
        return features_after;
      case 1:
      case 2:
        add(LayerBuilder::lstm(hidden, options), "lstm" + text);
        return features_after;
      case 3:
        add(LayerBuilder::gru(hidden, options), "gru" + text);
        return features_after;
      case 4:
        add(LayerBuilder::attention(features % 16 == 0 ? 4 : 2), "attention");
        return features;
      default:
        add(LayerBuilder::transformer_encoder(between(1, 2), 2,
                                              {.feed_forward = 4 * hidden, .norm_first = chance(0.5)}),
            fmt::format("transformer_encoder({})", 4 * hidden));
        return features;
    }
  }

  NetworkCase finished(const Shape& input) {
    const std::int64_t outputs = between(2, 40);
    const bool has_classes = chance(0.7);
    layers_.push_back(LayerBuilder::dense(outputs));
    nn::NetworkBuilder builder(input);
    for (const LayerBuilder& layer : layers_) builder.add_layer(layer);
    builder.loss(has_classes ? nn::LossFunction::SparseCategoricalCrossEntropy : nn::LossFunction::MeanSquaredError);
    NetworkCase made{.text = fmt::format("{}: {}, dense({})", to_string(input), text_, outputs),
                     .builder = builder,
                     .config = {.batch_size = between(2, 80), .max_epochs = 2},
                     .classes = has_classes ? outputs : 0,
                     .tokens = tokens_};
    made.text += fmt::format(", batch {}", made.config.batch_size);
    draw_optimizer(made);
    draw_options(made);
    return made;
  }

  void draw_optimizer(NetworkCase& made) {
    switch (random_.below(5)) {
      case 0:
        made.text += ", sgd";
        made.make_optimizer = [] { return std::make_shared<nn::Sgd>(); };
        return;
      case 1:
        made.text += ", momentum";
        made.make_optimizer = [] { return std::make_shared<nn::Sgd>(nn::SgdOptions{.momentum = 0.9}); };
        return;
      case 2:
        made.text += ", rmsprop";
        made.make_optimizer = [] { return std::make_shared<nn::RmsProp>(nn::RmsPropOptions{.centered = true}); };
        return;
      case 3:
        made.text += ", adamw";
        made.make_optimizer = [] { return std::make_shared<nn::AdamW>(); };
        return;
      default:
        made.text += ", adam";
    }
  }

  void draw_options(NetworkCase& made) {
    nn::TrainingConfig& config = made.config;
    if (chance(0.3)) {
      config.clip_norm = 1;
      made.text += ", clip_norm";
    }
    if (chance(0.2)) {
      config.accumulated_batches = between(2, 5);
      made.text += fmt::format(", {} accumulated", config.accumulated_batches);
    }
    if (chance(0.2)) {
      config.mixed_precision = chance(0.5) ? DType::float16 : DType::bfloat16;
      made.text += fmt::format(", {}", name(*config.mixed_precision));
      if (config.mixed_precision == DType::float16) config.max_epochs = 6;  // updates are left out at first
    }
    if (chance(0.2)) {
      config.early_stopping = nn::EarlyStopping{};
      made.text += ", early_stopping";
    }
  }

  Random& random_;
  std::vector<LayerBuilder> layers_;
  std::string text_;
  std::int64_t tokens_ = 0;
};

}  // namespace

NetworkCase random_network(Random& random) { return Draw(random).network(); }

}  // namespace vectis::test
