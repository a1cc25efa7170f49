// Optimizers: how parameters change by their gradients. The formulas and the names of the state are PyTorch's.
//
//   nn::Adam optimizer({.learning_rate = 1e-3});
//   for (const nn::Batch& batch : loader) {
//     auto [loss, gradients] = nn::value_and_grad(model, [&] { return loss_of(model, batch); });
//     optimizer.update(model, gradients);
//   }
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/array/tensor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::inline v0_1::nn {

// Changes parameters by their gradients and keeps a state for each parameter by its name. Derive from it to write
// another optimizer. Not thread-safe.
class VECTIS_API Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Replaces each parameter of `module` by its next value; `gradients` are in the order of parameters(module), as
  // value_and_grad() returns them. Computes parameters and state, in parts of some 32 MiB, so that only a part exists
  // twice. Throws InvalidInput when number or shapes of the gradients do not fit the parameters, or a loaded state does
  // not, and changes nothing then; what Tensor::eval() throws leaves parameters of some parts updated.
  void update(ModuleRef module, std::span<const Tensor> gradients);
  // The same for some of the parameters of a module, with the gradients in their order.
  void update(std::span<const NamedTensor> parameters, std::span<const Tensor> gradients);

  // Returns the optimizer's name in messages: "adam".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Returns the options by name, without the learning rate: resumed training must have the same.
  [[nodiscard]] virtual std::map<std::string, double> hyperparameters() const { return {}; }
  [[nodiscard]] double learning_rate() const noexcept { return learning_rate_; }
  // Throws InvalidInput unless `rate` is finite and at least 0.
  void set_learning_rate(double rate);

  // Returns the learning rate, and for each parameter that was updated its tensors as "<name>.exp_avg" and the number
  // of its updates as "<name>.step".
  [[nodiscard]] StateDict state_dict() const;
  // Replaces the state by that of an optimizer of the same kind. Throws InvalidInput, naming what does not fit, when a
  // name is missing or of another optimizer; the state is then as it was.
  void load_state_dict(const StateDict& state);

 protected:
  explicit Optimizer(double learning_rate);
  Optimizer(const Optimizer&) = default;
  Optimizer& operator=(const Optimizer&) = default;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  // Returns the names of the tensors that the optimizer keeps for each parameter.
  [[nodiscard]] virtual std::vector<std::string_view> slots() const = 0;
  // Returns the next value of `parameter` and replaces `slots`, which are zeros at first, by their next values. Records
  // only. The numbers are float32, also of parameters of 16 bits, or float64. `step` counts the updates from 1.
  [[nodiscard]] virtual Tensor next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                                          std::int64_t step) const = 0;

 private:
  struct ParameterState {
    std::int64_t step = 0;
    std::vector<Tensor> slots;
  };

  void check(std::span<const NamedTensor> parameters, std::span<const Tensor> gradients) const;
  void update_part(std::span<const NamedTensor> parameters, std::span<const Tensor> gradients);

  double learning_rate_;
  std::map<std::string, ParameterState, std::less<>> states_;
};

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;  // added to the gradient, times the parameter
};
// Stochastic gradient descent, with momentum (Polyak, Nesterov).
class VECTIS_API Sgd final : public Optimizer {
 public:
  // Throws InvalidInput for numbers that are negative or not finite, and for Nesterov's momentum without momentum or
  // with dampening.
  explicit Sgd(const SgdOptions& options = {});
  [[nodiscard]] std::string_view name() const noexcept override { return "sgd"; }
  [[nodiscard]] std::map<std::string, double> hyperparameters() const override;

 protected:
  [[nodiscard]] std::vector<std::string_view> slots() const override;
  [[nodiscard]] Tensor next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                                  std::int64_t step) const override;

 private:
  SgdOptions options_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // of Adam added to the gradient, of AdamW taken from the parameter
};
// Adam (Kingma, Ba).
class VECTIS_API Adam : public Optimizer {
 public:
  // Throws InvalidInput unless the betas are in [0, 1) and the other numbers finite and at least 0.
  explicit Adam(const AdamOptions& options = {});
  [[nodiscard]] std::string_view name() const noexcept override { return "adam"; }
  [[nodiscard]] std::map<std::string, double> hyperparameters() const override;

 protected:
  [[nodiscard]] std::vector<std::string_view> slots() const override;
  [[nodiscard]] Tensor next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                                  std::int64_t step) const override;
  [[nodiscard]] const AdamOptions& options() const noexcept { return options_; }

 private:
  AdamOptions options_;
};
// Adam with decoupled weight decay (Loshchilov, Hutter).
class VECTIS_API AdamW final : public Adam {
 public:
  static constexpr double default_weight_decay = 0.01;

  explicit AdamW(const AdamOptions& options = {.weight_decay = default_weight_decay}) : Adam(options) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "adamw"; }

 protected:
  [[nodiscard]] Tensor next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                                  std::int64_t step) const override;
};

struct RmsPropOptions {
  double learning_rate = 0.01;
  double alpha = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;  // added to the gradient, times the parameter
  double momentum = 0;
  bool centered = false;  // divides by the standard deviation of the gradient instead of its root mean square
};
// RMSProp (Tieleman, Hinton).
class VECTIS_API RmsProp final : public Optimizer {
 public:
  // Throws InvalidInput unless alpha is in [0, 1) and the other numbers are finite and at least 0.
  explicit RmsProp(const RmsPropOptions& options = {});
  [[nodiscard]] std::string_view name() const noexcept override { return "rmsprop"; }
  [[nodiscard]] std::map<std::string, double> hyperparameters() const override;

 protected:
  [[nodiscard]] std::vector<std::string_view> slots() const override;
  [[nodiscard]] Tensor next_value(const Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots,
                                  std::int64_t step) const override;

 private:
  RmsPropOptions options_;
};

}  // namespace vectis::inline v0_1::nn
