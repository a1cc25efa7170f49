// What `open` says when something is missing, and which devices it lists.
#include <gmock/gmock.h>

#include <cstdlib>

#include "harness.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

Answer open(TestHost& host) {
  VectisBackendState* state = nullptr;
  Answer answer = ask(plugin().open, host.get(), &state);
  if (state != nullptr) plugin().close(state);
  return answer;
}

TEST(WebgpuOpen, WithoutTheLibraryIsNoLibrary) {
  TestHost host;
  host.settings["library"] = "/nowhere/libwgpu_native.so";
  const Answer answer = open(host);
  EXPECT_EQ(answer.status, VECTIS_BACKEND_CREATION);
  EXPECT_EQ(answer.reason, VECTIS_REASON_NO_LIBRARY);
  EXPECT_THAT(answer.text, HasSubstr("/nowhere/libwgpu_native.so: no such file"));
}

TEST(WebgpuOpen, AsksTheHostForTheUsualName) {
  TestHost host;
  host.settings.erase("library");
  const Answer answer = open(host);
  if (answer.status == VECTIS_OK) GTEST_SKIP() << "this machine has libwgpu_native installed";
  EXPECT_EQ(answer.reason, VECTIS_REASON_NO_LIBRARY);
  EXPECT_THAT(answer.text, HasSubstr("libwgpu_native.so: no such file"));
}

TEST(WebgpuOpen, AnotherVersionIsTooOld) {
  TestHost host;
  using Version = std::uint32_t (*)();
  const Version version = [] { return std::uint32_t{0x16010203}; };
  host.replaced["wgpuGetVersion"] = reinterpret_cast<void*>(version);
  const Answer answer = open(host);
  EXPECT_EQ(answer.reason, VECTIS_REASON_DRIVER_TOO_OLD);
  EXPECT_THAT(answer.text, HasSubstr("version 22.1.2.3, version 29 is needed"));
}

TEST(WebgpuOpen, AMissingFunctionIsNamed) {
  TestHost host;
  host.replaced["wgpuQueueWriteBuffer"] = nullptr;
  const Answer answer = open(host);
  EXPECT_EQ(answer.reason, VECTIS_REASON_DRIVER_TOO_OLD);
  EXPECT_THAT(answer.text, HasSubstr("no wgpuQueueWriteBuffer"));
}

TEST(WebgpuOpen, AnUnknownInterfaceIsRefused) {
  TestHost host;
  host.settings["api"] = "glide";
  const Answer answer = open(host);
  EXPECT_EQ(answer.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(answer.text, HasSubstr("'glide', it must be vulkan, metal, dx12, gl or all"));
}

TEST(WebgpuOpen, AnInterfaceWithoutDeviceIsNoDriver) {
  TestHost host;
  host.settings["api"] = "metal";
  const Answer answer = open(host);
  EXPECT_EQ(answer.reason, VECTIS_REASON_NO_DRIVER);
  EXPECT_THAT(answer.text, HasSubstr("finds no device it can compute on through metal"));
}

std::vector<std::string> drivers(TestHost& host) {
  VectisBackendState* state = nullptr;
  EXPECT_TRUE(works(ask(plugin().open, host.get(), &state)));
  std::vector<std::string> list;
  std::uint32_t count = 0;
  EXPECT_TRUE(works(ask(plugin().device_count, state, &count)));
  for (std::uint32_t index = 0; index < count; ++index) {
    VectisDeviceInfo info{};
    info.size = sizeof info;
    EXPECT_TRUE(works(ask(plugin().device_info, state, index, &info)));
    list.emplace_back(info.driver);
  }
  VectisDeviceInfo info{};
  info.size = sizeof info;
  EXPECT_EQ(ask(plugin().device_info, state, count, &info).status, VECTIS_INVALID_INPUT);
  plugin().close(state);
  return list;
}

TEST(WebgpuDevices, AreListedOnceThroughTheBestInterface) {
  TestHost host;
  EXPECT_THAT(drivers(host), testing::ElementsAre(HasSubstr("Vulkan")));
  host.settings["api"] = "all";
  EXPECT_THAT(drivers(host), testing::UnorderedElementsAre(HasSubstr("Vulkan"), HasSubstr("OpenGL")));
}

TEST(WebgpuDevices, ComeThroughOpenGlWhenThereIsNoVulkanDriver) {
  const std::string before = std::getenv("VK_DRIVER_FILES");
  setenv("VK_DRIVER_FILES", "/nowhere.json", 1);
  TestHost host;
  EXPECT_THAT(drivers(host), testing::ElementsAre(HasSubstr("OpenGL")));
  setenv("VK_DRIVER_FILES", before.c_str(), 1);
}

TEST(WebgpuDevices, HaveTheMemoryTheSettingSays) {
  for (const std::string value : {"0", "-1", "x", "99999999999999"}) {
    TestHost host;
    host.settings["memory_mb"] = value;
    VectisBackendState* state = nullptr;
    ASSERT_TRUE(works(ask(plugin().open, host.get(), &state)));
    VectisDeviceInfo info{};
    info.size = sizeof info;
    EXPECT_EQ(ask(plugin().device_info, state, 0U, &info).status, VECTIS_INVALID_INPUT) << value;
    host.settings["memory_mb"] = "12";
    EXPECT_TRUE(works(ask(plugin().device_info, state, 0U, &info)));
    EXPECT_EQ(info.memory_bytes, 12U << 20U);
    plugin().close(state);
  }
}

TEST(WebgpuConfigure, KnowsOneKey) {
  Rig rig("vulkan");
  EXPECT_EQ(ask(plugin().configure, rig.state, "colour", "0").status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(ask(plugin().configure, rig.state, "lose", "0x").status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(ask(plugin().configure, rig.state, "lose", "7").status, VECTIS_INVALID_INPUT);
}

}  // namespace
}  // namespace vectis::test
