// Values that platforms and devices state about themselves. Each function throws Failure when the query fails.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"

namespace vectis::opencl {

// Returns a text that a platform states, without trailing blanks and NULs. `parameter` must name a text. Throws
// Failure with the status of the driver's code when clGetPlatformInfo fails.
std::string platform_text(const Api& api, cl_platform_id platform, cl_platform_info parameter);

// Returns a text that a device states, without trailing blanks and NULs. `parameter` must name a text. Throws Failure
// with the status of the driver's code when clGetDeviceInfo fails.
std::string device_text(const Api& api, cl_device_id device, cl_device_info parameter);

// Returns one value that a device states. Precondition: `parameter` names a value of type Value. Throws Failure with
// the status of the driver's code (VECTIS_DRIVER_FAILURE for most) when clGetDeviceInfo fails.
template <class Value>
Value device_value(const Api& api, cl_device_id device, cl_device_info parameter) {
  Value value{};
  check(api.GetDeviceInfo(device, parameter, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

// Returns the list of values that a device states, which may be empty. Precondition: `parameter` names an array of
// Value. Throws Failure with the status of the driver's code (VECTIS_DRIVER_FAILURE for most) when clGetDeviceInfo
// fails.
template <class Value>
std::vector<Value> device_values(const Api& api, cl_device_id device, cl_device_info parameter) {
  std::size_t bytes = 0;
  check(api.GetDeviceInfo(device, parameter, 0, nullptr, &bytes), "clGetDeviceInfo");
  std::vector<Value> values(bytes / sizeof(Value));
  if (values.empty()) return values;
  check(api.GetDeviceInfo(device, parameter, bytes, values.data(), nullptr), "clGetDeviceInfo");
  return values;
}

// The names in the list of extensions that a device states. Immutable.
class Extensions {
 public:
  explicit Extensions(const std::string& text);
  [[nodiscard]] bool has(std::string_view extension) const;

 private:
  std::vector<std::string> words_;
};

// Checks that `stated` ("OpenCL 3.0 PoCL") is OpenCL 1.2 or newer. Throws Failure with VECTIS_BACKEND_CREATION and
// the reason DRIVER_TOO_OLD when it is older or has another form. `subject` begins the message: "the OpenCL platform
// 'PoCL'".
void require_version(const std::string& subject, const std::string& stated);

}  // namespace vectis::opencl
