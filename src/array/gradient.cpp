#include "vectis/array/gradient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "array/engine.hpp"
#include "array/node.hpp"
#include "array/operands.hpp"
#include "array/recording.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

std::atomic<std::uint64_t> tapes = 0;          // opened in this process
thread_local std::uint64_t ignored_tapes = 0;  // this thread records nothing for the tapes up to this number
thread_local std::uint32_t pauses = 0;         // NoGradient objects of this thread

// The same value as its input, as another node: gradients are taken with respect to it.
class Variable final : public ViewPrimitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "variable"; }
  void compute(Node& node) const override { share_value(*node.inputs[0].node(), node); }
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor>,
                                             const Tensor& adjoint) const override {
    return {adjoint};
  }
};
const Variable variable_primitive;

// The value of its first input, with the gradient that the program gives for the others.
class Custom final : public ViewPrimitive {
 public:
  explicit Custom(CustomGradient gradient) : gradient_(std::move(gradient)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "custom_function"; }
  void compute(Node& node) const override { share_value(*node.inputs[0].node(), node); }
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const std::span<const Tensor> arguments = inputs.subspan(1);
    std::vector<Tensor> gradients = gradient_(output, arguments, adjoint);
    if (gradients.size() != arguments.size()) {
      throw_invalid(name(), fmt::format("the gradient returned {} arrays for {} arguments; return one for each",
                                        gradients.size(), arguments.size()));
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].is_empty()) continue;
      check_devices(name(), arguments[i], gradients[i]);
      if (gradients[i].shape() != arguments[i].shape()) {
        throw_invalid(name(), fmt::format("the gradient of argument {} has shape {}, the argument has {}; return that",
                                          i, to_string(gradients[i].shape()), to_string(arguments[i].shape())));
      }
    }
    gradients.insert(gradients.begin(), Tensor());
    return gradients;
  }

 private:
  CustomGradient gradient_;
};

// A tape that is closed with its owner, also when the function throws.
class OpenTape {
 public:
  OpenTape() : outer_(innermost), tape_(std::make_shared<Tape>(++tapes, outer_ != nullptr ? outer_->tape_ : nullptr)) {
    innermost = this;
  }
  ~OpenTape() {
    innermost = outer_;
    tape_->close();
  }
  OpenTape(const OpenTape&) = delete;
  OpenTape& operator=(const OpenTape&) = delete;

  // Returns the argument as a variable, which enclosing gradients see too.
  Tensor variable(const Tensor& argument) const {
    Tensor made = record(unowned(variable_primitive), {argument}, argument.dtype(), argument.shape(), {});
    made.node()->tape = joined(made.node()->tape, tape_);
    return made;
  }

 private:
  static inline thread_local const OpenTape* innermost = nullptr;

  const OpenTape* outer_;
  std::shared_ptr<Tape> tape_;
};

// A node between the variables and the value, and what computes it, which the node may lose meanwhile.
struct Dependent {
  std::shared_ptr<Node> node;
  Origin origin;
};

// The nodes that depend on the variables and lead to the value, inputs before their consumers. Nodes that are older
// than the variables cannot depend on them.
std::vector<Dependent> dependents(const Tensor& value, std::span<const Tensor> variables) {
  struct Visit {
    Node* node;
    std::size_t next;
    bool depends;
  };
  const auto lock = value.node()->lane->engine().lock_nodes();
  const std::uint64_t oldest = variables.front().node()->number;
  std::unordered_map<const Node*, bool> depends;  // of the nodes visited
  for (const Tensor& variable : variables) depends[variable.node().get()] = true;
  std::vector<Dependent> order;
  std::vector<Visit> path;
  const auto enter = [&](Node* node) {
    if (!node->tape || !node->tape->is_open() || node->number < oldest) {
      depends.emplace(node, false);
    } else {
      path.push_back({node, 0, false});
    }
  };
  if (depends.contains(value.node().get())) return order;
  enter(value.node().get());
  while (!path.empty()) {
    Visit& last = path.back();
    if (last.next == last.node->inputs.size()) {
      const bool found = last.depends;
      depends[last.node] = found;
      if (found) order.push_back({last.node->shared_from_this(), {last.node->inputs, last.node->primitive}});
      path.pop_back();
      if (!path.empty()) path.back().depends |= found;
      continue;
    }
    Node* const input = last.node->inputs[last.next++].node().get();
    const auto known = depends.find(input);
    if (known != depends.end()) {
      last.depends |= known->second;
    } else {
      enter(input);
    }
  }
  return order;
}

