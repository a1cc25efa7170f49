#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "devices.hpp"
#include "query.hpp"

namespace vectis::opencl {

namespace {

// The partition of a device of `units` compute units into `parts`; the first ones take the remainder.
std::vector<cl_device_partition_property> partition_properties(cl_uint units, cl_uint parts) {
  const cl_device_partition_property each = units / parts;
  if (units % parts == 0) return {CL_DEVICE_PARTITION_EQUALLY, each, 0};
  std::vector<cl_device_partition_property> properties{CL_DEVICE_PARTITION_BY_COUNTS};
  for (cl_uint part = 0; part < parts; ++part) properties.push_back(each + (part < units % parts ? 1 : 0));
  properties.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
  properties.push_back(0);
  return properties;
}

// Why the device cannot be partitioned into `parts`, or nothing.
std::optional<std::string> obstacle(const Api& api, cl_device_id device, cl_uint units, cl_uint parts) {
  if (parts > units) return "it has only " + std::to_string(units) + " compute units";
  const cl_device_partition_property needed =
      units % parts == 0 ? CL_DEVICE_PARTITION_EQUALLY : CL_DEVICE_PARTITION_BY_COUNTS;
  const auto offered = device_values<cl_device_partition_property>(api, device, CL_DEVICE_PARTITION_PROPERTIES);
  if (std::find(offered.begin(), offered.end(), needed) == offered.end())
    return "its driver does not offer this partition";
  return std::nullopt;
}

bool is_partition_error(cl_int code) {
  return code == CL_DEVICE_PARTITION_FAILED || code == CL_INVALID_DEVICE_PARTITION_COUNT || code == CL_INVALID_VALUE;
}

// The sub-devices, or why there are none.
struct Partition {
  std::vector<Owned<cl_device_id>> sub_devices;
  std::optional<std::string> obstacle;
};

Partition create_sub_devices(const Api& api, cl_device_id device, cl_uint parts) {
  const auto units = device_value<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  Partition result{{}, obstacle(api, device, units, parts)};
  if (result.obstacle) return result;
  const std::vector<cl_device_partition_property> properties = partition_properties(units, parts);
  std::vector<cl_device_id> created(parts);
  result.sub_devices.reserve(parts);
  const cl_int code = api.CreateSubDevices(device, properties.data(), parts, created.data(), nullptr);
  if (is_partition_error(code)) {
    result.obstacle = "clCreateSubDevices returned " + describe(code);
    return result;
  }
  check(code, "clCreateSubDevices");
  for (cl_device_id device_id : created) result.sub_devices.emplace_back(device_id, api.ReleaseDevice);
  return result;
}

}  // namespace

void add_sub_devices(VectisBackendState& state) {
  constexpr std::uint64_t parts_max = 1U << 20U;
  const auto setting = state.host.positive_setting("sub_devices", "", parts_max);
  if (!setting) return;
  const auto parts = static_cast<cl_uint>(*setting);
  const std::size_t roots = state.devices.size();
  for (std::size_t root = 0; root < roots; ++root) {
    const cl_platform_id platform = state.devices[root].platform;
    const cl_device_type type = state.devices[root].type;
    Partition partition = create_sub_devices(state.api, state.devices[root].id, parts);
    if (partition.obstacle) {
      state.host.log(VECTIS_LOG_WARNING, "device " + std::to_string(root) + " is not partitioned into " +
                                             std::to_string(parts) + " sub-devices: " + *partition.obstacle);
    }
    for (Owned<cl_device_id>& sub_device : partition.sub_devices) {
      const cl_device_id id = sub_device.get();
      state.devices.push_back({platform, id, type, static_cast<std::int32_t>(root), std::move(sub_device)});
    }
  }
}

}  // namespace vectis::opencl
