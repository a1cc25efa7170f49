// The types operands of an operation may have together.
#pragma once

#include <functional>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Calls `visit` with every combination of types that the operation takes; `types` are those of the first operands.
inline void each_types(const Operation& operation, const std::function<void(const std::vector<DType>&)>& visit,
                       std::vector<DType> types = {}) {
  if (types.size() == operation.operands.size()) {
    if (!operation.types_agree || operation.types_agree(types)) visit(types);
    return;
  }
  for (const DType type : operation.operands[types.size()].types) {
    types.push_back(type);
    each_types(operation, visit, types);
    types.pop_back();
  }
}

}  // namespace vectis::inline v0_1::detail
