#include <cmath>

#include "nn/optimizers/options.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/optimizer.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// Moves the averages towards the gradient and its square, and returns how far the parameter goes.
Tensor adam_step(const Tensor& gradient, std::span<Tensor> slots, std::int64_t step, double learning_rate,
                 const AdamOptions& options) {
  Tensor& mean = slots[0];
  Tensor& square = slots[1];
  mean = mean * options.beta1 + gradient * (1 - options.beta1);
  square = square * options.beta2 + gradient * gradient * (1 - options.beta2);
  // The averages begin at 0, and are divided by the share of the gradients that they hold.
  const double mean_share = 1 - std::pow(options.beta1, static_cast<double>(step));
  const double square_share = 1 - std::pow(options.beta2, static_cast<double>(step));
  return mean / (sqrt(square) / std::sqrt(square_share) + options.epsilon) * (learning_rate / mean_share);
}

}  // namespace

Adam::Adam(const AdamOptions& options) : Optimizer(options.learning_rate), options_(options) {
  check_decay("adam", "beta1", options.beta1);
  check_decay("adam", "beta2", options.beta2);
  check_not_negative("adam", "epsilon", options.epsilon);
  check_not_negative("adam", "weight_decay", options.weight_decay);
}

std::map<std::string, double> Adam::hyperparameters() const {
  return {{"beta1", options_.beta1},
          {"beta2", options_.beta2},
          {"epsilon", options_.epsilon},
          {"weight_decay", options_.weight_decay}};
}

std::vector<std::string_view> Adam::slots() const { return {"exp_avg", "exp_avg_sq"}; }

Tensor Adam::next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                        std::int64_t step) const {
  const Tensor decayed = options_.weight_decay == 0 ? gradient : gradient + parameter * options_.weight_decay;
  return parameter - adam_step(decayed, slots, step, learning_rate(), options_);
}

Tensor AdamW::next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                         std::int64_t step) const {
  const Tensor decayed = parameter * (1 - learning_rate() * options().weight_decay);
  return decayed - adam_step(gradient, slots, step, learning_rate(), options());
}

}  // namespace vectis::inline v0_1::nn
