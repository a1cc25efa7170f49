#include "vectis/nn/dropout.hpp"

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

Tensor dropout(const Tensor& x, double probability, const Mode& mode) {
  check_dropout("dropout", probability);
  if (!mode.is_training() || probability == 0) return x;
  const Tensor kept = mode.random().bernoulli(x.shape(), 1 - probability).on(x.device());
  return where(kept, x * (1 / (1 - probability)), 0);
}

Dropout::Dropout(double p) : probability(p) { check_dropout("dropout", p); }

}  // namespace vectis::inline v0_1::nn
