// Random tensors from which training starts. The layers use them as PyTorch's do by default.
#pragma once

#include <cstdint>

#include "vectis/array/random.hpp"
#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1::nn {

// The numbers of inputs and outputs of one element of weights of shape (outputs, inputs, window ...).
struct Fans {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
// Throws InvalidInput for less than two axes.
VECTIS_API Fans fans_of(const Shape& shape);

// Uniform in +-sqrt(3) * gain / sqrt(fan in) (He et al., 2015). The gain of ReLU is sqrt(2). Throws as fans_of() and
// Generator do, as the functions below.
VECTIS_API array::Tensor kaiming_uniform(const Shape& shape, array::Generator& random,
                                         double gain = 1.4142135623730951);
// Normal with deviation gain / sqrt(fan in).
VECTIS_API array::Tensor kaiming_normal(const Shape& shape, array::Generator& random, double gain = 1.4142135623730951);
// Uniform in +-sqrt(6 / (fan in + fan out)) * gain (Glorot and Bengio, 2010).
VECTIS_API array::Tensor xavier_uniform(const Shape& shape, array::Generator& random, double gain = 1);
// Normal with deviation gain * sqrt(2 / (fan in + fan out)).
VECTIS_API array::Tensor xavier_normal(const Shape& shape, array::Generator& random, double gain = 1);
// Uniform in +-1 / sqrt(fan): PyTorch's default for weights and biases of dense, convolution and recurrent layers.
VECTIS_API array::Tensor fan_uniform(const Shape& shape, std::int64_t fan, array::Generator& random);

}  // namespace vectis::inline v0_1::nn
