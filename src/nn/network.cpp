#include "vectis/nn/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "nn/check.hpp"
#include "nn/classes.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

Shape with_batch(const Shape& shape) {
  Shape batched = shape;
  batched.insert(0, 1);
  return batched;
}

// Whether the loss contains the function, so that it is given what the function is applied to.
bool is_in_loss(LossFunction loss, ActivationFunction function) {
  if (loss == LossFunction::BinaryCrossEntropy) return function == ActivationFunction::Sigmoid;
  if (loss != LossFunction::CategoricalCrossEntropy && loss != LossFunction::SparseCategoricalCrossEntropy) {
    return false;
  }
  return function == ActivationFunction::Softmax || function == ActivationFunction::LogSoftmax;
}

// The last activation function if the loss contains it.
std::optional<ActivationFunction> function_in_loss(const Sequential& layers, LossFunction loss) {
  if (layers.size() == 0) return std::nullopt;
  const auto* const last = layers.layers().back().get_if<Activation>();
  if (last == nullptr || !is_in_loss(loss, last->function)) return std::nullopt;
  return last->function;
}

// "1,234,567"
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// The type of the first floating-point parameter.
std::optional<DType> parameter_type(Network& network) {
  for (const Tensor* tensor : parameters(network)) {
    if (is_real(tensor->dtype())) return tensor->dtype();
  }
  return std::nullopt;
}

std::string label_of(Layer& layer) {
  if (const Activation* const activation = layer.get_if<Activation>()) return std::string(name(activation->function));
  return std::string(layer.kind());
}

// Throws InvalidInput for a last activation function or a number of classes that the loss cannot have meant.
void check_output(const Sequential& layers, LossFunction loss, const Shape& output) {
  constexpr std::string_view op = "build";
  const auto* const last = layers.layers().back().get_if<Activation>();
  const bool ends_in_sigmoid = last != nullptr && last->function == ActivationFunction::Sigmoid;
  const bool ends_in_softmax = last != nullptr && (last->function == ActivationFunction::Softmax ||
                                                   last->function == ActivationFunction::LogSoftmax);
  if (loss == LossFunction::BinaryCrossEntropy && ends_in_softmax) {
    throw_invalid(op, fmt::format("{} before BinaryCrossEntropy, whose outputs are independent of each other; end with "
                                  "Sigmoid, or use CategoricalCrossEntropy",
                                  name(last->function)));
  }
  if (loss != LossFunction::CategoricalCrossEntropy && loss != LossFunction::SparseCategoricalCrossEntropy) return;
  if (ends_in_sigmoid) {
    throw_invalid(op, fmt::format("Sigmoid before {}, whose outputs are the probabilities of one class each; end with "
                                  "Softmax, or use BinaryCrossEntropy",
                                  name(loss)));
  }
  if (output.empty() || output[output.rank() - 1] < 2) {
    throw_invalid(op,
                  fmt::format("{} of outputs of shape {}, which have one class; give a last layer of two or more, or "
                              "use BinaryCrossEntropy",
                              name(loss), to_string(output)));
  }
}

}  // namespace

NetworkBuilder Network::with_input_size(std::int64_t size) { return NetworkBuilder({size}); }
NetworkBuilder Network::with_input_shape(const Shape& shape) { return NetworkBuilder(shape); }

Tensor Network::logits(const Tensor& x, const Mode& mode) {
  const std::size_t count = layers_.size() - (function_in_loss(layers_, loss_) ? 1 : 0);
  Tensor value = x;
  for (std::size_t i = 0; i < count; ++i) {
    value = in_layer(std::to_string(i), [&] { return layers_.layers()[i].forward(value, mode); });
  }
  return value;
}

Tensor Network::output(const Tensor& logits) const {
  const std::optional<ActivationFunction> function = function_in_loss(layers_, loss_);
  return function ? activate(logits, *function) : logits;
}

Tensor Network::predict(const Tensor& x) {
  const array::NoGradient no_gradient;
  const std::optional<Device> on = device();
  return forward(on ? x.on(*on) : x);
}

