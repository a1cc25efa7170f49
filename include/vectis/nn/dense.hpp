// Fully connected layers.
#pragma once

#include <cstdint>
#include <string_view>

#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// Returns x @ weight^T + bias along the last axis of `x`, whose other axes are a batch. `weight` has shape (outputs,
// inputs); an empty `bias` is none. Throws InvalidInput when the shapes do not fit.
VECTIS_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

struct DenseOptions {
  bool bias = true;
};
// x @ weight^T + bias along the last axis: PyTorch's Linear.
class VECTIS_API Dense {
 public:
  static constexpr std::string_view kind = "Dense";

  // Draws weights and bias as fan_uniform() does. Throws InvalidInput unless both extents are positive.
  Dense(std::int64_t inputs, std::int64_t outputs, Generator& random, const DenseOptions& options = {});

  // Takes (..., inputs), returns (..., outputs). Throws InvalidInput for another last extent.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  Tensor weight;  // (outputs, inputs)
  Tensor bias;    // (outputs,)
};

}  // namespace vectis::inline v0_1::nn
