// Where training computes when no device is named. The device `null` computes nothing, and is therefore the fastest.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/array.hpp"
#include "vectis/nn.hpp"

namespace vectis::test {

namespace {

using namespace vectis::nn;

RuntimeOptions options_with_null() {
  RuntimeOptions options;
  options.settings = {{"device", "null"}, {"plan.explore_percent", "0"}};
  return options;
}

}  // namespace

class TrainingDevice : public DevicesTest {
 protected:
  TrainingDevice() : DevicesTest(options_with_null()) {}

  Device host() { return device("cpu"); }
  Device null() { return device("null"); }
  std::uint64_t launches_on_null() { return array::statistics(null()).launches; }
  // A step of this network takes milliseconds on the CPU.
  Network network(const Device& on) {
    return Network::with_input_size(256)
        .add_layer(LayerBuilder::dense(512).activation(ActivationFunction::ReLU))
        .add_layer(LayerBuilder::dense(4))
        .loss(LossFunction::SparseCategoricalCrossEntropy)
        .random(Generator(1, {.device = on}))
        .build();
  }

  Tensor images_ = Tensor::from_cpu(std::vector<float>(256 * 256, 1.0F), {256, 256}, {.device = host()});
  Tensor labels_ = array::zeros({256}, DType::int32, {.device = host()});
  TrainingConfig config_{.batch_size = 256, .max_epochs = 1};
};

TEST_F(TrainingDevice, IsPredictedAndTheModuleReturns) {
  Network trained = network(host());
  static_cast<void>(train(trained, images_, labels_, config_));
  EXPECT_GT(launches_on_null(), 0U);
  for (const NamedTensor& tensor : named_tensors(trained)) EXPECT_EQ(tensor.value->device(), host()) << tensor.name;
}

TEST_F(TrainingDevice, IsTheOneThatIsNamed) {
  Network trained = network(host());
  config_.device = host();
  const History history = train(trained, images_, labels_, config_);
  EXPECT_EQ(launches_on_null(), 0U);
  EXPECT_LT(history.loss.back(), 10);
  config_.device = null();
  static_cast<void>(train(trained, images_, labels_, config_));
  EXPECT_EQ(trained.device(), null());
}

TEST_F(TrainingDevice, IsWhereTheModuleWasMoved) {
  Network trained = network(null());
  static_cast<void>(train(trained, images_, labels_, config_));
  EXPECT_EQ(trained.device(), null());
}

TEST_F(TrainingDevice, ReturnsTheModuleWhenALossFails) {
  Network trained = network(host());
  const Tensor before = parameters(trained)[0]->eval();
  int calls = 0;
  const EvaluateBatch evaluate = [&](const Batch& batch, const Mode& mode) -> BatchResult {
    if (++calls == 2) throw std::runtime_error("the second call fails");  // the first is for the plan
    return {.loss = trained.loss(trained.logits(batch[0], mode), batch[1])};
  };
  const auto data = std::make_shared<TensorDataset>(images_, labels_);
  EXPECT_THROW(static_cast<void>(train(trained, evaluate, data, nullptr, config_)), std::runtime_error);
  EXPECT_EQ(trained.device(), host());
  EXPECT_EQ(parameters(trained)[0]->to_cpu<float>().size(), before.to_cpu<float>().size());
}

TEST_F(TrainingDevice, FastestNeedsValues) {
  EXPECT_ERROR((void)array::fastest_device({}, {}), ErrorCode::invalid_input, "no values");
  const array::FastestDevice found = array::fastest_device(std::vector{matmul(images_, images_)}, std::vector{images_});
  EXPECT_EQ(found.device, null());
  EXPECT_EQ(found.choice.candidates.size(), 2U);
  const Tensor wide = images_.astype(DType::float64);
  EXPECT_EQ(array::fastest_device(std::vector{matmul(wide, wide)}, std::vector{wide}).device, host());
}

}  // namespace vectis::test
