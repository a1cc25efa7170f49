#include "device/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vectis::inline v0_1::detail {

bool runs_kernels(const DeviceInfo& info) noexcept { return info.kind == DeviceKind::cpu || !info.dialects.empty(); }

int use_rank(const DeviceInfo& info) noexcept {
  if (info.software) return 3;
  if (info.kind == DeviceKind::cpu) return 1;
  return runs_kernels(info) ? 0 : 2;
}

bool is_same_card(const Device& one, const Device& other) noexcept {
  return one.backend() != other.backend() && !one.info().physical_id.empty() &&
         one.info().physical_id == other.info().physical_id;
}

std::vector<Device> best_per_card(const std::vector<Device>& devices) {
  std::vector<Device> kept;
  for (const Device& device : devices) {
    const auto is_it = [&](const Device& earlier) { return is_same_card(earlier, device); };
    if (std::ranges::none_of(kept, is_it)) kept.push_back(device);
  }
  return kept;
}

std::string why_no_kernels(const Device& device, const BackendStatus& status) {
  return fmt::format("{} can run no kernels: {}", device.label(),
                     status.reason.empty() ? "its driver has no compiler for them" : status.reason);
}

}  // namespace vectis::inline v0_1::detail
