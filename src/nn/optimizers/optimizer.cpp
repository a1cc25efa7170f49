#include "vectis/nn/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/optimizers/options.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view step_slot = "step";
constexpr std::string_view rate_name = "learning_rate";
// Old and new values of a part exist at the same time. Large enough that evaluations cost nothing beside the update.
constexpr std::int64_t part_bytes = std::int64_t{32} << 20;

DType type_of_updates(DType type) noexcept { return type == DType::float64 ? DType::float64 : DType::float32; }

std::int64_t bytes_of(const Tensor& x) { return x.elements() * static_cast<std::int64_t>(size_of(x.dtype())); }

}  // namespace

Optimizer::Optimizer(double learning_rate) : learning_rate_(0) { set_learning_rate(learning_rate); }

void Optimizer::set_learning_rate(double rate) {
  check_not_negative("set_learning_rate", "the learning rate", rate);
  learning_rate_ = rate;
}

void Optimizer::update(ModuleRef module, std::span<const Tensor> gradients) {
  update(named_parameters(module), gradients);
}

void Optimizer::update(std::span<const NamedTensor> parameters, std::span<const Tensor> gradients) {
  check(parameters, gradients);
  for (std::size_t begin = 0; begin < parameters.size();) {
    std::size_t end = begin;
    std::int64_t bytes = 0;
    while (end < parameters.size() && bytes < part_bytes) bytes += bytes_of(*parameters[end++].value);
    update_part(parameters.subspan(begin, end - begin), gradients.subspan(begin, end - begin));
    begin = end;
  }
}

void Optimizer::check(std::span<const NamedTensor> parameters, std::span<const Tensor> gradients) const {
  if (parameters.size() != gradients.size()) {
    throw_invalid(name(),
                  fmt::format("{} gradients were given for {} parameters; pass those of value_and_grad() of the "
                              "same module",
                              gradients.size(), parameters.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Shape& shape = parameters[i].value->shape();
    if (gradients[i].shape() != shape) {
      throw_invalid(name(), fmt::format("the gradient of '{}' has the shape {}, the parameter {}", parameters[i].name,
                                        to_string(gradients[i].shape()), to_string(shape)));
    }
    const auto found = states_.find(parameters[i].name);
    if (found == states_.end()) continue;
    for (const Tensor& slot : found->second.slots) {
      if (slot.shape() == shape) continue;
      throw_invalid(name(),
                    fmt::format("the state of '{}' has the shape {}, the parameter {}; load the state of the same "
                                "module",
                                parameters[i].name, to_string(slot.shape()), to_string(shape)));
    }
  }
}

void Optimizer::update_part(std::span<const NamedTensor> parameters, std::span<const Tensor> gradients) {
  const std::size_t slot_count = slots().size();
  std::vector<ParameterState> next;
  std::vector<Tensor> values;
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& parameter = *parameters[i].value;
    const DType type = type_of_updates(parameter.dtype());
    const auto found = states_.find(parameters[i].name);
    ParameterState state = found == states_.end() ? ParameterState{} : found->second;
    if (state.slots.empty()) {
      state.slots.assign(slot_count, array::full(parameter.shape(), 0, type, {.device = parameter.device()}));
    }
    for (Tensor& slot : state.slots) slot = slot.on(parameter.device()).astype(type);
    ++state.step;
    const Tensor value = next_value(parameter.astype(type), gradients[i].astype(type), state.slots, state.step);
    values.push_back(value.astype(parameter.dtype()));
    all.push_back(values.back());
    all.insert(all.end(), state.slots.begin(), state.slots.end());
    next.push_back(std::move(state));
  }
  array::eval(all);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    *parameters[i].value = std::move(values[i]);
    states_.insert_or_assign(parameters[i].name, std::move(next[i]));
  }
}

StateDict Optimizer::state_dict() const {
  StateDict state;
  state.add(std::string(rate_name), array::full({}, learning_rate_, DType::float64));
  for (const auto& [parameter, kept] : states_) {
    state.add(fmt::format("{}.{}", parameter, step_slot), array::full({}, kept.step, DType::int64));
    const std::vector<std::string_view> names = slots();
    for (std::size_t i = 0; i < names.size(); ++i) state.add(fmt::format("{}.{}", parameter, names[i]), kept.slots[i]);
  }
  return state;
}

void Optimizer::load_state_dict(const StateDict& state) {
  const std::vector<std::string_view> names = slots();
  const double rate = state.at(rate_name).item();
  check_not_negative("load_state_dict", "the learning rate", rate);
  std::map<std::string, ParameterState, std::less<>> loaded;
  std::size_t used = 1;
  for (const auto& [entry, value] : state) {
    const std::size_t dot = entry.rfind('.');
    if (dot == std::string::npos || entry.substr(dot + 1) != step_slot) continue;
    const std::string parameter = entry.substr(0, dot);
    ParameterState& kept = loaded[parameter];
    kept.step = value.item<std::int64_t>();
    if (kept.step < 1)
      throw_invalid("load_state_dict", fmt::format("'{}' is {}, it must be above 0", entry, kept.step));
    for (const std::string_view slot : names) kept.slots.push_back(state.at(fmt::format("{}.{}", parameter, slot)));
    used += 1 + names.size();
  }
  if (used != state.size()) {
    throw_invalid("load_state_dict",
                  fmt::format("{} of {} tensors are not part of the state of {}, which keeps {}; load "
                              "the state of an optimizer of the same kind and options",
                              state.size() - used, state.size(), name(), fmt::join(names, ", ")));
  }
  learning_rate_ = rate;
  states_ = std::move(loaded);
}

}  // namespace vectis::inline v0_1::nn
