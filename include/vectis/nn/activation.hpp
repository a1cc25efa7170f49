// Activation functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// NOLINTBEGIN(readability-identifier-naming): written as in the literature.
enum class ActivationFunction : std::uint8_t {
  Linear,       // x
  ReLU,         // max(x, 0)
  ReLU6,        // min(max(x, 0), 6)
  LeakyReLU,    // x, or 0.01 * x where negative
  ELU,          // x, or exp(x) - 1 where negative
  SELU,         // scaled ELU (Klambauer et al., 2017)
  Sigmoid,      // 1 / (1 + exp(-x))
  HardSigmoid,  // min(max(x / 6 + 1/2, 0), 1)
  Tanh,
  GELU,        // x * (1 + erf(x / sqrt 2)) / 2
  GELUTanh,    // GELU by its approximation with tanh
  Swish,       // x * sigmoid(x), also called SiLU
  HardSwish,   // x * HardSigmoid(x)
  Mish,        // x * tanh(softplus(x))
  Softplus,    // log(1 + exp(x))
  Softsign,    // x / (1 + |x|)
  Softmax,     // exp(x) divided by its sum along the last axis
  LogSoftmax,  // the logarithm of Softmax
  SiLU = Swish,
};
// NOLINTEND(readability-identifier-naming)

// Returns the name of a function as it is written in code: "ReLU".
[[nodiscard]] VECTIS_API std::string_view name(ActivationFunction function) noexcept;
// Applies a function. Throws InvalidInput for an empty Tensor.
VECTIS_API Tensor activate(const Tensor& x, ActivationFunction function);

// An activation function as a layer.
class VECTIS_API Activation {
 public:
  static constexpr std::string_view kind = "Activation";

  explicit Activation(ActivationFunction chosen = ActivationFunction::ReLU) noexcept : function(chosen) {}

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& /*mode*/ = {}) const { return activate(x, function); }
  void visit(Visitor& /*visitor*/) {}

  ActivationFunction function;
};

// The leaky ReLU and the exponential linear unit with a parameter of their own.
class VECTIS_API LeakyReLU {
 public:
  static constexpr std::string_view kind = "LeakyReLU";

  explicit LeakyReLU(double negative_slope = 0.01) noexcept : slope(negative_slope) {}

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& /*visitor*/) {}

  double slope;
};
class VECTIS_API ELU {
 public:
  static constexpr std::string_view kind = "ELU";

  explicit ELU(double scale = 1) noexcept : alpha(scale) {}

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& /*visitor*/) {}

  double alpha;
};

}  // namespace vectis::inline v0_1::nn
