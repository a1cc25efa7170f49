// Networks: trains one from the builder and one of its own class to separate two spirals, and copies the state of the
// first into a module of the same layers.

#include <cmath>
#include <cstdint>
#include <iostream>
#include <numbers>
#include <vectis/nn.hpp>

namespace {

namespace array = vectis::array;
namespace nn = vectis::nn;
using array::Tensor;

struct Points {
  Tensor x;  // (points, 2)
  Tensor y;  // 0 or 1
};

Points spirals(std::int64_t count) {
  std::vector<float> at;
  std::vector<std::int32_t> arm;
  for (std::int64_t i = 0; i < count; ++i) {
    const double radius = static_cast<double>(i) / static_cast<double>(count);
    const auto of = static_cast<std::int32_t>(i % 2);
    const double angle = 1.5 * std::numbers::pi * radius + std::numbers::pi * of;
    at.push_back(static_cast<float>(radius * std::cos(angle)));
    at.push_back(static_cast<float>(radius * std::sin(angle)));
    arm.push_back(of);
  }
  return {Tensor::from_cpu(at, {count, 2}), Tensor::from_cpu(arm, {count})};
}

// A module of its own class: members, their names, and how they compute.
struct Classifier {
  nn::Dense hidden;
  nn::Dense output;

  explicit Classifier(nn::Generator& random) : hidden(2, 32, random), output(32, 2, random) {}
  void visit(nn::Visitor& visitor) {
    visitor.child("hidden", hidden);
    visitor.child("output", output);
  }
  Tensor forward(const Tensor& x, const nn::Mode& mode = {}) const {
    const Tensor features = nn::in_layer("hidden", [&] { return hidden.forward(x, mode); });
    return nn::in_layer("output", [&] { return output.forward(tanh(features), mode); });
  }
};

// Gradient descent with momentum; returns the last loss.
template <class M, class Loss>
double train(M& module, const Loss& loss, int steps) {
  const std::vector<Tensor*> parameters = nn::parameters(module);
  std::vector<Tensor> velocities;
  for (const Tensor* parameter : parameters) velocities.push_back(array::zeros_like(*parameter));
  double value = 0;
  for (int step = 0; step < steps; ++step) {
    const auto [current, gradients] = nn::value_and_grad(module, loss);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      velocities[i] = velocities[i] * 0.9 + gradients[i];
      *parameters[i] = *parameters[i] - velocities[i] * 0.3;
    }
    nn::eval(module);
    value = current.item();
  }
  return value;
}

}  // namespace

int main() {
  const Points data = spirals(200);
  nn::Generator random(42);

  nn::Network network = nn::Network::with_input_size(2)
                            .add_layer(nn::LayerBuilder::dense(32).activation(nn::ActivationFunction::Tanh))
                            .add_layer(nn::LayerBuilder::dense(2).activation(nn::ActivationFunction::Softmax))
                            .loss(nn::LossFunction::CategoricalCrossEntropy)
                            .random(random)
                            .build();
  std::cout << network.summary();
  const double of_network =
      train(network, [&] { return network.loss(network.logits(data.x, nn::Mode::training(random)), data.y); }, 400);
  const Tensor hits = equal(argmax(network.predict(data.x), 1), data.y);
  const double accuracy = array::mean(hits.astype(vectis::DType::float32)).item();
  std::cout << "loss " << of_network << ", accuracy " << accuracy << '\n';

  Classifier classifier(random);
  const double of_class = train(classifier, [&] { return nn::cross_entropy(classifier.forward(data.x), data.y); }, 400);
  std::cout << "loss " << of_class << '\n';

  // State dicts are tensors by name, as in PyTorch.
  nn::Sequential same{nn::Dense(2, 32, random), nn::Activation(nn::ActivationFunction::Tanh), nn::Dense(32, 2, random)};
  nn::load_state_dict(same, nn::state_dict(network));
  for (const auto& [name, tensor] : nn::state_dict(same)) std::cout << name << ' ' << to_string(tensor.shape()) << '\n';
  try {
    nn::load_state_dict(classifier, nn::state_dict(network));
  } catch (const vectis::Error& error) {
    std::cout << error.what() << '\n';
  }
  return accuracy > 0.95 && of_class < 0.2 ? 0 : 1;
}
