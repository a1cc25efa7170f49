// Enumerates the type combinations of an operation and the kernels its samples plan, which are all it has.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Calls `visit` with every combination of operand types that the operation takes. `types` are of the first operands.
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

// One thread at a time.
class VECTIS_API SampledPlans {
 public:
  SampledPlans();
  // Calls `visit` with every launch of every sample with operands of these types, as planned for the device. Samples
  // that exceed the device's limits are skipped.
  void each(const Operation& operation, std::span<const DType> types, const DeviceInfo& device,
            const std::function<void(const PlannedLaunch&)>& visit) const;

 private:
  Runtime runtime_;
  DeviceContext context_;
  DeviceMemory placeholder_;  // views need a memory, which plans do not access
};

}  // namespace vectis::inline v0_1::detail
