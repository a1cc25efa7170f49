// Functions of networks by their names, as Python calls give them: "relu", "ReLU", "categorical_cross_entropy".
#pragma once

#include <string_view>

#include "vectis/nn/activation.hpp"
#include "vectis/nn/loss.hpp"

namespace vectis::python {

// Throw InvalidInput, with all names, when there is no such function. Case, "_" and "-" do not count.
nn::ActivationFunction activation_named(std::string_view name);
nn::LossFunction loss_named(std::string_view name);
nn::Reduction reduction_named(std::string_view name);

}  // namespace vectis::python
