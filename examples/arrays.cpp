// Arrays and gradients: fits a small network to points of a sine by gradient descent.

#include <cmath>
#include <iostream>
#include <numbers>
#include <vectis/vectis.hpp>

int main() {
  using vectis::array::Tensor;
  namespace array = vectis::array;

  // To the device, operate, back.
  const array::TensorOptions on_device{.device = vectis::default_device()};  // a GPU, if there is one
  const Tensor a = Tensor::from_cpu(std::vector<float>{1, 2, 3, 4}, {2, 2}, on_device);
  const Tensor b = array::tanh(array::matmul(a, a) / 10 + 1);  // recorded; nothing is computed yet
  for (const float value : b.to_cpu<float>()) std::cout << value << ' ';
  std::cout << "on " << b.device().label() << "\n\n";

  const auto linspace = [&](double first, double last, std::int64_t count) {
    return array::linspace(first, last, count, vectis::DType::float32, on_device);
  };
  const Tensor x = linspace(-std::numbers::pi, std::numbers::pi, 64).reshape({64, 1});
  const Tensor y = sin(x);
  // The first weights spread the hidden units over the range; all weights are learned.
  std::vector<Tensor> weights = {linspace(-2, 2, 16).reshape({1, 16}), linspace(-3, 3, 16),
                                 array::full({16, 1}, 0.1, vectis::DType::float32, on_device),
                                 array::zeros({1}, vectis::DType::float32, on_device)};
  const auto loss_of = [&](std::span<const Tensor> w) {
    const Tensor hidden = tanh(matmul(x, w[0]) + w[1]);
    return mean(square(matmul(hidden, w[2]) + w[3] - y));
  };
  double loss = 0;
  for (int step = 0; step < 3000; ++step) {
    const auto [value, gradients] = array::value_and_grad(loss_of, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = weights[i] - gradients[i] * 0.05;
    array::eval(weights);
    loss = value.item();
    if (step % 1000 == 0) std::cout << "step " << step << ", loss " << loss << '\n';
  }
  std::cout << "loss " << loss << '\n';
  return loss < 0.01 ? 0 : 1;
}
