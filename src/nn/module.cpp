#include "vectis/nn/module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

class Collector final : public Visitor {
 public:
  std::vector<NamedTensor> tensors;

 private:
  void on_tensor(const std::string& path, TensorRole role, Tensor& value) override {
    if (!names_.insert(path).second) {
      throw_invalid("visit", fmt::format("two tensors are named {}; visit each member once, under its own name", path));
    }
    tensors.push_back({path, role, &value});
  }

  std::set<std::string> names_;
};

std::vector<Tensor*> tensors_of(ModuleRef module, TensorRole role) {
  std::vector<Tensor*> result;
  for (const NamedTensor& tensor : named_tensors(module)) {
    if (tensor.role == role) result.push_back(tensor.value);
  }
  return result;
}

// Gives tensors their values back at the end of a scope.
class Restore {
 public:
  explicit Restore(std::span<Tensor* const> tensors) : tensors_(tensors.begin(), tensors.end()) {
    values.reserve(tensors.size());
    for (const Tensor* tensor : tensors) values.push_back(*tensor);
  }
  ~Restore() {
    for (std::size_t i = 0; i < values.size(); ++i) *tensors_[i] = values[i];
  }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

  std::vector<Tensor> values;

 private:
  std::vector<Tensor*> tensors_;
};

}  // namespace

void Visitor::visit(std::string_view name, TensorRole role, Tensor& value) {
  if (value.is_empty()) return;
  const std::size_t before = enter(name);
  on_tensor(path_, role, value);
  leave(before);
}

std::size_t Visitor::enter(std::string_view name) {
  const std::size_t before = path_.size();
  if (before > 0) path_ += '.';
  path_ += name;
  return before;
}

std::vector<NamedTensor> named_tensors(ModuleRef module) {
  Collector collector;
  module.visit(collector);
  return std::move(collector.tensors);
}

std::vector<NamedTensor> named_parameters(ModuleRef module) {
  std::vector<NamedTensor> tensors = named_tensors(module);
  std::erase_if(tensors, [](const NamedTensor& tensor) { return tensor.role != TensorRole::parameter; });
  return tensors;
}

std::vector<Tensor*> parameters(ModuleRef module) { return tensors_of(module, TensorRole::parameter); }
std::vector<Tensor*> buffers(ModuleRef module) { return tensors_of(module, TensorRole::buffer); }

std::int64_t parameter_count(ModuleRef module) {
  std::int64_t count = 0;
  for (const Tensor* tensor : parameters(module)) count += tensor->elements();
  return count;
}

void move_to(ModuleRef module, const Device& device) {
  for (const NamedTensor& tensor : named_tensors(module)) *tensor.value = tensor.value->on(device);
}

void convert_to(ModuleRef module, DType type) {
  if (!is_real(type)) {
    throw_invalid("convert_to", fmt::format("type {} is not floating point; give float32, float16, bfloat16 or float64",
                                            vectis::name(type)));
  }
  for (const NamedTensor& tensor : named_tensors(module)) {
    if (is_real(tensor.value->dtype())) *tensor.value = tensor.value->astype(type);
  }
}

void eval(ModuleRef module) {
  std::vector<Tensor> all;
  for (const NamedTensor& tensor : named_tensors(module)) all.push_back(*tensor.value);
  array::eval(all);
}

LossAndGradients value_and_grad(ModuleRef module, const std::function<Tensor()>& loss) {
  return value_and_grad(parameters(module), loss);
}

LossAndGradients value_and_grad(std::span<Tensor* const> parameters, const std::function<Tensor()>& loss) {
  const Restore restore(parameters);
  const auto with_variables = [&](std::span<const Tensor> variables) {
    for (std::size_t i = 0; i < variables.size(); ++i) *parameters[i] = variables[i];
    return loss();
  };
  array::ValueAndGradients result = array::value_and_grad(with_variables, restore.values);
  return {std::move(result.value), std::move(result.gradients)};
}

Error error_in_layer(std::string_view layer, const Error& error) {
  // A path ends with ": ", the name of an operation has none.
  const std::string_view op = error.op();
  const bool has_path = op.find(": ") != std::string_view::npos;
  const std::string_view message = std::string_view(error.what()).substr(op.size() + 3);  // after "[op] "
  return {error.code(), fmt::format("{}{}{}", layer, has_path ? "." : ": ", op), message, error.detail()};
}

}  // namespace vectis::inline v0_1::nn
