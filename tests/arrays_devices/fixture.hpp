// The devices that arrays are computed on.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/arrays/dense.hpp"
#include "tests/devices/fixture.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

inline std::vector<std::string> array_devices() {
  std::vector<std::string> devices{"failing"};
#if defined(VECTIS_HAS_OPENCL)
  devices.emplace_back("opencl");
#endif
#if defined(VECTIS_HAS_WEBGPU)
  devices.emplace_back("webgpu");
#endif
#if defined(VECTIS_HAS_CUDA)
  devices.emplace_back("cuda");
#endif
#if defined(VECTIS_HAS_HIP)
  devices.emplace_back("hip");
#endif
  return devices;
}

class EveryArrayDevice : public DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  using Tensor = array::Tensor;

  Device target() { return device(GetParam()); }
  Device host() { return device("cpu"); }
  array::TensorOptions on_target() { return {.device = target()}; }
  // Returns an array of the device with random elements.
  Tensor random_on_target(const Shape& shape, DType type = DType::float32, double low = -2, double high = 2) {
    return random_on_host(shape, type, low, high).on(target());
  }
  Tensor random_on_host(const Shape& shape, DType type = DType::float32, double low = -2, double high = 2) {
    const Dense dense = random_dense(random, shape, low, high);
    return Tensor::from_cpu(dense.values, shape, {.device = host()}).astype(type).eval();
  }
  // Expects an array of the device to have the type and elements of one of the CPU, within `tolerance`.
  void expect_same(const Tensor& found, const Tensor& expected, double tolerance, const std::string& what) {
    ASSERT_EQ(found.device(), target()) << what;
    ASSERT_EQ(found.dtype(), expected.dtype()) << what;
    expect_near(found.on(host()), {expected.shape(), values_of(expected)}, tolerance, what);
  }

  std::mt19937_64 random{seed()};
};

}  // namespace vectis::test