std::pair<Tensor, Tensor> classes_second(const Tensor& logits, const Tensor& targets) {
  if (logits.rank() <= 2) return {logits, targets};
  return {moveaxis(logits, -1, 1), targets.rank() == logits.rank() ? moveaxis(targets, -1, 1) : targets};
}

Tensor Network::loss(const Tensor& logits, const Tensor& targets) const {
  switch (loss_) {
    case LossFunction::MeanSquaredError:
      return mse_loss(logits, targets);
    case LossFunction::MeanAbsoluteError:
      return mae_loss(logits, targets);
    case LossFunction::Huber:
      return huber_loss(logits, targets);
    case LossFunction::BinaryCrossEntropy:
      return binary_cross_entropy_with_logits(logits, targets);
    case LossFunction::CategoricalCrossEntropy:
    case LossFunction::SparseCategoricalCrossEntropy: {
      const auto [by_class, classes] = classes_second(logits, targets);
      return cross_entropy(by_class, classes);
    }
  }
  throw_invalid("loss", "the loss function does not exist; give one of LossFunction");
}

DType Network::input_type() {
  const std::optional<DType> now = parameter_type(*this);
  return is_real(type_) && now && now != parameter_type_ ? *now : type_;
}

std::optional<Device> Network::device() {
  const std::vector<Tensor*> tensors = parameters(*this);
  if (tensors.empty()) return std::nullopt;
  return tensors[0]->device();
}

std::string Network::summary() {
  std::vector<std::array<std::string, 3>> rows = {{"layer", "output", "parameters"}};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_.layers()[i];
    rows.push_back({fmt::format("{} {}", i, label_of(layer)), to_string(shapes_[i]), grouped(parameter_count(layer))});
  }
  std::array<std::size_t, 3> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}\n", row[0], widths[0], row[1], widths[1], row[2], widths[2]);
  }
  std::uint64_t bytes = 0;
  for (const Tensor* tensor : parameters(*this)) {
    bytes += static_cast<std::uint64_t>(tensor->elements()) * size_of(tensor->dtype());
  }
  return text + fmt::format("{} parameters, {:.1f} MiB; loss {}\n", grouped(parameter_count(*this)),
                            static_cast<double>(bytes) / (1024 * 1024), name(loss_));
}

Network NetworkBuilder::build() const {
  constexpr std::string_view op = "build";
  if (layers_.empty()) throw_invalid(op, "the network has no layers; add_layer() first");
  for (const std::int64_t extent : input_) check_min(op, "an extent of the input", extent);
  Network network;
  network.input_ = input_;
  network.loss_ = loss_;
  network.type_ = type_.value_or(layers_[0].takes_integers() ? DType::int32 : DType::float32);
  Generator random = random_;
  Shape shape = input_;
  DType type = network.type_;
  const array::NoGradient no_gradient;
  // Each layer is applied to zeros that are never computed: operations check their shapes when they are recorded.
  const auto append = [&](const std::function<Layer()>& make) {
    const std::size_t index = network.layers_.size();
    const Tensor result = in_layer(std::to_string(index), [&] {
      Layer layer = make();
      const Tensor zeros = array::zeros(with_batch(shape), type, random.options());
      Tensor output = layer.forward(zeros);
      network.layers_.add(std::move(layer));
      return output;
    });
    if (result.rank() == 0 || result.extent(0) != 1) {
      throw_invalid(op, fmt::format("layer {} turns shape {} of a batch of 1 into {}; return the batch as first axis",
                                    index, to_string(with_batch(shape)), to_string(result.shape())));
    }
    shape = result.shape();
    shape.erase(0);
    type = result.dtype();
    network.shapes_.push_back(shape);
  };
  for (const LayerBuilder& layer : layers_) {
    append([&] { return layer.maker()(shape, random); });
    if (layer.activation()) append([&]() -> Layer { return Activation(*layer.activation()); });
  }
  check_output(network.layers_, loss_, shape);
  network.parameter_type_ = parameter_type(network);
  return network;
}

}  // namespace vectis::inline v0_1::nn
