// Enumerates the type combinations of an operation and the kernels its samples plan, which are all it has.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Calls `visit` with every combination of operand types that the operation takes. `types` holds the types chosen for
// the first operands and is empty in the outermost call. Throws what `visit` throws.
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

// Plans the samples of operations without a GPU, to enumerate their kernels. Owns a runtime and a context on the
// CPU. One thread at a time.
class VECTIS_API SampledPlans {
 public:
  // Creates a runtime and a context on its CPU device; throws what creating them throws.
  SampledPlans();
  // Calls `visit` with every launch of every sample of the operation with operands of these types, as planned for
  // the limits of `device`. `types` must be a combination that the operation takes, one per operand. Samples for
  // which planning throws Unsupported are skipped; other errors, and those of `visit`, are thrown.
  void each(const Operation& operation, std::span<const DType> types, const DeviceInfo& device,
            const std::function<void(const PlannedLaunch&)>& visit) const;

 private:
  Runtime runtime_;
  DeviceContext context_;
  DeviceMemory placeholder_;  // views need a memory, which plans do not access
};

}  // namespace vectis::inline v0_1::detail
