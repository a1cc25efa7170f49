// Gradients of functions of arrays, by reverse mode.
//
//   auto loss = [&](const Tensor& w) { return mean(square(matmul(x, w) - y)); };
//   auto [value, gradient] = value_and_grad(loss, w);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// A function of several arrays whose value is one array.
using Function = std::function<Tensor(std::span<const Tensor>)>;

// The value of a function, and its gradient with respect to each argument.
struct ValueAndGradients {
  Tensor value;
  std::vector<Tensor> gradients;
};

// Calls `function` with `arguments` and returns its value, which must have one element, and its gradients. Gradients
// have the shape and type of their argument; they are zero where the value does not depend on it. Calls nest: the
// gradient of a gradient is a second derivative. Throws InvalidInput when an argument is not floating point, there is
// none, or the value has not one element; and what `function` throws.
VECTIS_API ValueAndGradients value_and_grad(const Function& function, std::span<const Tensor> arguments);

// Returns the value of a function of one array and its gradient, as value_and_grad of several does.
template <std::invocable<const Tensor&> F>
std::pair<Tensor, Tensor> value_and_grad(const F& function, const Tensor& argument) {
  ValueAndGradients result =
      value_and_grad([&](std::span<const Tensor> x) -> Tensor { return function(x[0]); }, std::span(&argument, 1));
  return {std::move(result.value), std::move(result.gradients[0])};
}
// Returns the gradient of a function of one array, as value_and_grad does.
template <std::invocable<const Tensor&> F>
Tensor grad(const F& function, const Tensor& argument) {
  return value_and_grad(function, argument).second;
}

// Returns the vector-Jacobian product: the gradient of sum(function(arguments) * adjoint) with respect to each
// argument, and the value of the function, of any shape. Throws as value_and_grad does, and InvalidInput when `adjoint`
// has another shape than the value.
VECTIS_API ValueAndGradients vjp(const Function& function, std::span<const Tensor> arguments, const Tensor& adjoint);

// Returns `x` as a constant for gradients: it has the same value and no gradient.
VECTIS_API Tensor stop_gradient(const Operand& x);

// The gradients of a function with respect to its arguments, from its value and the gradient of the value. An empty
// Tensor means zero.
using CustomGradient =
    std::function<std::vector<Tensor>(const Tensor& value, std::span<const Tensor> arguments, const Tensor& adjoint)>;
// Calls `function` without recording its gradient, which `gradient` gives instead. Throws what `function` throws;
// taking the gradient throws InvalidInput when `gradient` returns another number of arrays than there are arguments, or
// one of another shape or device.
VECTIS_API Tensor custom_function(const Function& function, CustomGradient gradient, std::span<const Tensor> arguments);

// Calls `function` without keeping its intermediate values: its gradient computes them again. Saves memory for time.
// `function` must return the same value each time. Arrays that it captures have no gradient: pass them as arguments.
// Throws what `function` throws.
VECTIS_API Tensor checkpoint(const Function& function, std::span<const Tensor> arguments);

// Result of check_gradient.
struct GradientCheck {
  double error_max = 0;  // largest difference of a derivative, relative to max(1, |derivative|)
  std::size_t argument = 0;
  std::int64_t element = 0;  // where it is
  double from_gradient = 0;
  double from_differences = 0;
};
// Compares the gradients of `function` with central differences for each element of the float64 `arguments`, and
// returns the largest difference. `step` is relative to max(1, |x|). Throws InvalidInput when an argument is not
// float64, and what value_and_grad throws.
VECTIS_API GradientCheck check_gradient(const Function& function, std::span<const Tensor> arguments,
                                        double step = 0x1p-17);

// While an object of this class lives, operations of its thread record nothing for the gradients that were being taken
// when it was made, as stop_gradient of each result would do. Gradients that are taken inside are complete.
class VECTIS_API NoGradient {
 public:
  [[nodiscard]] NoGradient() noexcept;
  ~NoGradient();
  NoGradient(const NoGradient&) = delete;
  NoGradient& operator=(const NoGradient&) = delete;

  // Returns false while this thread has a NoGradient.
  [[nodiscard]] static bool is_recording() noexcept;

  // Lives in a scope: several must end in the reverse order of their beginning.
  static void* operator new(std::size_t) = delete;

 private:
  std::uint64_t ignored_before_;
};

}  // namespace vectis::inline v0_1::array
