// Networks of random layers, sizes and configurations of training.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "vectis/array.hpp"
#include "vectis/base.hpp"
#include "vectis/nn.hpp"

namespace vectis::test {

// A network, and how and with what it is trained.
struct NetworkCase {
  std::string text;  // the layers and what else was drawn
  nn::NetworkBuilder builder;
  nn::TrainingConfig config;
  std::function<std::shared_ptr<nn::Optimizer>()> make_optimizer = [] { return nullptr; };  // null: by default
  std::int64_t classes = 0;  // of labels that are class numbers; 0: labels are numbers in the shape of the output
  std::int64_t tokens = 0;   // inputs are integers below it; 0: inputs are numbers
};

// Draws layers for vectors, images, sequences or tokens that end with a dense layer, a loss, an optimizer, a batch size
// and sometimes clipping, accumulation, mixed precision and early stopping. A step takes some 100 MFLOP at most.
NetworkCase random_network(Random& random);

}  // namespace vectis::test
