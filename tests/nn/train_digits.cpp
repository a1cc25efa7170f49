// Trains a network to classify handwritten digits until 97 % of the last fifth are right:
// `train_digits images.npy labels.npy SEED`. tools/bench/digits_torch.py is the same in PyTorch.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vectis/vectis.hpp>

int main(int count, char** arguments) {
  using namespace vectis::nn;
  if (count != 4) return 2;
  const Tensor images = read_npy(arguments[1]);
  const Tensor labels = read_npy(arguments[2]);
  const std::uint64_t seed = std::strtoull(arguments[3], nullptr, 10);
  Network network = Network::with_input_size(images.extent(1))
                        .add_layer(LayerBuilder::dense(128).activation(ActivationFunction::ReLU))
                        .add_layer(LayerBuilder::dense(10).activation(ActivationFunction::Softmax))
                        .loss(LossFunction::SparseCategoricalCrossEntropy)
                        .random(Generator(seed))
                        .build();
  TrainingConfig config{.max_epochs = 1, .validation_split = 0.2};
  config.optimizer = std::make_shared<Adam>();
  for (std::uint64_t epoch = 1; epoch <= 200; ++epoch) {
    config.seed = 1000 * seed + epoch;
    const double accuracy = train(network, images, labels, config).val_metrics["accuracy"].back();
    if (accuracy < 0.97) continue;
    std::cout << epoch << " epochs, accuracy " << accuracy << '\n';
    return 0;
  }
  return 1;
}
