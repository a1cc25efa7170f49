#include "vectis/nn/state_dict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "nn/check.hpp"

namespace vectis::inline v0_1::nn {

void StateDict::add(std::string name, Tensor value) {
  if (value.is_empty()) throw_invalid("state_dict", fmt::format("the tensor for {} is empty; give one", name));
  if (!by_name_.try_emplace(name, entries_.size()).second) {
    throw_invalid("state_dict", fmt::format("{} exists already; give each tensor its own name", name));
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

const Tensor* StateDict::find(std::string_view name) const noexcept {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &entries_[at->second].second;
}

const Tensor& StateDict::at(std::string_view name) const {
  if (const Tensor* const found = find(name)) return *found;
  throw_invalid("state_dict", fmt::format("there is no tensor {}; its {} tensors have other names", name, size()));
}

StateDict state_dict(ModuleRef module) {
  StateDict state;
  for (const NamedTensor& tensor : named_tensors(module)) state.add(tensor.name, *tensor.value);
  return state;
}

void load_state_dict(ModuleRef module, const StateDict& state, StateMatch match) {
  std::vector<std::string> missing;
  std::vector<std::string> unused;
  std::vector<std::string> mismatched;
  std::set<std::string_view> known;
  const std::vector<NamedTensor> tensors = named_tensors(module);
  for (const NamedTensor& tensor : tensors) {
    known.insert(tensor.name);
    const Tensor* const given = state.find(tensor.name);
    if (given == nullptr) {
      missing.push_back(tensor.name);
    } else if (given->shape() != tensor.value->shape()) {
      mismatched.push_back(fmt::format("{} (expected {}, received {})", tensor.name, to_string(tensor.value->shape()),
                                       to_string(given->shape())));
    }
  }
  for (const auto& [name, value] : state) {
    if (!known.contains(name)) unused.push_back(name);
  }
  if (match == StateMatch::partial) {
    missing.clear();
    unused.clear();
  }
  std::vector<std::string> problems;
  const auto add_problem = [&](std::string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) problems.push_back(fmt::format("{} {}", what, fmt::join(names, ", ")));
  };
  add_problem("missing:", missing);
  add_problem("unused:", unused);
  add_problem("other shapes:", mismatched);
  if (!problems.empty()) {
    throw_invalid("load_state_dict",
                  fmt::format("{}; give the state of a module of the same layers", fmt::join(problems, "; ")));
  }
  // A tensor that has two names is replaced when one of them is given.
  std::vector<std::pair<Tensor*, Tensor>> values;
  for (const NamedTensor& tensor : tensors) {
    const Tensor* const given = state.find(tensor.name);
    const Tensor& old = *tensor.value;
    if (given != nullptr) values.emplace_back(tensor.value, given->astype(old.dtype()).on(old.device()));
  }
  for (auto& [target, value] : values) *target = std::move(value);
}

}  // namespace vectis::inline v0_1::nn
