// The state of a module as named tensors, in names and shapes of PyTorch's state dicts.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/array/tensor.hpp"
#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// Tensors by name, in the order in which they were added. A value. Not thread-safe.
class VECTIS_API StateDict {
 public:
  using Entry = std::pair<std::string, Tensor>;

  StateDict() = default;

  // Appends a tensor, in logarithmic time. Throws InvalidInput when the name exists or the tensor is empty.
  void add(std::string name, Tensor value);
  // Returns the tensor of a name; null when there is none.
  [[nodiscard]] const Tensor* find(std::string_view name) const noexcept;
  // Returns the tensor of a name. Throws InvalidInput when there is none.
  [[nodiscard]] const Tensor& at(std::string_view name) const;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] auto end() const noexcept { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> by_name_;  // positions in entries_
};

// Returns the parameters and buffers of a module. Throws InvalidInput when two have the same path.
VECTIS_API StateDict state_dict(ModuleRef module);

// What load_state_dict() does with names that only one side has.
enum class StateMatch {
  exact,    // they are errors
  partial,  // they are left alone
};
// Replaces the tensors of a module by those of the same names, converted to the type and copied to the device of the
// tensors they replace. Throws InvalidInput, listing all names that are missing in the dictionary, unused by the module
// or have other shapes; the module is then as it was.
VECTIS_API void load_state_dict(ModuleRef module, const StateDict& state, StateMatch match = StateMatch::exact);

}  // namespace vectis::inline v0_1::nn
