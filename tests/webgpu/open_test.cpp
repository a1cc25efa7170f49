// Opening the backend: failures and their reasons, and the devices it lists.
#include <gmock/gmock.h>

#include <cstdlib>

#include "harness.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

TEST(WebgpuOpen, WithoutTheLibraryIsNoLibrary) {
  TestHost host;
  host.settings["library"] = "/nowhere/libwgpu_native.so";
  expect_open_failure(try_open(host), VECTIS_REASON_NO_LIBRARY, "/nowhere/libwgpu_native.so: no such file");
}

TEST(WebgpuOpen, OpensTheLibraryByItsDefaultName) {
  TestHost host;
  host.settings.erase("library");
  const SlotResult result = try_open(host);
  if (result.status == VECTIS_OK) GTEST_SKIP() << "this machine has libwgpu_native installed";
  expect_open_failure(result, VECTIS_REASON_NO_LIBRARY, "libwgpu_native.so: no such file");
}

TEST(WebgpuOpen, AnotherVersionIsTooOld) {
  TestHost host;
  using Version = std::uint32_t (*)();
  const Version version = [] { return std::uint32_t{0x16010203}; };
  host.replaced["wgpuGetVersion"] = reinterpret_cast<void*>(version);
  expect_open_failure(try_open(host), VECTIS_REASON_DRIVER_TOO_OLD, "version 22.1.2.3, version 29 is needed");
}

TEST(WebgpuOpen, AMissingFunctionIsNamed) {
  TestHost host;
  host.replaced["wgpuQueueWriteBuffer"] = nullptr;
  expect_open_failure(try_open(host), VECTIS_REASON_DRIVER_TOO_OLD, "no wgpuQueueWriteBuffer");
}

TEST(WebgpuOpen, AnUnknownGraphicsApiIsRejected) {
  TestHost host;
  host.settings["api"] = "glide";
  const SlotResult result = try_open(host);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(result.text, HasSubstr("'glide'; it must be vulkan, metal, dx12, gl or all"));
}

TEST(WebgpuOpen, AGraphicsApiWithoutDevicesIsNoDriver) {
  TestHost host;
  host.settings["api"] = "metal";
  expect_open_failure(try_open(host), VECTIS_REASON_NO_DRIVER,
                      "finds no usable GPU or software renderer through metal");
}

std::vector<std::string> drivers(TestHost& host) {
  VectisBackendState* state = nullptr;
  EXPECT_TRUE(succeeded(call_slot(plugin().open, host.get(), &state)));
  std::vector<std::string> list;
  std::uint32_t count = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().device_count, state, &count)));
  for (std::uint32_t index = 0; index < count; ++index) {
    VectisDeviceInfo info{};
    info.size = sizeof info;
    EXPECT_TRUE(succeeded(call_slot(plugin().device_info, state, index, &info)));
    list.emplace_back(info.driver);
  }
  VectisDeviceInfo info{};
  info.size = sizeof info;
  EXPECT_EQ(call_slot(plugin().device_info, state, count, &info).status, VECTIS_INVALID_INPUT);
  plugin().close(state);
  return list;
}

TEST(WebgpuDevices, AreListedOnceThroughTheBestApi) {
  TestHost host;
  EXPECT_THAT(drivers(host), testing::ElementsAre(HasSubstr("Vulkan")));
  host.settings["api"] = "all";
  EXPECT_THAT(drivers(host), testing::UnorderedElementsAre(HasSubstr("Vulkan"), HasSubstr("OpenGL")));
}

TEST(WebgpuDevices, UseOpenGlWithoutAVulkanDriver) {
  const std::string before = std::getenv("VK_DRIVER_FILES");
  setenv("VK_DRIVER_FILES", "/nowhere.json", 1);
  TestHost host;
  EXPECT_THAT(drivers(host), testing::ElementsAre(HasSubstr("OpenGL")));
  setenv("VK_DRIVER_FILES", before.c_str(), 1);
}

TEST(WebgpuDevices, HaveTheMemoryOfTheSetting) {
  for (const std::string value : {"0", "-1", "x", "99999999999999"}) {
    TestHost host;
    host.settings["memory_mb"] = value;
    VectisBackendState* state = nullptr;
    ASSERT_TRUE(succeeded(call_slot(plugin().open, host.get(), &state)));
    VectisDeviceInfo info{};
    info.size = sizeof info;
    EXPECT_EQ(call_slot(plugin().device_info, state, 0U, &info).status, VECTIS_INVALID_INPUT) << value;
    host.settings["memory_mb"] = "12";
    EXPECT_TRUE(succeeded(call_slot(plugin().device_info, state, 0U, &info)));
    EXPECT_EQ(info.memory_bytes, 12U << 20U);
    plugin().close(state);
  }
}

TEST(WebgpuConfigure, AcceptsOneKey) {
  Rig rig("vulkan");
  EXPECT_EQ(call_slot(plugin().configure, rig.state, "color", "0").status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(call_slot(plugin().configure, rig.state, "lose", "0x").status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(call_slot(plugin().configure, rig.state, "lose", "7").status, VECTIS_INVALID_INPUT);
}

}  // namespace
}  // namespace vectis::test
