// layer_norm: on the CPU one pass over each row, elsewhere made of other operations.

#include <fmt/format.h>

#include <array>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/rows.hpp"
#include "array/row_kernels.hpp"
#include "array/wide.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/neural.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

Tensor composed_layer_norm(const Tensor& x, double epsilon) {
  const Tensor centered = x - mean(x, {-1}, true);
  return centered * rsqrt(mean(square(centered), {-1}, true) + epsilon);
}

// From the input of LayerNorm and the gradient of its value: that of the input.
class LayerNormGradient final : public Primitive {
 public:
  explicit LayerNormGradient(double epsilon) : epsilon_(epsilon) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "layer_norm_gradient"; }

  void compute(Node& node) const override {
    std::array<std::shared_ptr<Storage>, 2> keep;
    const float* const x = floats_of(*node.inputs[0].node(), keep[0]);
    const float* const adjoint = floats_of(*node.inputs[1].node(), keep[1]);
    compute_rows(node, [&](std::size_t first, std::size_t count, float* out) {
      layer_norm_gradient_of_row(x + first, adjoint + first, count, epsilon_, out);
    });
  }

  // By the gradient of the gradient of the composed operations.
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const Function first_order = [epsilon = epsilon_](std::span<const Tensor> x) {
      const Function value = [epsilon](std::span<const Tensor> y) { return composed_layer_norm(y[0], epsilon); };
      return vjp(value, x.first(1), x[1]).gradients[0];
    };
    return vjp(first_order, inputs, adjoint).gradients;
  }

 private:
  double epsilon_;
};

// Of float32 arrays in host memory.
class LayerNorm final : public Primitive {
 public:
  explicit LayerNorm(double epsilon) : epsilon_(epsilon) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "layer_norm"; }

  void compute(Node& node) const override {
    std::shared_ptr<Storage> keep;
    const float* const x = floats_of(*node.inputs[0].node(), keep);
    compute_rows(node, [&](std::size_t first, std::size_t count, float* out) {
      layer_norm_of_row(x + first, count, epsilon_, out);
    });
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    return {record(std::make_shared<LayerNormGradient>(epsilon_), {inputs[0], adjoint}, DType::float32,
                   inputs[0].shape(), {})};
  }

 private:
  double epsilon_;
};

}  // namespace

Tensor layer_norm(const Operand& x, double epsilon) {
  const Tensor& tensor = as_tensor("layer_norm", x);
  if (tensor.rank() == 0) throw_invalid("layer_norm", "the array has no axis to normalize; give one or more");
  if (!is_real(tensor.dtype())) {
    throw_invalid("layer_norm", fmt::format("takes floating-point arrays, received {}; convert by astype()",
                                            vectis::name(tensor.dtype())));
  }
  const DType type = tensor.dtype();
  const Tensor wide = tensor.astype(type == DType::float64 ? type : DType::float32);
  if (type == DType::float64 || !wide.node()->lane->is_host()) return composed_layer_norm(wide, epsilon).astype(type);
  return record(std::make_shared<LayerNorm>(epsilon), {wide}, DType::float32, wide.shape(), x.where()).astype(type);
}

}  // namespace vectis::inline v0_1::array
