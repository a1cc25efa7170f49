#include "vectis/plan/workload.hpp"

#include <utility>

namespace vectis::inline v0_1 {

Placement::Placement(const Device& on, Workload what, std::string called)
    : label(called.empty() ? on.label() : std::move(called)), device(on), workload(std::move(what)) {}

Placement::Placement(const DeviceProfile& on, Workload what, std::string called)
    : label(called.empty() ? std::string(on.device) : std::move(called)), simulated(&on), workload(std::move(what)) {}

std::string Placement::device_label() const { return device ? device->label() : simulated->device; }

}  // namespace vectis::inline v0_1
