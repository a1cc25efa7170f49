// Layers and losses on devices against the CPU: values and gradients.

#include <cstdio>

#include "tests/arrays_devices/fixture.hpp"
#include "tests/nn/layer_cases.hpp"
#include "tests/support/random_text_model.hpp"

namespace vectis::test {

class EveryNetworkDevice : public EveryArrayDevice {
 protected:
  void expect_as_on_host(CaseGroup group);
};

void EveryNetworkDevice::expect_as_on_host(CaseGroup group) {
  for (const LayerCase& test : layer_cases(group)) {
    SCOPED_TRACE(test.name);
    Generator on_host(seed(), {.device = host()});
    CaseModule there = test.make(on_host);
    const std::vector<Tensor> inputs = random_inputs(test, on_host, DType::float32);
    Generator again(seed(), {.device = host()});
    CaseModule here = test.make(again);
    nn::move_to(there, target());
    std::vector<Tensor> inputs_there;
    for (const Tensor& input : inputs) inputs_there.push_back(input.on(target()));
    const CaseResult expected = run_case(here, inputs, {});
    const CaseResult found = run_case(there, inputs_there, {});
    ASSERT_EQ(found.outputs.size(), expected.outputs.size());
    for (std::size_t i = 0; i < expected.outputs.size(); ++i) {
      expect_same(found.outputs[i], expected.outputs[i], 1e-4, "output");
    }
    for (std::size_t i = 0; i < expected.input_gradients.size(); ++i) {
      if (expected.input_gradients[i].is_empty()) continue;
      expect_same(found.input_gradients[i], expected.input_gradients[i], 1e-4, "gradient of an input");
    }
    for (std::size_t i = 0; i < expected.parameter_gradients.size(); ++i) {
      expect_same(found.parameter_gradients[i], expected.parameter_gradients[i], 1e-4, "gradient of a parameter");
    }
    const nn::StateDict state = nn::state_dict(here);
    for (const auto& [name, value] : nn::state_dict(there)) expect_same(value, state.at(name), 1e-4, name);
    if (HasFailure()) return;
  }
  std::printf("%zu cases agree\n", layer_cases(group).size());
}

TEST_P(EveryNetworkDevice, ComputesSimpleLayers) { expect_as_on_host(CaseGroup::simple_layers); }
TEST_P(EveryNetworkDevice, ComputesNorms) { expect_as_on_host(CaseGroup::norms); }
TEST_P(EveryNetworkDevice, ComputesRecurrentLayers) { expect_as_on_host(CaseGroup::recurrent); }
TEST_P(EveryNetworkDevice, ComputesAttention) { expect_as_on_host(CaseGroup::attention); }
TEST_P(EveryNetworkDevice, ComputesActivations) { expect_as_on_host(CaseGroup::activations); }
TEST_P(EveryNetworkDevice, ComputesLosses) { expect_as_on_host(CaseGroup::losses); }

TEST_P(EveryNetworkDevice, ComputesVectorsOfTexts) {
  const RandomTextModel model;
  const std::vector<std::string> texts = {"a b c", "", "j i h g f", "a", "no word"};
  const nn::TextEncoder on_host = model.load({.where = {.device = host()}});
  const nn::TextEncoder there = model.load({.where = {.device = target()}});
  EXPECT_EQ(there.device(), target());
  const Tensor difference = absolute(there.encode(texts) - on_host.encode(texts));
  EXPECT_LT(array::max(difference).item(), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryNetworkDevice, testing::ValuesIn(array_devices()), case_name);

}  // namespace vectis::test
