// What is done with gradients before an optimizer uses them: clipping, accumulation, 16-bit training.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "vectis/array/tensor.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::inline v0_1::nn {

// Scales all gradients by the same factor so that their Euclidean norm, of all elements together, is at most
// `norm_max`. Returns the norm before, one number, float64 when a gradient is and else float32; it is not finite when a
// gradient is not, and the gradients then are not either. Records only. Throws InvalidInput unless `norm_max` is above
// 0.
VECTIS_API Tensor clip_by_norm(std::span<Tensor> gradients, double norm_max);
// Limits each element to [-limit, limit]. Records only. Throws InvalidInput unless `limit` is above 0.
VECTIS_API void clip_by_value(std::span<Tensor> gradients, double limit);

// Averages the gradients of several batches, as if they were one batch of all examples. Not thread-safe.
class VECTIS_API GradientAccumulator {
 public:
  // Adds gradients and computes the sum, so that the batches' arrays are released. Throws InvalidInput when number or
  // shapes differ from those before, and what Tensor::eval() throws; the sum is then as it was.
  void add(std::span<const Tensor> gradients);
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  // Returns the sums of the gradients that were added.
  [[nodiscard]] std::span<const Tensor> sums() const noexcept { return sums_; }
  // Returns the means and begins again. Throws InvalidInput when nothing was added.
  [[nodiscard]] std::vector<Tensor> take();

 private:
  std::vector<Tensor> sums_;
  std::int64_t count_ = 0;
};

// Options of MixedPrecision. The scale of the loss keeps small gradients of float16 above its smallest number; bfloat16
// has the range of float32 and needs none.
struct LossScaleOptions {
  double initial = 32'768;  // the largest power of 2 in float16
  double growth = 2;        // by which the scale is multiplied after `growth_interval` updates in a row
  double backoff = 0.5;     // by which it is multiplied when a gradient is not finite
  std::int64_t growth_interval = 2000;
};

// Training in 16 bits: the loss is computed with parameters rounded to 16 bits, while the module keeps the float32
// parameters that optimizers update. Not thread-safe.
//
//   nn::MixedPrecision mixed(DType::float16);
//   auto result = mixed.value_and_grad(model, [&] { return loss_of(model.forward(x.astype(mixed.type())), y); });
//   if (result) optimizer.update(model, result->gradients);   // else a gradient overflowed: the step is left out
class VECTIS_API MixedPrecision {
 public:
  // Throws InvalidInput unless `type` is float16 or bfloat16 and the options are in range.
  explicit MixedPrecision(DType type = DType::bfloat16, const LossScaleOptions& options = {});

  [[nodiscard]] DType type() const noexcept { return type_; }
  // Returns the factor by which the next loss is multiplied; 1 for bfloat16.
  [[nodiscard]] double scale() const noexcept { return scale_; }

  // Calls `loss` while the float32 parameters of `module` are rounded to 16 bits, and returns its value and the float32
  // gradients of the float32 parameters, not scaled. Computes the gradients of float16. Returns nothing when one of
  // them is not finite, and lowers the scale. Convert inputs by astype(type()): an operation with a float32 operand is
  // computed in float32. Throws what nn::value_and_grad() throws.
  [[nodiscard]] std::optional<LossAndGradients> value_and_grad(ModuleRef module, const std::function<Tensor()>& loss);

  // Returns the scale and the updates since it grew. load_state_dict() restores them; it throws InvalidInput when they
  // are missing or out of range.
  [[nodiscard]] StateDict state_dict() const;
  void load_state_dict(const StateDict& state);

 private:
  void adapt(bool is_finite) noexcept;

  DType type_;
  LossScaleOptions options_;
  double scale_;
  std::int64_t updates_ = 0;  // in a row with finite gradients
};

}  // namespace vectis::inline v0_1::nn
