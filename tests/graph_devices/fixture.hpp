// The devices that graphs are built and searched on.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/devices/fixture.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {

inline std::vector<std::string> graph_devices() {
  std::vector<std::string> devices{"failing"};
#if defined(VECTIS_HAS_OPENCL)
  devices.emplace_back("opencl");
#endif
#if defined(VECTIS_HAS_WEBGPU)
  devices.emplace_back("webgpu");
#endif
  return devices;
}

class GraphDevicesTest : public DevicesTest {
 protected:
  static constexpr std::size_t dim = 24;

  Random random{seed()};
};

class EveryGraphDevice : public GraphDevicesTest, public testing::WithParamInterface<std::string> {};

}  // namespace vectis::test
