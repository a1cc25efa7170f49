// Clipping and accumulation of gradients.
#include "vectis/nn/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// As in PyTorch: gradients of norm 0 are not divided by it.
constexpr double smallest_norm = 1e-6;

void check_limit(std::string_view op, double limit) {
  if (limit > 0) return;
  throw_invalid(op, fmt::format("the limit is {}, it must be above 0", limit));
}

}  // namespace

Tensor clip_by_norm(std::span<Tensor> gradients, double norm_max) {
  check_limit("clip_by_norm", norm_max);
  if (gradients.empty()) return array::zeros({});
  const bool has_doubles = std::ranges::any_of(gradients, [](const Tensor& x) { return x.dtype() == DType::float64; });
  const DType type = has_doubles ? DType::float64 : DType::float32;
  std::vector<Tensor> squares;
  squares.reserve(gradients.size());
  for (const Tensor& gradient : gradients) squares.push_back(sum(square(gradient.astype(type))));
  const Tensor norm = sqrt(sum(array::stack(squares)));
  const Tensor factor = minimum(norm_max / (norm + smallest_norm), 1);
  for (Tensor& gradient : gradients) gradient = gradient * factor.astype(gradient.dtype());
  return norm;
}

void clip_by_value(std::span<Tensor> gradients, double limit) {
  check_limit("clip_by_value", limit);
  for (Tensor& gradient : gradients) gradient = clip(gradient, -limit, limit);
}

void GradientAccumulator::add(std::span<const Tensor> gradients) {
  if (count_ > 0 && gradients.size() != sums_.size()) {
    throw_invalid("accumulate", fmt::format("{} gradients follow {}; add those of the same parameters",
                                            gradients.size(), sums_.size()));
  }
  std::vector<Tensor> sums(gradients.begin(), gradients.end());
  for (std::size_t i = 0; count_ > 0 && i < sums.size(); ++i) {
    if (sums[i].shape() != sums_[i].shape()) {
      throw_invalid("accumulate", fmt::format("gradient {} has the shape {}, the one before {}", i,
                                              to_string(sums[i].shape()), to_string(sums_[i].shape())));
    }
    sums[i] = sums_[i] + sums[i];
  }
  array::eval(sums);
  sums_ = std::move(sums);
  ++count_;
}

std::vector<Tensor> GradientAccumulator::take() {
  if (count_ == 0) throw_invalid("accumulate", "no gradients were added; call add() first");
  std::vector<Tensor> means = std::exchange(sums_, {});
  if (count_ > 1) {  // one gradient is its own mean, without another array
    for (Tensor& mean : means) mean = mean / static_cast<double>(count_);
  }
  count_ = 0;
  return means;
}

}  // namespace vectis::inline v0_1::nn
