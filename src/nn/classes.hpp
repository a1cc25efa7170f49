// The axis of the classes in outputs of networks.
#pragma once

#include <utility>

#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::nn {

// Returns the logits of a network, whose last axis is that of the classes, and its targets as losses and metrics take
// them: with the classes as second axis.
[[nodiscard]] std::pair<array::Tensor, array::Tensor> classes_second(const array::Tensor& logits,
                                                                     const array::Tensor& targets);

}  // namespace vectis::inline v0_1::nn
