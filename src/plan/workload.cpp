#include "vectis/plan/workload.hpp"

#include <utility>

namespace vectis::inline v0_1 {

double& ByPrecision::at(Precision precision) noexcept {
  switch (precision) {
    case Precision::fp16:
      return fp16;
    case Precision::bf16:
      return bf16;
    case Precision::int8:
      return int8;
    case Precision::fp32:
      break;
  }
  return fp32;
}

double ByPrecision::at(Precision precision) const noexcept { return const_cast<ByPrecision*>(this)->at(precision); }

Placement::Placement(const Device& on, Workload what, std::string called)
    : label(called.empty() ? on.label() : std::move(called)), device(on), workload(std::move(what)) {}

Placement::Placement(const DeviceProfile& on, Workload what, std::string called)
    : label(called.empty() ? std::string(on.device) : std::move(called)), modelled(&on), workload(std::move(what)) {}

std::string Placement::device_label() const { return device ? device->label() : modelled->device; }

}  // namespace vectis::inline v0_1