class Adjoints {
 public:
  void add(const Tensor& of, const Tensor& adjoint) {
    Tensor& sum = sums_[of.node().get()];
    const Tensor typed = adjoint.astype(of.dtype());
    sum = sum.is_empty() ? typed : sum + typed;
  }
  [[nodiscard]] Tensor take(const Node* node) {
    const auto found = sums_.find(node);
    if (found == sums_.end()) return {};
    Tensor adjoint = std::move(found->second);
    sums_.erase(found);
    return adjoint;
  }

 private:
  std::unordered_map<const Node*, Tensor> sums_;
};

void check_arguments(std::string_view op, std::span<const Tensor> arguments) {
  if (arguments.empty()) throw_invalid(op, "no arguments; give at least one array");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_real(as_tensor(op, arguments[i]).dtype())) {
      throw_invalid(op, fmt::format("argument {} is {}; gradients are taken with respect to floating-point arrays", i,
                                    vectis::name(arguments[i].dtype())));
    }
  }
}

using AdjointOf = std::function<Tensor(const Tensor& value)>;

// The gradients of the variables, from the gradient of the value.
std::vector<Tensor> backward(const Tensor& value, const Tensor& adjoint, std::span<const Tensor> variables) {
  const std::vector<Dependent> order = dependents(value, variables);
  Adjoints adjoints;
  adjoints.add(value, adjoint);
  for (std::size_t i = order.size(); i-- > 0;) {
    const Dependent& one = order[i];
    const Tensor arrived = adjoints.take(one.node.get());
    if (arrived.is_empty()) continue;
    const std::vector<Tensor>& inputs = one.origin.inputs;
    const std::vector<Tensor> gradients = one.origin.primitive->gradient(Tensor(one.node), inputs, arrived);
    for (std::size_t input = 0; input < gradients.size(); ++input) {
      if (!gradients[input].is_empty() && inputs[input].node()->tape) adjoints.add(inputs[input], gradients[input]);
    }
  }
  std::vector<Tensor> result;
  for (const Tensor& variable : variables) {
    const Tensor gradient = adjoints.take(variable.node().get());
    result.push_back(gradient.is_empty() ? full_like(variable, 0) : gradient);
  }
  return result;
}

ValueAndGradients differentiate(std::string_view op, const Function& function, std::span<const Tensor> arguments,
                                const AdjointOf& adjoint_of) {
  check_arguments(op, arguments);
  const OpenTape tape;
  std::vector<Tensor> variables;
  for (const Tensor& argument : arguments) variables.push_back(tape.variable(argument));
  Tensor value = function(variables);
  std::vector<Tensor> gradients = backward(value, adjoint_of(value), variables);
  return {std::move(value), std::move(gradients)};
}

}  // namespace

bool is_recording(const Tape& tape) noexcept {
  if (tape.first()) return is_recording(*tape.first()) && is_recording(*tape.second());
  return tape.is_open() && tape.number > ignored_tapes;
}

NoGradient::NoGradient() noexcept : ignored_before_(std::exchange(ignored_tapes, tapes.load())) { ++pauses; }
NoGradient::~NoGradient() {
  --pauses;
  ignored_tapes = ignored_before_;
}
bool NoGradient::is_recording() noexcept { return pauses == 0; }

ValueAndGradients value_and_grad(const Function& function, std::span<const Tensor> arguments) {
  return differentiate("value_and_grad", function, arguments, [](const Tensor& value) {
    if (value.elements() != 1) {
      throw_invalid("value_and_grad", fmt::format("the value has shape {}, gradients are taken of one number; return a "
                                                  "sum or mean, or call vjp",
                                                  to_string(value.shape())));
    }
    return full_like(value, 1);
  });
}

