#include "vectis/nn/activation.hpp"

#include <cmath>
#include <numbers>

#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

Tensor hard_sigmoid(const Tensor& x) { return clip(x / 6 + 0.5, 0, 1); }

Tensor gelu_tanh(const Tensor& x) {
  const double scale = std::sqrt(2 / std::numbers::pi);
  return x * 0.5 * (1 + tanh((x + x * x * x * 0.044715) * scale));
}

Tensor selu(const Tensor& x) {
  constexpr double alpha = 1.6732632423543772848170429916717;
  constexpr double scale = 1.0507009873554804934193349852946;
  return array::elu(x, alpha) * scale;
}

}  // namespace

std::string_view name(ActivationFunction function) noexcept {
  switch (function) {
    case ActivationFunction::Linear:
      return "Linear";
    case ActivationFunction::ReLU:
      return "ReLU";
    case ActivationFunction::ReLU6:
      return "ReLU6";
    case ActivationFunction::LeakyReLU:
      return "LeakyReLU";
    case ActivationFunction::ELU:
      return "ELU";
    case ActivationFunction::SELU:
      return "SELU";
    case ActivationFunction::Sigmoid:
      return "Sigmoid";
    case ActivationFunction::HardSigmoid:
      return "HardSigmoid";
    case ActivationFunction::Tanh:
      return "Tanh";
    case ActivationFunction::GELU:
      return "GELU";
    case ActivationFunction::GELUTanh:
      return "GELUTanh";
    case ActivationFunction::Swish:
      return "Swish";
    case ActivationFunction::HardSwish:
      return "HardSwish";
    case ActivationFunction::Mish:
      return "Mish";
    case ActivationFunction::Softplus:
      return "Softplus";
    case ActivationFunction::Softsign:
      return "Softsign";
    case ActivationFunction::Softmax:
      return "Softmax";
    case ActivationFunction::LogSoftmax:
      return "LogSoftmax";
  }
  return "unknown";
}

Tensor activate(const Tensor& x, ActivationFunction function) {
  switch (function) {
    case ActivationFunction::Linear:
      return x;
    case ActivationFunction::ReLU:
      return array::relu(x);
    case ActivationFunction::ReLU6:
      return clip(x, 0, 6);
    case ActivationFunction::LeakyReLU:
      return array::leaky_relu(x);
    case ActivationFunction::ELU:
      return array::elu(x);
    case ActivationFunction::SELU:
      return selu(x);
    case ActivationFunction::Sigmoid:
      return sigmoid(x);
    case ActivationFunction::HardSigmoid:
      return hard_sigmoid(x);
    case ActivationFunction::Tanh:
      return tanh(x);
    case ActivationFunction::GELU:
      return array::gelu(x);
    case ActivationFunction::GELUTanh:
      return gelu_tanh(x);
    case ActivationFunction::Swish:
      return array::silu(x);
    case ActivationFunction::HardSwish:
      return x * hard_sigmoid(x);
    case ActivationFunction::Mish:
      return x * tanh(array::softplus(x));
    case ActivationFunction::Softplus:
      return array::softplus(x);
    case ActivationFunction::Softsign:
      return x / (1 + absolute(x));
    case ActivationFunction::Softmax:
      return array::softmax(x);
    case ActivationFunction::LogSoftmax:
      return array::log_softmax(x);
  }
  return x;
}

Tensor LeakyReLU::forward(const Tensor& x, const Mode& /*mode*/) const { return array::leaky_relu(x, slope); }
Tensor ELU::forward(const Tensor& x, const Mode& /*mode*/) const { return array::elu(x, alpha); }

}  // namespace vectis::inline v0_1::nn
