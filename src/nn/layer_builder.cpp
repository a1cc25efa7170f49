// The layers that a network can be built of.

#include <fmt/format.h>

#include "nn/check.hpp"
#include "vectis/nn/attention.hpp"
#include "vectis/nn/dense.hpp"
#include "vectis/nn/dropout.hpp"
#include "vectis/nn/embedding.hpp"
#include "vectis/nn/network.hpp"
#include "vectis/nn/normalization.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// The extent that a layer has its weights for. Throws InvalidInput when the input is one number.
std::int64_t first_extent(std::string_view op, const Shape& input) {
  if (input.empty()) throw_invalid(op, "the input is one number; begin the network with an input of one axis or more");
  return input[0];
}
std::int64_t last_extent(std::string_view op, const Shape& input) {
  first_extent(op, input);
  return input[input.rank() - 1];
}

template <class Conv>
LayerBuilder convolution(std::string_view op, std::int64_t filters, const Shape& kernel,
                         const ConvolutionOptions& options) {
  return LayerBuilder::layer([=](const Shape& input, Generator& random) -> Layer {
    return Conv(first_extent(op, input), filters, kernel, random, options);
  });
}

template <class Cell>
LayerBuilder recurrent(std::string_view op, std::int64_t hidden, RecurrentOptions options) {
  options.batch_first = true;
  return LayerBuilder::layer([=](const Shape& input, Generator& random) -> Layer {
    return Cell(last_extent(op, input), hidden, random, options);
  });
}

}  // namespace

LayerBuilder LayerBuilder::dense(std::int64_t units, bool bias) {
  return layer([=](const Shape& input, Generator& random) -> Layer {
    return Dense(last_extent("dense", input), units, random, {.bias = bias});
  });
}

LayerBuilder LayerBuilder::conv1d(std::int64_t filters, const Shape& kernel, const ConvolutionOptions& options) {
  return convolution<Conv1d>("conv1d", filters, kernel, options);
}
LayerBuilder LayerBuilder::conv2d(std::int64_t filters, const Shape& kernel, const ConvolutionOptions& options) {
  return convolution<Conv2d>("conv2d", filters, kernel, options);
}
LayerBuilder LayerBuilder::conv3d(std::int64_t filters, const Shape& kernel, const ConvolutionOptions& options) {
  return convolution<Conv3d>("conv3d", filters, kernel, options);
}

LayerBuilder LayerBuilder::max_pool(const Shape& kernel, const PoolingOptions& options) {
  return layer(Layer(MaxPool(kernel, options)));
}
LayerBuilder LayerBuilder::average_pool(const Shape& kernel, const PoolingOptions& options) {
  return layer(Layer(AveragePool(kernel, options)));
}
LayerBuilder LayerBuilder::global_average_pool() { return layer(Layer(GlobalAveragePool())); }
LayerBuilder LayerBuilder::flatten() { return layer(Layer(Flatten())); }

LayerBuilder LayerBuilder::batch_norm() {
  return layer([](const Shape& input, Generator& random) -> Layer {
    return BatchNorm(first_extent("batch_norm", input), {.where = random.options()});
  });
}
LayerBuilder LayerBuilder::group_norm(std::int64_t groups) {
  return layer([=](const Shape& input, Generator& random) -> Layer {
    return GroupNorm(groups, first_extent("group_norm", input), {.where = random.options()});
  });
}
LayerBuilder LayerBuilder::layer_norm() {
  return layer([](const Shape& input, Generator& random) -> Layer {
    return LayerNorm({last_extent("layer_norm", input)}, {.where = random.options()});
  });
}
LayerBuilder LayerBuilder::rms_norm() {
  return layer([](const Shape& input, Generator& random) -> Layer {
    return RMSNorm({last_extent("rms_norm", input)}, {.where = random.options()});
  });
}

LayerBuilder LayerBuilder::dropout(double probability) { return layer(Layer(Dropout(probability))); }

LayerBuilder LayerBuilder::embedding(std::int64_t rows, std::int64_t features) {
  LayerBuilder made =
      layer([=](const Shape&, Generator& random) -> Layer { return Embedding(rows, features, random); });
  made.takes_integers_ = true;
  return made;
}

LayerBuilder LayerBuilder::rnn(std::int64_t hidden, const RecurrentOptions& options) {
  return recurrent<RNN>("rnn", hidden, options);
}
LayerBuilder LayerBuilder::lstm(std::int64_t hidden, const RecurrentOptions& options) {
  return recurrent<LSTM>("lstm", hidden, options);
}
LayerBuilder LayerBuilder::gru(std::int64_t hidden, const RecurrentOptions& options) {
  return recurrent<GRU>("gru", hidden, options);
}
LayerBuilder LayerBuilder::last_of_sequence() { return layer(Layer(LastOfSequence())); }

LayerBuilder LayerBuilder::positional_encoding(std::int64_t positions_max) {
  return layer([=](const Shape& input, Generator&) -> Layer {
    return PositionalEncoding(last_extent("positional_encoding", input), positions_max);
  });
}
LayerBuilder LayerBuilder::attention(std::int64_t heads) {
  return layer([=](const Shape& input, Generator& random) -> Layer {
    return MultiHeadAttention(last_extent("attention", input), heads, random);
  });
}
LayerBuilder LayerBuilder::transformer_encoder(std::int64_t layers, std::int64_t heads,
                                               const TransformerOptions& options) {
  return layer([=](const Shape& input, Generator& random) -> Layer {
    return TransformerEncoder(layers, last_extent("transformer_encoder", input), heads, random, options);
  });
}

LayerBuilder LayerBuilder::layer(Layer made) {
  return LayerBuilder([held = std::move(made)](const Shape&, Generator&) { return held; });
}

}  // namespace vectis::inline v0_1::nn
