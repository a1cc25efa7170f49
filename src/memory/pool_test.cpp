// The limits of pools on scripted devices; tests/memory tests allocations.
#include "vectis/memory/pool.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/fake_runtime.hpp"
#include "tests/support/scripted_backend.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

class PoolLimits : public test::FakeRuntimeTest {
 protected:
  static VectisDeviceInfo card(const char* id, std::uint64_t bytes) {
    VectisDeviceInfo info = test::gpu("card");
    std::snprintf(info.physical_id, sizeof(info.physical_id), "%s", id);
    info.memory_bytes = bytes;
    return info;
  }
  int id_of(const char* label) { return runtime().service<DeviceRegistry>().find(label)->id(); }
  std::uint64_t limit(const char* label) { return memory_pool(runtime()).get_memory_stats(id_of(label))->limit_bytes; }
};

TEST_F(PoolLimits, ACardOfSeveralBackendsHasOneLimit) {
  test::ScriptedBackend<0>::install(os, "cuda").devices = {card("pci-0000:65:00.0", 24 * gibibyte)};
  test::ScriptedBackend<1>::install(os, "webgpu").devices = {card("pci-0000:65:00.0", 2 * gibibyte)};
  test::ScriptedBackend<2>::install(os, "opencl").devices = {card("pci-0000:65:00.0", 24 * gibibyte),
                                                             card("pci-0000:17:00.0", 8 * gibibyte)};
  EXPECT_EQ(limit("webgpu:0"), limit("cuda:0")) << "the first backend that knows the memory decides";
  EXPECT_NEAR(static_cast<double>(limit("cuda:0")), 0.7 * 24 * gibibyte, 1);
  EXPECT_NEAR(static_cast<double>(limit("opencl:1")), 0.7 * 8 * gibibyte, 1);
  ASSERT_TRUE(memory_pool(runtime()).set_max_pool_size(id_of("opencl:0"), gibibyte));
  EXPECT_EQ(limit("cuda:0"), gibibyte);
  EXPECT_EQ(limit("webgpu:0"), gibibyte);
  EXPECT_NE(limit("opencl:1"), gibibyte);
}

TEST_F(PoolLimits, UnknownMemoryIsTakenFromAnotherBackendOrAssumed) {
  test::ScriptedBackend<0>::install(os, "webgpu").devices = {card("pci-0000:65:00.0", 0), card("", 0)};
  test::ScriptedBackend<1>::install(os, "opencl").devices = {card("pci-0000:65:00.0", 16 * gibibyte)};
  EXPECT_NEAR(static_cast<double>(limit("webgpu:0")), 0.7 * 16 * gibibyte, 1);
  EXPECT_NEAR(static_cast<double>(limit("webgpu:1")), 0.7 * 4 * gibibyte, 1);
}

}  // namespace
}  // namespace vectis
