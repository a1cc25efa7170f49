#include "nn/optimizers/options.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/optimizer.hpp"

namespace vectis::inline v0_1::nn {

RmsProp::RmsProp(const RmsPropOptions& options) : Optimizer(options.learning_rate), options_(options) {
  check_decay(name(), "alpha", options.alpha);
  check_not_negative(name(), "epsilon", options.epsilon);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  check_not_negative(name(), "momentum", options.momentum);
}

std::map<std::string, double> RmsProp::hyperparameters() const {
  return {{"alpha", options_.alpha},
          {"epsilon", options_.epsilon},
          {"weight_decay", options_.weight_decay},
          {"momentum", options_.momentum},
          {"centered", options_.centered ? 1 : 0}};
}

std::vector<std::string_view> RmsProp::slots() const {
  std::vector<std::string_view> names = {"square_avg"};
  if (options_.momentum != 0) names.emplace_back("momentum_buffer");
  if (options_.centered) names.emplace_back("grad_avg");
  return names;
}

Tensor RmsProp::next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                           std::int64_t /*step*/) const {
  const Tensor decayed = options_.weight_decay == 0 ? gradient : gradient + parameter * options_.weight_decay;
  Tensor& square = slots.front();
  square = square * options_.alpha + decayed * decayed * (1 - options_.alpha);
  Tensor variance = square;
  if (options_.centered) {
    Tensor& mean = slots.back();
    mean = mean * options_.alpha + decayed * (1 - options_.alpha);
    variance = square - mean * mean;
  }
  Tensor direction = decayed / (sqrt(variance) + options_.epsilon);
  if (options_.momentum != 0) {
    Tensor& velocity = slots[1];
    velocity = velocity * options_.momentum + direction;
    direction = velocity;
  }
  return parameter - direction * learning_rate();
}

}  // namespace vectis::inline v0_1::nn
