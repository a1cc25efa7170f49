// Groups of element-wise operations that are computed in one pass over the data on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "array/node.hpp"

namespace vectis::inline v0_1::array {

class MapProgram;

// Compiled groups by their structure: operations, types and how they are connected, without sizes and numbers.
// Thread-safe.
class ElementMaps {
 public:
  using Key = std::vector<std::uint32_t>;
  ElementMaps();
  ~ElementMaps();

  // Returns the program with this key, compiling it by `compile` at the first call.
  template <class Compile>
  std::shared_ptr<const MapProgram> find(const Key& key, const Compile& compile) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<const MapProgram>& found = programs_[key];
    if (!found) {
      if (programs_.size() > programs_max) programs_.clear();
      return programs_[key] = compile();
    }
    return found;
  }

 private:
  static constexpr std::size_t programs_max = 4096;  // a program of many shapes of graphs starts anew

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const MapProgram>> programs_;
};

// Returns the copies that compute_map() makes of inputs whose elements are not in row-major order.
std::vector<std::shared_ptr<Storage>> copies_of_map_inputs(std::span<Node* const> members, DryRun& run);

// Computes a group: nodes of element functions of one shape, inputs before their consumers. Allocates and sets the
// storage of `outputs`, which are members; the others are computed in passing. Throws Allocation when memory is short.
void compute_map(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs);

}  // namespace vectis::inline v0_1::array
