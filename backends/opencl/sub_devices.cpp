#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discovery.hpp"
#include "query.hpp"
#include "status.hpp"

namespace vectis::opencl {

namespace {

std::optional<cl_uint> wanted_parts(const Host& host) {
  const char* text = host.setting("sub_devices");
  if (text == nullptr) return std::nullopt;
  cl_uint parts = 0;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, parts);
  if (error != std::errc() || stopped != end || parts == 0) {
    throw Failure(VECTIS_INVALID_INPUT,
                  std::string("the setting sub_devices is '") + text + "', it must be a whole number from 1 on",
                  VECTIS_REASON_OTHER);
  }
  return parts;
}

// How to divide a device of `units` compute units into `parts`, the first ones larger when it does not come out even.
std::vector<cl_device_partition_property> partition(cl_uint units, cl_uint parts) {
  const cl_device_partition_property each = units / parts;
  if (units % parts == 0) return {CL_DEVICE_PARTITION_EQUALLY, each, 0};
  std::vector<cl_device_partition_property> properties{CL_DEVICE_PARTITION_BY_COUNTS};
  for (cl_uint part = 0; part < parts; ++part) properties.push_back(each + (part < units % parts ? 1 : 0));
  properties.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
  properties.push_back(0);
  return properties;
}

// Why the device cannot be divided so, or nothing.
std::optional<std::string> obstacle(const Api& api, cl_device_id device, cl_uint units, cl_uint parts) {
  if (parts > units) return "it has only " + std::to_string(units) + " compute units";
  const cl_device_partition_property needed =
      units % parts == 0 ? CL_DEVICE_PARTITION_EQUALLY : CL_DEVICE_PARTITION_BY_COUNTS;
  const auto offered = device_values<cl_device_partition_property>(api, device, CL_DEVICE_PARTITION_PROPERTIES);
  if (std::find(offered.begin(), offered.end(), needed) == offered.end()) return "its driver offers no such division";
  return std::nullopt;
}

bool is_refusal(cl_int code) {
  return code == CL_DEVICE_PARTITION_FAILED || code == CL_INVALID_DEVICE_PARTITION_COUNT || code == CL_INVALID_VALUE;
}

// The parts, or why there are none.
struct Division {
  std::vector<Owned<cl_device_id>> parts;
  std::optional<std::string> obstacle;
};

Division divide(const Api& api, cl_device_id device, cl_uint parts) {
  const auto units = device_value<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  Division division{{}, obstacle(api, device, units, parts)};
  if (division.obstacle) return division;
  const std::vector<cl_device_partition_property> properties = partition(units, parts);
  std::vector<cl_device_id> made(parts);
  division.parts.reserve(parts);
  const cl_int code = api.CreateSubDevices(device, properties.data(), parts, made.data(), nullptr);
  if (is_refusal(code)) {
    division.obstacle = "clCreateSubDevices answers " + describe(code);
    return division;
  }
  check(code, "clCreateSubDevices");
  for (cl_device_id part : made) division.parts.emplace_back(part, api.ReleaseDevice);
  return division;
}

}  // namespace

void add_sub_devices(VectisBackendState& state) {
  const std::optional<cl_uint> parts = wanted_parts(state.host);
  if (!parts) return;
  const std::size_t roots = state.devices.size();
  for (std::size_t root = 0; root < roots; ++root) {
    const ListedDevice& whole = state.devices[root];
    const cl_platform_id platform = whole.platform;
    Division division = divide(state.api, whole.id, *parts);
    if (division.obstacle) {
      state.host.log(VECTIS_LOG_WARNING, "device " + std::to_string(root) + " is not divided into " +
                                             std::to_string(*parts) + " sub-devices: " + *division.obstacle);
    }
    for (Owned<cl_device_id>& part : division.parts) {
      const cl_device_id id = part.get();
      state.devices.push_back({platform, id, static_cast<std::int32_t>(root), std::move(part)});
    }
  }
}

}  // namespace vectis::opencl
