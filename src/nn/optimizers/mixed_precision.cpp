#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "nn/check.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/gradients.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view mixed_op = "mixed_precision";

// Returns whether all elements are finite, which computes them.
bool are_finite(std::span<const Tensor> gradients) {
  if (gradients.empty()) return true;
  std::vector<Tensor> finite;
  finite.reserve(gradients.size());
  for (const Tensor& gradient : gradients) finite.push_back(all(isfinite(gradient)));
  std::vector<Tensor> together(gradients.begin(), gradients.end());
  together.push_back(all(array::stack(finite)));
  array::eval(together);
  return together.back().item<bool>();
}

// Restores parameters when it ends, also by an exception.
struct KeptParameters {
  explicit KeptParameters(std::span<Tensor* const> tensors) : parameters(tensors) {
    for (const Tensor* tensor : tensors) values.push_back(*tensor);
  }
  KeptParameters(const KeptParameters&) = delete;
  KeptParameters& operator=(const KeptParameters&) = delete;
  ~KeptParameters() {
    for (std::size_t i = 0; i < values.size(); ++i) *parameters[i] = std::move(values[i]);
  }

  std::span<Tensor* const> parameters;
  std::vector<Tensor> values;
};

void check_loss_scale(double scale) {
  if (std::isfinite(scale) && scale > 0) return;
  throw_invalid(mixed_op, fmt::format("the loss scale is {}, it must be finite and above 0", scale));
}

}  // namespace

MixedPrecision::MixedPrecision(DType type, const LossScaleOptions& options)
    : type_(type), options_(options), scale_(type == DType::float16 ? options.initial : 1) {
  if (type != DType::float16 && type != DType::bfloat16) {
    throw_invalid(mixed_op, fmt::format("the type is {}; use float16 or bfloat16", vectis::name(type)));
  }
  check_loss_scale(options.initial);
  if (!(options.growth >= 1) || !(options.backoff > 0 && options.backoff < 1) || options.growth_interval < 1) {
    throw_invalid(mixed_op,
                  fmt::format("growth is {}, backoff {} and growth_interval {}; they must be at least 1, between "
                              "0 and 1, and at least 1",
                              options.growth, options.backoff, options.growth_interval));
  }
}

std::optional<LossAndGradients> MixedPrecision::value_and_grad(ModuleRef module, const std::function<Tensor()>& loss) {
  const std::vector<Tensor*> pointers = parameters(module);
  const KeptParameters masters(pointers);
  const auto in_16_bits = [&](std::span<const Tensor> variables) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const bool is_master = variables[i].dtype() == DType::float32;
      *pointers[i] = is_master ? variables[i].astype(type_) : variables[i];
    }
    const Tensor value = loss().astype(DType::float32);
    return scale_ == 1 ? value : value * scale_;
  };
  array::ValueAndGradients result = array::value_and_grad(in_16_bits, masters.values);
  if (type_ == DType::float16) {
    const bool is_finite = are_finite(result.gradients);
    const double scale = scale_;
    adapt(is_finite);
    if (!is_finite) return std::nullopt;
    result.value = result.value / scale;
    for (Tensor& gradient : result.gradients) gradient = gradient / scale;
  }
  return LossAndGradients{std::move(result.value), std::move(result.gradients)};
}

void MixedPrecision::adapt(bool is_finite) noexcept {
  // Below this a scale would be 0 soon, and no loss is finite.
  constexpr double scale_min = 0x1p-24;
  constexpr double scale_max = 0x1p126;
  if (!is_finite) {
    scale_ = std::max(scale_ * options_.backoff, scale_min);
    updates_ = 0;
  } else if (++updates_ == options_.growth_interval) {
    scale_ = std::min(scale_ * options_.growth, scale_max);
    updates_ = 0;
  }
}

StateDict MixedPrecision::state_dict() const {
  StateDict state;
  state.add("scale", array::full({}, scale_, DType::float64));
  state.add("updates", array::full({}, updates_, DType::int64));
  return state;
}

void MixedPrecision::load_state_dict(const StateDict& state) {
  const double scale = state.at("scale").item();
  const auto updates = state.at("updates").item<std::int64_t>();
  check_loss_scale(scale);
  if (updates < 0) throw_invalid(mixed_op, fmt::format("{} updates, they must be at least 0", updates));
  scale_ = scale;
  updates_ = updates;
}

}  // namespace vectis::inline v0_1::nn
