// Trains a network to classify images: `example_network images.npy labels.npy`, or images made up here.
#include <iostream>
#include <vectis/vectis.hpp>

int main(int count, char** arguments) {
  using namespace vectis::nn;
  const bool has_files = count == 3;
  Generator random(1);
  const Tensor labels = has_files ? read_npy(arguments[2]) : random.integers({1000}, 0, 10);
  const Tensor images = has_files ? read_npy(arguments[1]).astype(vectis::DType::float32)
                                  : take(random.normal({10, 784}), labels) + random.normal({1000, 784}, 0, 3);

  Network network = Network::with_input_size(images.extent(1))
                        .add_layer(LayerBuilder::dense(128).activation(ActivationFunction::ReLU))
                        .add_layer(LayerBuilder::dense(64).activation(ActivationFunction::ReLU))
                        .add_layer(LayerBuilder::dense(10).activation(ActivationFunction::Softmax))
                        .loss(LossFunction::CategoricalCrossEntropy)
                        .build();

  TrainingConfig config;
  config.max_epochs = 10;
  config.validation_split = 0.2;
  config.verbose = &std::cout;
  config.early_stopping = EarlyStopping{};
  History history = train(network, images, labels, config);

  history.plot(std::cout);
  std::cout << "accuracy " << history.val_metrics["accuracy"].back() * 100 << " %\n";
  return history.val_metrics["accuracy"].back() > 0.9 ? 0 : 1;
}
