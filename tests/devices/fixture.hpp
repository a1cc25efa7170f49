// A Runtime with all backends, and helpers shared by the device tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/device.hpp"

namespace vectis::test {

inline std::vector<std::byte> random_bytes(Random& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

class DevicesTest : public testing::Test {
 protected:
  explicit DevicesTest(RuntimeOptions options = {}) : runtime_(std::move(options)) {}

  Runtime& runtime() { return runtime_; }
  DeviceRegistry& registry() { return runtime_.service<DeviceRegistry>(); }
  Device device(const std::string& name) {
    const auto found = registry().find(name);
    if (!found) throw std::out_of_range("no device " + name);
    return *found;
  }

 private:
  Runtime runtime_;
};

// Turns "opencl:1" into a valid GoogleTest name.
inline std::string case_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ':', '_');
  return name;
}

// All devices except `null`, which computes nothing.
inline std::vector<std::string> computing_devices() {
  std::vector<std::string> devices{"cpu", "failing"};
#if defined(VECTIS_HAS_OPENCL)
  devices.insert(devices.end(), {"opencl", "opencl:1"});
#endif
#if defined(VECTIS_HAS_CUDA)
  devices.emplace_back("cuda");
#endif
#if defined(VECTIS_HAS_HIP)
  devices.emplace_back("hip");
#endif
#if defined(VECTIS_HAS_WEBGPU)
  devices.insert(devices.end(), {"webgpu:0", "webgpu:1"});  // over Vulkan and over OpenGL
#endif
  return devices;
}

}  // namespace vectis::test