ValueAndGradients vjp(const Function& function, std::span<const Tensor> arguments, const Tensor& adjoint) {
  return differentiate("vjp", function, arguments, [&](const Tensor& value) {
    if (value.shape() != adjoint.shape()) {
      throw_invalid("vjp", fmt::format("the adjoint has shape {}, the value has {}; give one of that shape",
                                       to_string(adjoint.shape()), to_string(value.shape())));
    }
    return adjoint.astype(value.dtype());
  });
}

Tensor stop_gradient(const Operand& x) {
  const NoGradient pause;
  const Tensor& tensor = as_tensor("stop_gradient", x);
  return record(unowned(variable_primitive), {tensor}, tensor.dtype(), tensor.shape(), x.where());
}

Tensor custom_function(const Function& function, CustomGradient gradient, std::span<const Tensor> arguments) {
  for (const Tensor& argument : arguments) (void)as_tensor("custom_function", argument);
  Tensor value = [&] {
    const NoGradient pause;
    return function(arguments);
  }();
  for (const Tensor& argument : arguments) check_devices("custom_function", value, argument);
  std::vector<Tensor> inputs = {value};
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  return record(std::make_shared<Custom>(std::move(gradient)), std::move(inputs), value.dtype(), value.shape(), {});
}

Tensor checkpoint(const Function& function, std::span<const Tensor> arguments) {
  const auto recompute = [function](const Tensor&, std::span<const Tensor> inputs, const Tensor& adjoint) {
    // Integers and bool are constants of the function.
    std::vector<Tensor> all(inputs.begin(), inputs.end());
    std::vector<std::size_t> real;
    std::vector<Tensor> variables;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_real(all[i].dtype())) continue;
      real.push_back(i);
      variables.push_back(all[i]);
    }
    std::vector<Tensor> gradients(all.size());
    if (real.empty()) return gradients;
    const auto of_variables = [&](std::span<const Tensor> x) {
      for (std::size_t i = 0; i < real.size(); ++i) all[real[i]] = x[i];
      return function(all);
    };
    const std::vector<Tensor> found = vjp(of_variables, variables, adjoint).gradients;
    for (std::size_t i = 0; i < real.size(); ++i) gradients[real[i]] = found[i];
    return gradients;
  };
  return custom_function(function, recompute, arguments);
}

GradientCheck check_gradient(const Function& function, std::span<const Tensor> arguments, double step) {
  for (const Tensor& argument : arguments) {
    if (argument.dtype() != DType::float64) {
      throw_invalid("check_gradient", fmt::format("an argument is {}; differences need float64: convert by astype",
                                                  vectis::name(argument.dtype())));
    }
  }
  const std::vector<Tensor> gradients = value_and_grad(function, arguments).gradients;
  GradientCheck worst;
  std::vector<Tensor> moved(arguments.begin(), arguments.end());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::vector<double> values = arguments[i].to_cpu<double>();
    const std::vector<double> derivatives = gradients[i].to_cpu<double>();
    for (std::size_t element = 0; element < values.size(); ++element) {
      const double distance = step * std::max(1.0, std::fabs(values[element]));
      const auto value_at = [&](double x) {
        std::vector<double> changed = values;
        changed[element] = x;
        moved[i] = Tensor::from_cpu(changed, arguments[i].shape(), options_of(arguments[i]));
        return function(moved).item();
      };
      const double difference =
          (value_at(values[element] + distance) - value_at(values[element] - distance)) / (2 * distance);
      const double error =
          std::fabs(difference - derivatives[element]) / std::max(1.0, std::fabs(derivatives[element]));
      if (!(error <= worst.error_max)) {
        worst = {error, i, static_cast<std::int64_t>(element), derivatives[element], difference};
      }
    }
    moved[i] = arguments[i];
  }
  return worst;
}

}  // namespace vectis::inline v0_1::array
