// Training on each device: loss and accuracy of all epochs against those on the CPU. VECTIS_TEST_DIGITS names a folder
// with images.npy and labels.npy, 8 x 8 images in classes below 10; without it fewer images are made up.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/arrays_devices/fixture.hpp"
#include "vectis/nn.hpp"

namespace vectis::test {

namespace {

using namespace vectis::nn;

struct Images {
  std::vector<float> pixels;  // 64 of each image
  std::vector<std::int32_t> labels;
};

Images read_images(const std::string& folder) {
  return {read_npy(folder + "/images.npy").astype(DType::float32).to_cpu<float>(),
          read_npy(folder + "/labels.npy").astype(DType::int32).to_cpu<std::int32_t>()};
}

// Ten patterns under noise.
Images made_up(const Device& host) {
  constexpr std::int64_t count = 160;
  Generator random(seed(), {.device = host});
  const Tensor labels = random.integers({count}, 0, 10);
  const Tensor pixels = take(random.normal({10, 64}), labels) + random.normal({count, 64});
  return {pixels.to_cpu<float>(), labels.to_cpu<std::int32_t>()};
}

Network convolutional(const Device& host) {
  return Network::with_input_shape({1, 8, 8})
      .add_layer(LayerBuilder::conv2d(8, {3}, {.padding = {1}}))
      .add_layer(LayerBuilder::batch_norm().activation(ActivationFunction::ReLU))
      .add_layer(LayerBuilder::max_pool({2}))
      .add_layer(LayerBuilder::flatten())
      .add_layer(LayerBuilder::dense(10).activation(ActivationFunction::Softmax))
      .loss(LossFunction::SparseCategoricalCrossEntropy)
      .random(Generator(seed(), {.device = host}))
      .build();
}

}  // namespace

class TrainingOnEveryDevice : public EveryArrayDevice {
 protected:
  // Adam would turn rounding into steps where the gradient is 0, as that of a bias before batch normalization.
  History trained_on(const Device& device, const Images& images, std::int64_t epochs) {
    const auto count = static_cast<std::int64_t>(images.labels.size());
    const Tensor pixels = Tensor::from_cpu(images.pixels, {count, 1, 8, 8}, {.device = host()});
    const Tensor labels = Tensor::from_cpu(images.labels, {count}, {.device = host()});
    Network network = convolutional(host());
    return train(network, pixels, labels,
                 {.batch_size = 32,
                  .max_epochs = epochs,
                  .validation_split = 0.2,
                  .seed = 5,
                  .optimizer = std::make_shared<Sgd>(SgdOptions{.learning_rate = 0.01, .momentum = 0.9}),
                  .device = device});
  }
};

TEST_P(TrainingOnEveryDevice, HasTheCurveOfTheCpu) {
  const char* const folder = std::getenv("VECTIS_TEST_DIGITS");
  const Images images = folder == nullptr ? made_up(host()) : read_images(folder);
  const std::int64_t epochs = folder == nullptr ? 2 : 5;
  const History expected = trained_on(host(), images, epochs);
  const History found = trained_on(target(), images, epochs);
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_LT(expected.loss.back(), 0.9 * expected.loss.front()) << "training must change the loss";
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found.loss[i], expected.loss[i], 0.01 * expected.loss[i]) << "epoch " << i;
    EXPECT_NEAR(found.val_loss[i], expected.val_loss[i], 0.01 * expected.val_loss[i]) << "epoch " << i;
    EXPECT_NEAR(found.metrics.at("accuracy")[i], expected.metrics.at("accuracy")[i], 0.01) << "epoch " << i;
  }
  std::printf("%s: %zu epochs of %zu images, loss %.4f and %.4f on the CPU\n", GetParam().c_str(), found.size(),
              images.labels.size(), found.loss.back(), expected.loss.back());
}

INSTANTIATE_TEST_SUITE_P(Devices, TrainingOnEveryDevice, testing::ValuesIn(array_devices()), case_name);

}  // namespace vectis::test
