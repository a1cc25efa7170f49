// Networks from a list of layers, whose sizes follow from the input.
//
//   nn::Network network = nn::Network::with_input_size(784)
//                             .add_layer(nn::LayerBuilder::dense(512).activation(nn::ActivationFunction::ReLU))
//                             .add_layer(nn::LayerBuilder::dense(10).activation(nn::ActivationFunction::Softmax))
//                             .loss(nn::LossFunction::CategoricalCrossEntropy)
//                             .build();
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/array/shape.hpp"
#include "vectis/nn/activation.hpp"
#include "vectis/nn/convolution.hpp"
#include "vectis/nn/layer.hpp"
#include "vectis/nn/loss.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/pooling.hpp"
#include "vectis/nn/recurrent.hpp"
#include "vectis/nn/transformer.hpp"

namespace vectis::inline v0_1::nn {

// Describes one layer without the size of its input, which the network knows. A value.
class VECTIS_API LayerBuilder {
 public:
  // Makes a layer for an input of a shape, which has no axis for the batch.
  using Maker = std::function<Layer(const Shape& input, Generator& random)>;

  // Dense on the last axis.
  static LayerBuilder dense(std::int64_t units, bool bias = true);
  // On (channels, extents ...).
  static LayerBuilder conv1d(std::int64_t filters, const Shape& kernel, const ConvolutionOptions& options = {});
  static LayerBuilder conv2d(std::int64_t filters, const Shape& kernel, const ConvolutionOptions& options = {});
  static LayerBuilder conv3d(std::int64_t filters, const Shape& kernel, const ConvolutionOptions& options = {});
  static LayerBuilder max_pool(const Shape& kernel, const PoolingOptions& options = {});
  static LayerBuilder average_pool(const Shape& kernel, const PoolingOptions& options = {});
  static LayerBuilder global_average_pool();
  static LayerBuilder flatten();
  // On (channels) or (channels, extents ...).
  static LayerBuilder batch_norm();
  static LayerBuilder group_norm(std::int64_t groups);
  // On the last axis.
  static LayerBuilder layer_norm();
  static LayerBuilder rms_norm();
  static LayerBuilder dropout(double probability);
  // On integers: adds an axis of `features`.
  static LayerBuilder embedding(std::int64_t rows, std::int64_t features);
  // On (sequence, features); the option `batch_first` is set.
  static LayerBuilder rnn(std::int64_t hidden, const RecurrentOptions& options = {});
  static LayerBuilder lstm(std::int64_t hidden, const RecurrentOptions& options = {});
  static LayerBuilder gru(std::int64_t hidden, const RecurrentOptions& options = {});
  static LayerBuilder last_of_sequence();
  static LayerBuilder positional_encoding(std::int64_t positions_max);
  static LayerBuilder attention(std::int64_t heads);
  static LayerBuilder transformer_encoder(std::int64_t layers, std::int64_t heads,
                                          const TransformerOptions& options = {});
  // A layer of any class.
  static LayerBuilder layer(Layer made);
  static LayerBuilder layer(Maker maker) { return LayerBuilder(std::move(maker)); }

  // Appends an activation function to the layer.
  LayerBuilder& activation(ActivationFunction function) {
    activation_ = function;
    return *this;
  }

  // For NetworkBuilder.
  [[nodiscard]] const Maker& maker() const noexcept { return maker_; }
  [[nodiscard]] std::optional<ActivationFunction> activation() const noexcept { return activation_; }
  [[nodiscard]] bool takes_integers() const noexcept { return takes_integers_; }

 private:
  explicit LayerBuilder(Maker maker) : maker_(std::move(maker)) {}

  Maker maker_;
  std::optional<ActivationFunction> activation_;
  bool takes_integers_ = false;
};

class NetworkBuilder;

// Layers in a row with a loss. A module, and a value: copies are independent.
class VECTIS_API Network {
 public:
  static constexpr std::string_view kind = "Network";

  // Begins a network whose inputs are (batch, size).
  static NetworkBuilder with_input_size(std::int64_t size);
  // Begins a network whose inputs are (batch, shape ...).
  static NetworkBuilder with_input_shape(const Shape& shape);

  // Applies all layers. Throws InvalidInput, naming the layer, when shapes do not fit.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) { return output(logits(x, mode)); }
  // Applies all layers for inference, on the device of the network, without recording gradients. Types are promoted as
  // by operations: convert inputs by astype(input_type()).
  [[nodiscard]] Tensor predict(const Tensor& x);

  // Applies the layers without a last Softmax or Sigmoid that the loss contains, which is more accurate and faster.
  [[nodiscard]] Tensor logits(const Tensor& x, const Mode& mode = {});
  // Returns what forward() returns from what logits() returned.
  [[nodiscard]] Tensor output(const Tensor& logits) const;
  // Returns the loss of what logits() returned. Throws InvalidInput when the shapes do not fit.
  [[nodiscard]] Tensor loss(const Tensor& logits, const Tensor& targets) const;

  void visit(Visitor& visitor) { layers_.visit(visitor); }

  [[nodiscard]] Sequential& layers() noexcept { return layers_; }
  [[nodiscard]] LossFunction loss_function() const noexcept { return loss_; }
  // The shapes of an input and an output, without the axis of the batch.
  [[nodiscard]] const Shape& input_shape() const noexcept { return input_; }
  [[nodiscard]] const Shape& output_shape() const noexcept { return shapes_.empty() ? input_ : shapes_.back(); }
  // The element type of inputs: that of the builder, or of the parameters after convert_to().
  [[nodiscard]] DType input_type();
  // Returns the device of the parameters; nothing when there are none.
  [[nodiscard]] std::optional<Device> device();

  // Returns a table of the layers with the shapes of their outputs and their numbers of parameters.
  [[nodiscard]] std::string summary();

 private:
  friend class NetworkBuilder;
  Network() = default;

  Sequential layers_;
  std::vector<Shape> shapes_;  // of the outputs of the layers
  Shape input_;
  DType type_ = DType::float32;
  std::optional<DType> parameter_type_;  // when it was built
  LossFunction loss_ = LossFunction::MeanSquaredError;
};

// Collects the layers of a network. A value.
class VECTIS_API NetworkBuilder {
 public:
  explicit NetworkBuilder(const Shape& input) : input_(input) {}

  NetworkBuilder& add_layer(LayerBuilder layer) {
    layers_.push_back(std::move(layer));
    return *this;
  }
  // Sets the loss, by default MeanSquaredError.
  NetworkBuilder& loss(LossFunction function) {
    loss_ = function;
    return *this;
  }
  // Sets the generator that draws the parameters; by default one of seed 0, on the CPU. It also names the device.
  NetworkBuilder& random(const Generator& generator) {
    random_ = generator;
    return *this;
  }
  // Sets the element type of inputs, by default float32, or int32 when the first layer is an embedding.
  NetworkBuilder& input_type(DType type) {
    type_ = type;
    return *this;
  }

  // Makes the layers and checks that their shapes fit. Throws InvalidInput, naming the layer by its number, when they
  // do not, there is no layer, an extent of the input is not positive, or the output does not fit the loss: a Sigmoid
  // or one class for a categorical cross-entropy, a Softmax for a binary one.
  [[nodiscard]] Network build() const;

 private:
  Shape input_;
  std::vector<LayerBuilder> layers_;
  LossFunction loss_ = LossFunction::MeanSquaredError;
  Generator random_;
  std::optional<DType> type_;
};

}  // namespace vectis::inline v0_1::nn
