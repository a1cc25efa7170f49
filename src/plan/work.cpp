#include "vectis/plan/work.hpp"

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

Candidate::Candidate(const Device& on, Work what, std::string called)
    : label(called.empty() ? on.label() : std::move(called)), device(on), work(std::move(what)) {}

Candidate::Candidate(const DeviceProfile& on, Work what, std::string called)
    : label(called.empty() ? std::string(on.device) : std::move(called)), modelled(&on), work(std::move(what)) {}

std::string Candidate::device_label() const { return device ? device->label() : modelled->device; }

}  // namespace vectis::inline v0_1
