// Values that platforms and devices state about themselves. Each function throws Failure when the query fails.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <string>
#include <vector>

#include "api.hpp"

namespace vectis::opencl {

// Strings come without trailing blanks and NULs.
std::string platform_text(const Api& api, cl_platform_id platform, cl_platform_info parameter);
std::string device_text(const Api& api, cl_device_id device, cl_device_info parameter);

template <class Value>
Value device_value(const Api& api, cl_device_id device, cl_device_info parameter) {
  Value value{};
  check(api.GetDeviceInfo(device, parameter, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

template <class Value>
std::vector<Value> device_values(const Api& api, cl_device_id device, cl_device_info parameter) {
  std::size_t bytes = 0;
  check(api.GetDeviceInfo(device, parameter, 0, nullptr, &bytes), "clGetDeviceInfo");
  std::vector<Value> values(bytes / sizeof(Value));
  if (values.empty()) return values;
  check(api.GetDeviceInfo(device, parameter, bytes, values.data(), nullptr), "clGetDeviceInfo");
  return values;
}

// Throws Failure with the reason DRIVER_TOO_OLD unless `stated` ("OpenCL 3.0 PoCL") is OpenCL 1.2 or newer. `subject`
// begins the message: "the OpenCL platform 'PoCL'".
void require_version(const std::string& subject, const std::string& stated);

}  // namespace vectis::opencl
