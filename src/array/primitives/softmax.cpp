// softmax and log_softmax: on the CPU one pass over each row, elsewhere made of other operations.

#include <fmt/format.h>

#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/row_kernels.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Of the last axis of float32 arrays in host memory.
class SoftmaxOfRows final : public Primitive {
 public:
  explicit SoftmaxOfRows(bool is_log) : is_log_(is_log) {}
  [[nodiscard]] std::string_view name() const noexcept override { return is_log_ ? "log_softmax" : "softmax"; }

  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    std::shared_ptr<Storage> keep;
    const auto* const from = reinterpret_cast<const float*>(contiguous_data(x, keep));
    const auto columns = static_cast<std::size_t>(x.shape[x.shape.rank() - 1]);
    const std::size_t rows = static_cast<std::size_t>(node.elements()) / columns;
    const auto kernel = is_log_ ? log_softmax_of_row : softmax_of_row;
    auto* const out = node.data<float>();
    const auto compute_rows = [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) kernel(from + row * columns, columns, out + row * columns);
    };
    constexpr std::size_t elements_per_task_min = 1 << 13;
    node.lane->executor().parallel_for(rows, elements_per_task_min / columns + 1, compute_rows);
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor>,
                                             const Tensor& adjoint) const override {
    if (is_log_) return {adjoint - exp(output) * sum(adjoint, {-1}, true)};
    return {output * (adjoint - sum(output * adjoint, {-1}, true))};
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
