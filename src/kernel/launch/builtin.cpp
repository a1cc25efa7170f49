#include "kernel/launch/builtin.hpp"

#include <set>

#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1 {

namespace {

// An empty plan if the sample exceeds the device's limits.
LaunchPlan plan_if_possible(const OperationCall& call, const DeviceInfo& device) {
  try {
    return call.operation->plan(call, device);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return {};
  }
}

DeviceInfo with_limits(std::uint32_t group_items, std::uint64_t shared_kib) {
  DeviceInfo device;
  device.compute_units = 16;
  device.limits.group_items_max = group_items;
  device.limits.group_size_max = {group_items, group_items, 64};
  device.limits.shared_bytes_max = shared_kib << 10U;
  return device;
}

}  // namespace

namespace detail {

SampledPlans::SampledPlans()
    : context_(runtime_.service<DeviceRegistry>().find("cpu").value()), placeholder_(context_, sizeof(std::uint32_t)) {}

void SampledPlans::each(const Operation& operation, std::span<const DType> types, const DeviceInfo& device,
                        const std::function<void(const PlannedLaunch&)>& visit) const {
  std::vector<ParameterValue> parameters;
  parameters.reserve(operation.parameters.size());
  for (const ParameterRule& rule : operation.parameters) parameters.emplace_back(rule.default_value);
  for (const auto& shapes : operation.samples) {
    std::vector<View> views;
    views.reserve(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i)
      views.emplace_back(placeholder_, types[i], shapes[i][0], shapes[i][1]);
    for (const PlannedLaunch& launch : plan_if_possible({&operation, views, parameters}, device).launches)
      visit(launch);
  }
}

}  // namespace detail

std::vector<KernelSource> builtin_kernels(const DeviceInfo& device) {
  const detail::SampledPlans plans;
  std::vector<KernelSource> kernels;
  std::set<std::string> seen;
  const auto add = [&](const PlannedLaunch& launch) {
    if (seen.insert(launch.key).second) kernels.push_back(launch.source());
  };
  for (const Operation& operation : operations()) {
    detail::each_types(operation, [&](const std::vector<DType>& types) { plans.each(operation, types, device, add); });
  }
  return kernels;
}

std::vector<KernelSource> builtin_kernels() { return builtin_kernels(with_limits(256, 48)); }

std::vector<DeviceInfo> prebuilt_devices(Dialect dialect) {
  // The limits WebGPU guarantees, and those of desktop drivers.
  if (dialect == Dialect::glsl_webgpu) return {with_limits(256, 16), with_limits(256, 32)};
  if (dialect == Dialect::cuda) {
    DeviceInfo newer = with_limits(1024, 48);
    newer.capabilities.int8_matrix = true;
    return {with_limits(1024, 48), newer};
  }
  return {};
}

}  // namespace vectis::inline v0_1
