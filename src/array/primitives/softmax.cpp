// softmax and log_softmax: on the CPU one pass over each row, elsewhere made of other operations.

#include <fmt/format.h>

#include <array>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/rows.hpp"
#include "array/row_kernels.hpp"
#include "array/wide.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

// From the value of SoftmaxOfRows and its gradient: that of its input.
class SoftmaxGradient final : public Primitive {
 public:
  explicit SoftmaxGradient(bool is_log) : is_log_(is_log) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "softmax_gradient"; }

  void compute(Node& node) const override {
    std::array<std::shared_ptr<Storage>, 2> keep;
    const float* const value = floats_of(*node.inputs[0].node(), keep[0]);
    const float* const adjoint = floats_of(*node.inputs[1].node(), keep[1]);
    const auto kernel = is_log_ ? log_softmax_gradient_of_row : softmax_gradient_of_row;
    compute_rows(node, [&](std::size_t first, std::size_t count, float* out) {
      kernel(value + first, adjoint + first, count, out);
    });
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const Function composed = [is_log = is_log_](std::span<const Tensor> x) {
      if (is_log) return x[1] - exp(x[0]) * sum(x[1], {-1}, true);
      return x[0] * (x[1] - sum(x[0] * x[1], {-1}, true));
    };
    return vjp(composed, inputs, adjoint).gradients;
  }

 private:
  bool is_log_;
};

const SoftmaxGradient softmax_gradient(false);
const SoftmaxGradient log_softmax_gradient(true);

// Of the last axis of float32 arrays in host memory.
class SoftmaxOfRows final : public Primitive {
 public:
  explicit SoftmaxOfRows(bool is_log) : is_log_(is_log) {}
  [[nodiscard]] std::string_view name() const noexcept override { return is_log_ ? "log_softmax" : "softmax"; }

  void compute(Node& node) const override {
    std::shared_ptr<Storage> keep;
    const float* const x = floats_of(*node.inputs[0].node(), keep);
    const auto kernel = is_log_ ? log_softmax_of_row : softmax_of_row;
    compute_rows(node, [&](std::size_t first, std::size_t count, float* out) { kernel(x + first, count, out); });
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor>,
                                             const Tensor& adjoint) const override {
    return {record(unowned(is_log_ ? log_softmax_gradient : softmax_gradient), {output, adjoint}, DType::float32,
                   output.shape(), {})};
  }

 private:
  bool is_log_;
};

const SoftmaxOfRows softmax_of_rows(false);
const SoftmaxOfRows log_softmax_of_rows(true);

Tensor composed_softmax(const Tensor& x, std::int64_t axis, bool is_log) {
  const Tensor shifted = x - stop_gradient(max(x, {axis}, true));
  const Tensor exponential = exp(shifted);
  const Tensor total = sum(exponential, {axis}, true);
  return is_log ? shifted - log(total) : exponential / total;
}

// In at least float32; the result has the type of `x` if that is real.
Tensor softmax_along(const Operand& x, std::int64_t axis, bool is_log) {
  const SoftmaxOfRows& primitive = is_log ? log_softmax_of_rows : softmax_of_rows;
  const Tensor& tensor = as_tensor(primitive.name(), x);
  const std::size_t along = checked_axis(primitive.name(), axis, tensor.rank());
  if (tensor.shape()[along] == 0) {
    throw_invalid(primitive.name(),
                  fmt::format("axis {} of shape {} has no elements; give some", along, to_string(tensor.shape())));
  }
  const DType type = is_real(tensor.dtype()) ? tensor.dtype() : DType::float32;
  const Tensor wide = tensor.astype(type == DType::float64 ? type : DType::float32);
  const bool has_kernel = wide.dtype() == DType::float32 && along + 1 == wide.rank() && wide.node()->lane->is_host();
  if (!has_kernel) return composed_softmax(wide, axis, is_log).astype(type);
  return record(unowned(primitive), {wide}, DType::float32, wide.shape(), x.where()).astype(type);
}

}  // namespace

Tensor softmax(const Operand& x, std::int64_t axis) { return softmax_along(x, axis, false); }
Tensor log_softmax(const Operand& x, std::int64_t axis) { return softmax_along(x, axis, true); }

}  // namespace vectis::inline v0_1::array
