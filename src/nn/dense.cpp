#include "vectis/nn/dense.hpp"

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/initialization.hpp"

namespace vectis::inline v0_1::nn {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  // One product for the whole batch: a product for each of its matrices would be smaller ones, with a gradient of the
  // weights for each.
  const bool is_matrix = x.rank() <= 2;
  Tensor y = matmul(is_matrix ? x : x.reshape({-1, x.extent(-1)}), matrix_transpose(weight));
  if (!bias.is_empty()) y = y + bias;
  if (is_matrix) return y;
  Shape shape = x.shape();
  shape[shape.rank() - 1] = weight.extent(0);
  return y.reshape(shape);
}

Dense::Dense(std::int64_t inputs, std::int64_t outputs, Generator& random, const DenseOptions& options) {
  check_min("dense", "the number of inputs", inputs);
  check_min("dense", "the number of outputs", outputs);
  weight = fan_uniform({outputs, inputs}, inputs, random);
  if (options.bias) bias = fan_uniform({outputs}, inputs, random);
}

Tensor Dense::forward(const Tensor& x, const Mode& /*mode*/) const {
  check_extent("dense", x, -1, weight.extent(1), "features");
  return linear(x, weight, bias);
}

void Dense::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

}  // namespace vectis::inline v0_1::nn
