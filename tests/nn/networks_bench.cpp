// Times steps of training. Reads lines: "mlp", "lstm", "lstm16", "cnn" and "transformer" choose a network; "run" trains
// one step and answers with its nanoseconds; "quit" ends. The argument is the number of threads.

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vectis/array.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/nn.hpp"

namespace {

using namespace vectis;
using array::Tensor;
using nn::ActivationFunction;
using nn::Generator;

// A module with its loss, trained by gradient descent.
class Training {
 public:
  template <class M>
  Training(std::shared_ptr<M> module, std::function<Tensor(M&)> loss)
      : step_([module, loss] {
          auto [value, gradients] = nn::value_and_grad(*module, [&] { return loss(*module); });
          const std::vector<Tensor*> parameters = nn::parameters(*module);
          std::vector<Tensor> all = {value};
          for (std::size_t i = 0; i < parameters.size(); ++i) {
            *parameters[i] = *parameters[i] - gradients[i] * 0.01;
            all.push_back(*parameters[i]);
          }
          array::eval(all);
        }) {}
  void step() const { step_(); }

 private:
  std::function<void()> step_;
};

template <class M>
Training training(M module, std::function<Tensor(M&)> loss) {
  nn::eval(module);
  return Training(std::make_shared<M>(std::move(module)), std::move(loss));
}

Training mlp(Generator& random) {
  const Tensor x = random.normal({128, 784}).eval();
  const Tensor y = random.integers({128}, 0, 10).eval();
  return training<nn::Sequential>(
      nn::Sequential{nn::Dense(784, 512, random), nn::Activation(ActivationFunction::ReLU), nn::Dense(512, 256, random),
                     nn::Activation(ActivationFunction::ReLU), nn::Dense(256, 10, random)},
      [=](nn::Sequential& module) { return nn::cross_entropy(module.forward(x), y); });
}

Training lstm(Generator& random, DType type) {
  const Tensor x = random.normal({64, 32, 256}).astype(type).eval();
  nn::LSTM module(256, 256, random);
  for (Tensor* parameter : nn::parameters(module)) *parameter = parameter->astype(type);
  return training<nn::LSTM>(std::move(module), [=](nn::LSTM& layer) { return mean(square(layer.forward(x))); });
}

Training cnn(Generator& random) {
  const Tensor x = random.normal({128, 1, 28, 28}).eval();
  const Tensor y = random.integers({128}, 0, 10).eval();
  const nn::ConvolutionOptions same{.padding = {1}};
  return training<nn::Sequential>(
      nn::Sequential{nn::Conv2d(1, 16, {3}, random, same), nn::Activation(ActivationFunction::ReLU), nn::MaxPool({2}),
                     nn::Conv2d(16, 32, {3}, random, same), nn::Activation(ActivationFunction::ReLU), nn::MaxPool({2}),
                     nn::Flatten(), nn::Dense(32 * 49, 10, random)},
      [=](nn::Sequential& module) { return nn::cross_entropy(module.forward(x), y); });
}

Training transformer(Generator& random) {
  const Tensor x = random.normal({16, 128, 256}).eval();
  return training<nn::TransformerEncoderLayer>(
      nn::TransformerEncoderLayer(256, 8, random, {.feed_forward = 1024, .dropout = 0}),
      [=](nn::TransformerEncoderLayer& module) { return mean(square(module.forward(x))); });
}

}  // namespace

int main(int argc, char** argv) {
  RuntimeOptions options;
  options.threads = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1;
  Runtime runtime(options);
  const std::map<std::string, std::function<Training(Generator&)>> networks = {
      {"mlp", mlp},
      {"lstm", [](Generator& random) { return lstm(random, DType::float32); }},
      {"lstm16", [](Generator& random) { return lstm(random, DType::bfloat16); }},
      {"cnn", cnn},
      {"transformer", transformer}};
  std::unique_ptr<Training> current;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    if (line == "run" && current) {
      const auto start = monotonic_nanoseconds();
      current->step();
      std::cout << monotonic_nanoseconds() - start << std::endl;
    } else if (const auto found = networks.find(line); found != networks.end()) {
      Generator random(1, {.runtime = &runtime});
      current = std::make_unique<Training>(found->second(random));
      std::cout << "ready" << std::endl;
    } else {
      std::cout << "unknown: " << line << std::endl;
    }
  }
}
