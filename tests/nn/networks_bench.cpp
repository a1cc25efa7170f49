// Times steps of networks for tools/bench/network_contest.py. Reads lines: "mlp", "lstm", "lstm16", "cnn" and
// "transformer" choose one; "run N" computes N steps, by default one, and answers with the nanoseconds of a step: of
// CPU time with one thread, of the clock with several. "quit" ends. The argument is the number of threads.

#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
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

using Step = std::function<void()>;

// Computes the loss and the gradients of a module, and updates it if there is an optimizer.
template <class M>
Step step_of(M made, const std::function<Tensor(M&)>& loss, const std::shared_ptr<nn::Optimizer>& optimizer) {
  nn::eval(made);
  const auto module = std::make_shared<M>(std::move(made));
  return [=] {
    const auto [value, gradients] = nn::value_and_grad(*module, [&] { return loss(*module); });
    std::vector<Tensor> all = gradients;
    all.push_back(value);
    array::eval(all);
    if (optimizer) optimizer->update(*module, gradients);
  };
}

Step mlp(Generator& random) {
  const Tensor x = random.normal({128, 784}).eval();
  const Tensor y = random.integers({128}, 0, 10).eval();
  return step_of<nn::Sequential>(
      nn::Sequential{nn::Dense(784, 512, random), nn::Activation(ActivationFunction::ReLU), nn::Dense(512, 256, random),
                     nn::Activation(ActivationFunction::ReLU), nn::Dense(256, 10, random)},
      [=](nn::Sequential& module) { return nn::cross_entropy(module.forward(x), y); }, std::make_shared<nn::Adam>());
}

Step lstm(Generator& random, DType type) {
  const Tensor x = random.normal({64, 32, 256}).astype(type).eval();
  nn::LSTM module(256, 256, random);
  nn::convert_to(module, type);
  return step_of<nn::LSTM>(module, [=](nn::LSTM& lstm) { return mean(square(lstm.forward(x))); }, nullptr);
}

Step cnn(Generator& random) {
  const Tensor x = random.normal({128, 1, 28, 28}).eval();
  const Tensor y = random.integers({128}, 0, 10).eval();
  const nn::ConvolutionOptions same{.padding = {1}};
  return step_of<nn::Sequential>(
      nn::Sequential{nn::Conv2d(1, 16, {3}, random, same), nn::Activation(ActivationFunction::ReLU), nn::MaxPool({2}),
                     nn::Conv2d(16, 32, {3}, random, same), nn::Activation(ActivationFunction::ReLU), nn::MaxPool({2}),
                     nn::Flatten(), nn::Dense(32 * 49, 10, random)},
      [=](nn::Sequential& module) { return nn::cross_entropy(module.forward(x), y); }, std::make_shared<nn::Adam>());
}

Step transformer(Generator& random) {
  const Tensor x = random.normal({16, 128, 256}).eval();
  return step_of<nn::TransformerEncoderLayer>(
      nn::TransformerEncoderLayer(256, 8, random, {.feed_forward = 1024, .dropout = 0}),
      [=](nn::TransformerEncoderLayer& module) { return mean(square(module.forward(x))); },
      std::make_shared<nn::Adam>());
}

// Nanoseconds of CPU time, or of the clock when several threads compute.
double now(bool has_one_thread) {
  return has_one_thread ? static_cast<double>(std::clock()) * 1e9 / CLOCKS_PER_SEC
                        : static_cast<double>(monotonic_nanoseconds());
}

}  // namespace

int main(int argc, char** argv) {
  RuntimeOptions options;
  options.threads = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1;
  Runtime runtime(options);
  const std::map<std::string, std::function<Step(Generator&)>> networks = {
      {"mlp", mlp},
      {"lstm", [](Generator& random) { return lstm(random, DType::float32); }},
      {"lstm16", [](Generator& random) { return lstm(random, DType::bfloat16); }},
      {"cnn", cnn},
      {"transformer", transformer}};
  Step step;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "run" && step) {
      int count = 0;
      if (!(words >> count)) count = 1;
      const double start = now(options.threads == 1);
      for (int i = 0; i < count; ++i) step();
      std::cout << (now(options.threads == 1) - start) / count << std::endl;
    } else if (const auto found = networks.find(word); found != networks.end()) {
      Generator random(1, {.runtime = &runtime});
      step = found->second(random);
      std::cout << "true" << std::endl;
    } else {
      std::cout << R"({"failed": "unknown: )" << line << "\"}" << std::endl;
    }
  }
}
