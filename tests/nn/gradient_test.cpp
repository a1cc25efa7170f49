// Gradients of layers and losses against central differences in double precision.

#include <gtest/gtest.h>

#include "tests/nn/layer_cases.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {

namespace {

TEST(LayerGradients, AreThoseOfFiniteDifferences) {
  for (const LayerCase& test : layer_cases()) {
    if (!test.has_differences) continue;
    SCOPED_TRACE(test.name);
    Generator random(seed());
    CaseModule module = test.make(random);
    nn::convert_to(module, DType::float64);
    std::vector<Tensor> inputs = random_inputs(test, random, DType::float64);
    std::vector<Tensor*> pointers;
    for (Tensor& input : inputs) {
      if (input.dtype() == DType::float64) pointers.push_back(&input);
    }
    for (Tensor* parameter : nn::parameters(module)) pointers.push_back(parameter);
    std::vector<Tensor> arguments;
    for (const Tensor* pointer : pointers) arguments.push_back(*pointer);
    if (arguments.empty()) continue;
    // Squares, so that functions that are linear, or whose sum is constant, have gradients that differ.
    const auto value = [&](std::span<const Tensor> variables) {
      for (std::size_t i = 0; i < variables.size(); ++i) *pointers[i] = variables[i];
      Tensor total;
      for (const Tensor& output : module.forward(inputs)) {
        const Tensor part = sum(square(output + 0.3));
        total = total.is_empty() ? part : total + part;
      }
      return total;
    };
    const array::GradientCheck check = array::check_gradient(value, arguments);
    EXPECT_LT(check.error_max, 1e-5) << "argument " << check.argument << ", element " << check.element << ": "
                                     << check.from_gradient << " against " << check.from_differences;
  }
}

}  // namespace

}  // namespace vectis::test
