#include "vectis/nn/dropout.hpp"

#include <fmt/format.h>

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

void check_probability(double probability) {
  if (probability >= 0 && probability < 1) return;
  throw_invalid("dropout", fmt::format("the probability is {}; give one of [0, 1)", probability));
}

}  // namespace

Tensor dropout(const Tensor& x, double probability, const Mode& mode) {
  check_probability(probability);
  if (!mode.is_training() || probability == 0) return x;
  const Tensor kept = mode.random().bernoulli(x.shape(), 1 - probability).on(x.device());
  return where(kept, x * (1 / (1 - probability)), 0);
}

Dropout::Dropout(double p) : probability(p) { check_probability(p); }

}  // namespace vectis::inline v0_1::nn
