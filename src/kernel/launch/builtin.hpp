// The plans that an operation's samples make, which are all the kernels it has.
#pragma once

#include <functional>
#include <span>

#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// One thread at a time.
class SampledPlans {
 public:
  SampledPlans();
  // Every launch of every sample with operands of these types, as planned for the device; those of a sample the device
  // has too little for are left out.
  void each(const Operation& operation, std::span<const DType> types, const DeviceInfo& device,
            const std::function<void(const PlannedLaunch&)>& visit) const;

 private:
  Runtime runtime_;
  DeviceContext context_;
  DeviceMemory nowhere_;  // views name a memory, plans never look into it
};

}  // namespace vectis::inline v0_1::detail
