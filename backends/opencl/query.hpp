// Questions to platforms and devices, answered as C++ values. Each throws Failure when the driver does not answer.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <string>
#include <vector>

#include "api.hpp"
#include "status.hpp"

namespace vectis::opencl {

std::string platform_text(const Api& api, cl_platform_id platform, cl_platform_info question);
std::string device_text(const Api& api, cl_device_id device, cl_device_info question);

template <class Value>
Value device_value(const Api& api, cl_device_id device, cl_device_info question) {
  Value value{};
  check(api.GetDeviceInfo(device, question, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

template <class Value>
std::vector<Value> device_values(const Api& api, cl_device_id device, cl_device_info question) {
  std::size_t bytes = 0;
  check(api.GetDeviceInfo(device, question, 0, nullptr, &bytes), "clGetDeviceInfo");
  std::vector<Value> values(bytes / sizeof(Value));
  if (values.empty()) return values;
  check(api.GetDeviceInfo(device, question, bytes, values.data(), nullptr), "clGetDeviceInfo");
  return values;
}

// Throws Failure with the reason DRIVER_TOO_OLD unless `stated` ("OpenCL 3.0 PoCL") is OpenCL 1.2 or newer.
void require_version(const std::string& who, const std::string& stated);

}  // namespace vectis::opencl
