// Trains a small network with checkpoints at the path that is the only argument, and prints its parameters. The test of
// kills runs it and ends it at random moments.
#include <cinttypes>
#include <cstdio>

#include "vectis/array/operations.hpp"
#include "vectis/nn/training.hpp"

int main(int count, char** arguments) {
  using namespace vectis;
  using namespace vectis::nn;
  if (count != 2) return 2;
  Generator random(1);
  const Tensor labels = random.integers({200}, 0, 4);
  const Tensor data = take(random.normal({4, 8}), labels) + random.normal({200, 8});
  Network network = Network::with_input_size(8)
                        .add_layer(LayerBuilder::dense(64).activation(ActivationFunction::ReLU))
                        .add_layer(LayerBuilder::batch_norm())
                        .add_layer(LayerBuilder::dropout(0.2))
                        .add_layer(LayerBuilder::dense(4).activation(ActivationFunction::Softmax))
                        .loss(LossFunction::CategoricalCrossEntropy)
                        .random(random)
                        .build();
  TrainingConfig config{.batch_size = 10, .max_epochs = 6, .validation_split = 0.2, .seed = 3};
  config.checkpoint_path = arguments[1];
  config.checkpoint_interval = 3;
  const History history = train(network, data, labels, config);
  for (const double loss : history.loss) std::printf("%a\n", loss);
  for (const NamedTensor& tensor : named_tensors(network)) {
    const std::vector<float> values = tensor.value->astype(DType::float32).to_cpu<float>();
    std::printf("%s %016" PRIx64 "\n", tensor.name.c_str(), hash64(std::as_bytes(std::span(values))));
  }
  return 0;
}
