// The loop of training written out, with a module of the program's own: what nn::train() does without its extras.
#include <iostream>
#include <vectis/vectis.hpp>

namespace array = vectis::array;
namespace nn = vectis::nn;
using vectis::array::Tensor;

// Parameters are found by visiting members; nothing is registered.
struct Classifier {
  explicit Classifier(nn::Generator& random) : hidden(2, 32, random), output(32, 3, random) {}

  Tensor forward(const Tensor& x, const nn::Mode& mode = {}) {
    return output.forward(tanh(hidden.forward(x, mode)), mode);
  }
  void visit(nn::Visitor& visitor) {
    visitor.child("hidden", hidden);
    visitor.child("output", output);
  }

  nn::Dense hidden;
  nn::Dense output;
};

int main() {
  // Points around the corners of a triangle.
  nn::Generator random(1);
  const Tensor labels = random.integers({600}, 0, 3);
  const Tensor corners = Tensor::from_cpu(std::vector<float>{0, 2, 2, -1, -2, -1}, {3, 2});
  const Tensor points = take(corners, labels) + random.normal({600, 2}) * 0.5;

  Classifier model(random);
  nn::AdamW optimizer({.learning_rate = 0.01});
  const nn::Schedule schedule = nn::warm_up(20, nn::cosine(180));
  nn::Loader loader(std::make_shared<nn::TensorDataset>(points, labels), {.batch_size = 32, .seed = 1});
  std::int64_t step = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    double sum = 0;
    for (const nn::Batch& batch : loader) {
      auto [loss, gradients] = nn::value_and_grad(
          model, [&] { return nn::cross_entropy(model.forward(batch[0], nn::Mode::training(random)), batch[1]); });
      nn::clip_by_norm(gradients, 1.0);
      optimizer.set_learning_rate(0.01 * schedule(step++));
      optimizer.update(model, gradients);
      sum += loss.item();
    }
    std::cout << "epoch " << epoch << ", loss " << sum / static_cast<double>(loader.batches()) << '\n';
  }

  const double accuracy = nn::accuracy(model.forward(points), labels).item();
  std::cout << "accuracy " << accuracy * 100 << " %\n";
  return accuracy > 0.95 ? 0 : 1;
}
