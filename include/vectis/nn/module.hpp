// Modules of neural networks: plain values whose tensors are found by visiting their members.
//
//   struct Classifier {
//     nn::Dense hidden;
//     nn::Dense output;
//
//     explicit Classifier(nn::Generator& random) : hidden(784, 512, random), output(512, 10, random) {}
//     void visit(nn::Visitor& visitor) {
//       visitor.child("hidden", hidden);
//       visitor.child("output", output);
//     }
//     array::Tensor forward(const array::Tensor& x, const nn::Mode& mode = {}) {
//       return output.forward(relu(hidden.forward(x, mode)), mode);
//     }
//   };
//
// Nothing is registered: assigning to a member changes the module, and a copy of a module is independent of it.
// docs/networks.md is the guide.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "vectis/array/gradient.hpp"
#include "vectis/array/random.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::nn {

using array::Generator;
using array::Tensor;

class Visitor;

// A class whose members can be visited. visit() names every parameter, buffer and child in the same order each time,
// and changes nothing itself.
template <class M>
concept Visitable = requires(M& module, Visitor& visitor) { module.visit(visitor); };

// What a tensor of a module is for.
enum class TensorRole : std::uint8_t {
  parameter,  // training changes it by its gradient
  buffer,     // part of the state without a gradient, such as a running mean
};

// Receives the tensors of a module with their paths: the names of the children that lead to a tensor and its own name,
// joined by dots as in a PyTorch state dict ("layers.0.linear1.weight"). Empty tensors, such as the bias of a layer
// without one, are skipped. Not thread-safe.
class VECTIS_API Visitor {
 public:
  Visitor() = default;
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;
  virtual ~Visitor() = default;

  void parameter(std::string_view name, Tensor& value) { visit(name, TensorRole::parameter, value); }
  void buffer(std::string_view name, Tensor& value) { visit(name, TensorRole::buffer, value); }
  template <Visitable M>
  void child(std::string_view name, M& module) {
    const std::size_t before = enter(name);
    module.visit(*this);
    leave(before);
  }
  // Visits the modules of a list as children "name.0", "name.1" and so on.
  template <Visitable M>
  void children(std::string_view name, std::vector<M>& modules) {
    const std::size_t before = enter(name);
    for (std::size_t i = 0; i < modules.size(); ++i) child(std::to_string(i), modules[i]);
    leave(before);
  }

 private:
  // Receives one tensor, which may be replaced. Exceptions end the visit.
  virtual void on_tensor(const std::string& path, TensorRole role, Tensor& value) = 0;

  void visit(std::string_view name, TensorRole role, Tensor& value);
  std::size_t enter(std::string_view name);  // returns the length of the path before
  void leave(std::size_t before) { path_.resize(before); }

  std::string path_;
};

// Refers to a module of any class for one call.
class ModuleRef {
 public:
  template <Visitable M>
    requires(!std::same_as<std::remove_cv_t<M>, ModuleRef>)
  // NOLINTNEXTLINE(google-explicit-constructor): functions take modules of any class.
  ModuleRef(M& module) noexcept
      : module_(&module), visit_([](void* at, Visitor& visitor) { static_cast<M*>(at)->visit(visitor); }) {}

  void visit(Visitor& visitor) const { visit_(module_, visitor); }

 private:
  void* module_;
  void (*visit_)(void*, Visitor&);
};

// A tensor of a module and where it is. The pointer is valid until the module is changed otherwise than by assigning
// tensors, moved or destroyed.
struct NamedTensor {
  std::string name;  // its path in the module
  TensorRole role = TensorRole::parameter;
  Tensor* value = nullptr;
};
// Returns parameters and buffers in the order of the visit. Throws InvalidInput when two have the same path.
VECTIS_API std::vector<NamedTensor> named_tensors(ModuleRef module);
// Returns the parameters in the order of the visit. Throws InvalidInput when two have the same path.
VECTIS_API std::vector<NamedTensor> named_parameters(ModuleRef module);
VECTIS_API std::vector<Tensor*> parameters(ModuleRef module);
VECTIS_API std::vector<Tensor*> buffers(ModuleRef module);
// Returns the number of elements of all parameters.
VECTIS_API std::int64_t parameter_count(ModuleRef module);

// Copies all tensors of the module to `device`. Throws what Tensor::on() throws.
VECTIS_API void move_to(ModuleRef module, const Device& device);
// Converts the floating-point parameters and buffers of the module to `type`. Throws InvalidInput unless `type` is
// floating point.
VECTIS_API void convert_to(ModuleRef module, DType type);
// Computes the tensors of the module together. Throws what Tensor::eval() throws.
VECTIS_API void eval(ModuleRef module);

// The value of a loss, and its gradient for each parameter, in their order.
struct LossAndGradients {
  Tensor loss;
  std::vector<Tensor> gradients;
};
// Calls `loss`, which computes one number from the module's parameters, and returns its value with the gradients in
// the order of parameters(module). Nothing is computed before it is asked for. During the call the parameters are
// variables of the gradient: what `loss` assigns to them is lost, what it assigns to buffers stays. Throws what
// array::value_and_grad() throws; the parameters are then as they were.
//
//   auto [loss, gradients] = nn::value_and_grad(model, [&] { return nn::cross_entropy(model.forward(x, mode), y); });
VECTIS_API LossAndGradients value_and_grad(ModuleRef module, const std::function<Tensor()>& loss);
// The same with respect to the tensors that `parameters` points to: those of a module that are not frozen.
VECTIS_API LossAndGradients value_and_grad(std::span<Tensor* const> parameters, const std::function<Tensor()>& loss);

// How a module computes: for inference, or for training with a generator for its random numbers, which must outlive the
// Mode. Modules take it at each call, so that there is no state to forget. A small value to copy.
class Mode {
 public:
  // Inference: dropout passes everything, batch normalization uses its running mean and variance.
  Mode() noexcept = default;
  // Training: equal generators give equal results for equal calls.
  [[nodiscard]] static Mode training(Generator& random) noexcept {
    Mode mode;
    mode.random_ = &random;
    return mode;
  }

  [[nodiscard]] bool is_training() const noexcept { return random_ != nullptr; }
  // Returns the generator. Requires is_training().
  [[nodiscard]] Generator& random() const noexcept { return *random_; }

 private:
  Generator* random_ = nullptr;
};

// A copyable module that computes one tensor from one tensor. In inference forward() changes nothing, so that several
// threads may call it.
template <class M>
concept Module = Visitable<M> && requires(M& module, const Tensor& x, const Mode& mode) {
  { module.forward(x, mode) } -> std::same_as<Tensor>;
};

// Returns an error whose op() begins with the name of the layer in which it occurred: "[layers.1.linear1: dense] ...".
VECTIS_API Error error_in_layer(std::string_view layer, const Error& error);

// Calls `forward` and returns its result; an Error that leaves it gets the name of the layer before its own path.
// Modules call their children so.
template <std::invocable F>
auto in_layer(std::string_view layer, F&& forward) -> decltype(forward()) {
  try {
    return std::forward<F>(forward)();
  } catch (const Error& error) {
    throw error_in_layer(layer, error);
  }
}

}  // namespace vectis::inline v0_1::nn
