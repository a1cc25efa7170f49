// One case for each layer and loss, which are compared with PyTorch, with finite differences, and on every device with
// the CPU. torch_reference.py has a module of the same name and shapes for each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/array.hpp"
#include "vectis/nn.hpp"

namespace vectis::test {

using array::Generator;
using array::Tensor;

// An input of a case: numbers around 0, or those of [0, 1), or integers below a limit.
struct CaseInput {
  Shape shape;
  enum class Kind : std::uint8_t { normal, unit, integer, boolean } kind = Kind::normal;
  std::int64_t limit = 0;
};

using Outputs = std::vector<Tensor>;
using Inputs = std::span<const Tensor>;

// A module of any class and how it is called. Visitable.
struct CaseModule {
  std::shared_ptr<void> module;
  std::function<void(nn::Visitor&)> visit_module;
  std::function<Outputs(Inputs)> forward;

  void visit(nn::Visitor& visitor) const { visit_module(visitor); }
};

struct LayerCase {
  std::string name;
  std::vector<CaseInput> inputs;
  std::function<CaseModule(Generator&)> make;
  double tolerance = 1e-5;  // of float32, relative to the largest element
  // False of cases that stop gradients, and of those whose layers other cases check already.
  bool has_differences = true;
};

enum class CaseGroup : std::uint8_t { simple_layers, norms, recurrent, attention, activations, losses };
// Returns the cases of a group, or of all layers and losses.
std::vector<LayerCase> layer_cases(std::optional<CaseGroup> group = std::nullopt);

// Returns random inputs, reals in `type`.
std::vector<Tensor> random_inputs(const LayerCase& test, Generator& random, DType type);

// The values, gradients and buffers of a case.
struct CaseResult {
  Outputs outputs;
  std::vector<Tensor> input_gradients;      // of the sum of outputs * adjoints; empty for integers
  std::vector<Tensor> parameter_gradients;  // in the order of nn::parameters()
};
// Runs a module forwards and backwards; empty adjoints are ones.
CaseResult run_case(CaseModule& module, std::span<const Tensor> inputs, std::span<const Tensor> adjoints);

}  // namespace vectis::test
