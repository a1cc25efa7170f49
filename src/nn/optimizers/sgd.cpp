#include "nn/optimizers/options.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/optimizer.hpp"

namespace vectis::inline v0_1::nn {

Sgd::Sgd(const SgdOptions& options) : Optimizer(options.learning_rate), options_(options) {
  check_not_negative(name(), "momentum", options.momentum);
  check_not_negative(name(), "dampening", options.dampening);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    throw_invalid(name(), fmt::format("nesterov needs a momentum above 0 and no dampening, but they are {} and {}",
                                      options.momentum, options.dampening));
  }
}

std::map<std::string, double> Sgd::hyperparameters() const {
  return {{"momentum", options_.momentum},
          {"dampening", options_.dampening},
          {"nesterov", options_.nesterov ? 1 : 0},
          {"weight_decay", options_.weight_decay}};
}

std::vector<std::string_view> Sgd::slots() const {
  if (options_.momentum == 0) return {};
  return {"momentum_buffer"};
}

Tensor Sgd::next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                       std::int64_t step) const {
  Tensor direction = options_.weight_decay == 0 ? gradient : gradient + parameter * options_.weight_decay;
  if (options_.momentum != 0) {
    Tensor& velocity = slots[0];
    // The first gradient is not dampened.
    velocity = step == 1 ? direction + velocity : velocity * options_.momentum + direction * (1 - options_.dampening);
    direction = options_.nesterov ? direction + velocity * options_.momentum : velocity;
  }
  return parameter - direction * learning_rate();
}

}  // namespace vectis::inline v0_1::nn
