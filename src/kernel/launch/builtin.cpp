#include <set>

#include "kernel/launch/type_sets.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1 {

std::vector<KernelSource> builtin_kernels(const DeviceInfo& device) {
  Runtime runtime;
  // Views name a memory, plans never look into it.
  const DeviceContext context(runtime.service<DeviceRegistry>().find("cpu").value());
  const DeviceMemory nowhere(context, sizeof(std::uint32_t));
  std::vector<KernelSource> kernels;
  std::set<std::string> seen;
  for (const Operation& operation : operations()) {
    std::vector<Number> numbers;
    numbers.reserve(operation.parameters.size());
    for (const ParameterRule& rule : operation.parameters) numbers.emplace_back(rule.standard);
    detail::each_types(operation, [&](const std::vector<DType>& chosen) {
      for (const auto& shapes : operation.samples) {
        std::vector<View> views;
        views.reserve(shapes.size());
        for (std::size_t i = 0; i < shapes.size(); ++i)
          views.emplace_back(nowhere, chosen[i], shapes[i][0], shapes[i][1]);
        for (const PlannedLaunch& launch : operation.plan({&operation, views, numbers}, device).launches) {
          if (seen.insert(launch.key).second) kernels.push_back(launch.source());
        }
      }
    });
  }
  return kernels;
}

std::vector<KernelSource> builtin_kernels() {
  DeviceInfo usual;
  usual.compute_units = 16;
  usual.limits.group_items_max = 256;
  usual.limits.group_size_max = {256, 256, 64};
  usual.limits.shared_bytes_max = std::uint64_t{48} << 10;
  return builtin_kernels(usual);
}

}  // namespace vectis::inline v0_1
