// What the plug-in reports about a GPU from the system's list of PCI devices, of which tests make a copy.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>
#include <wgpu.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "harness.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis::test {
namespace {

// An adapter as wgpu describes a GPU, in place of lavapipe.
struct StatedAdapter {
  std::uint32_t vendor = 0x1002;
  std::uint32_t device = 0x744c;
  WGPUAdapterType type = WGPUAdapterType_DiscreteGPU;
};
StatedAdapter stated_adapter;

template <class Function>
Function* real_wgpu(const char* name) {
  static void* const library = dlopen(default_settings().at("library").c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void keep_members(WGPUAdapterInfo) {}

WGPUStatus state_adapter(WGPUAdapter adapter, WGPUAdapterInfo* info) {
  WGPUAdapterInfo real{};
  const WGPUStatus status = real_wgpu<decltype(state_adapter)>("wgpuAdapterGetInfo")(adapter, &real);
  info->backendType = real.backendType;
  real_wgpu<decltype(keep_members)>("wgpuAdapterInfoFreeMembers")(real);
  info->device = {"Some GPU", WGPU_STRLEN};
  info->vendor = info->description = info->architecture = {"", 0};
  info->vendorID = stated_adapter.vendor;
  info->deviceID = stated_adapter.device;
  info->adapterType = stated_adapter.type;
  return status;
}

// A copy of /sys/bus/pci/devices.
class PciFolder {
 public:
  void add(const std::string& address, const std::string& vendor, const std::string& device,
           const std::string& device_class = "0x030000", const std::optional<std::string>& memory = {}) {
    const std::filesystem::path card = folder_.folder() / address;
    std::filesystem::create_directory(card);
    std::ofstream(card / "vendor") << vendor << '\n';
    std::ofstream(card / "device") << device << '\n';
    std::ofstream(card / "class") << device_class << '\n';
    if (memory) std::ofstream(card / "mem_info_vram_total") << *memory << '\n';
  }
  [[nodiscard]] std::string path() const { return folder_.folder().string(); }

 private:
  TemporaryFolder folder_;
};

VectisDeviceInfo describe(const std::string& pci_folder, const StatedAdapter& adapter) {
  stated_adapter = adapter;
  TestHost host;
  host.replaced["wgpuAdapterGetInfo"] = reinterpret_cast<void*>(&state_adapter);
  host.replaced["wgpuAdapterInfoFreeMembers"] = reinterpret_cast<void*>(&keep_members);
  host.settings["api"] = "vulkan";
  host.settings["pci_folder"] = pci_folder;
  VectisBackendState* state = nullptr;
  EXPECT_TRUE(succeeded(call_slot(plugin().open, host.get(), &state)));
  VectisDeviceInfo info{};
  info.size = sizeof info;
  EXPECT_TRUE(succeeded(call_slot(plugin().device_info, state, 0U, &info)));
  plugin().close(state);
  return info;
}

std::uint64_t host_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(WebgpuCard, HasPciAddressAndMemoryOfTheOneThatMatches) {
  PciFolder pci;
  pci.add("0000:00:02.0", "0x8086", "0x4680");
  pci.add("0000:03:00.0", "0x1002", "0x744c", "0x030000", "25753026560");
  pci.add("0000:03:00.1", "0x1002", "0x744c", "0x040300");  // its sound
  pci.add("0000:c1:00.0", "0x1002", "0x164e", "0x038000", "536870912");
  const VectisDeviceInfo info = describe(pci.path(), {});
  EXPECT_STREQ(info.name, "Some GPU over Vulkan");
  EXPECT_STREQ(info.physical_id, "pci-0000:03:00.0");
  EXPECT_EQ(info.memory_bytes, 25753026560U);
  EXPECT_EQ(info.compute_units, 0U) << "WebGPU does not report it";
  EXPECT_EQ(info.capabilities & VECTIS_CAN_UNIFIED_MEMORY, 0U);
}

TEST(WebgpuCard, OfSeveralEqualOnesHasAnIdOfItsOwn) {
  PciFolder pci;
  pci.add("0000:03:00.0", "0x1002", "0x744c", "0x030000", "25753026560");
  pci.add("0000:43:00.0", "0x1002", "0x744c", "0x120000", "25753026560");
  VectisDeviceInfo info = describe(pci.path(), {});
  EXPECT_STREQ(info.physical_id, "webgpu-0");
  EXPECT_EQ(info.memory_bytes, 25753026560U) << "equal in both";
  pci.add("0000:83:00.0", "0x1002", "0x744c", "0x030000", "8589934592");
  info = describe(pci.path(), {});
  EXPECT_STREQ(info.physical_id, "webgpu-0");
  EXPECT_EQ(info.memory_bytes, 0U) << "unknown";
}

// The largest buffer of the driver is not the memory of the device.
TEST(WebgpuCard, WithoutStatedMemoryHasAnUnknownSize) {
  PciFolder pci;
  EXPECT_EQ(describe(pci.path(), {}).memory_bytes, 0U);
  EXPECT_STREQ(describe(pci.path(), {}).physical_id, "webgpu-0");
  EXPECT_EQ(describe("/nowhere", {}).memory_bytes, 0U);
  pci.add("0000:0a:00.0", "0x10de", "0x2684", "0x030200");
  pci.add("0000:0b:00.0", "0x1002", "0x744c", "not a number");
  const VectisDeviceInfo nvidia = describe(pci.path(), {0x10DE, 0x2684, WGPUAdapterType_DiscreteGPU});
  EXPECT_STREQ(nvidia.physical_id, "pci-0000:0a:00.0");
  EXPECT_EQ(nvidia.memory_bytes, 0U);
  EXPECT_STREQ(describe(pci.path(), {}).physical_id, "webgpu-0");
}

TEST(WebgpuCard, ThroughOpenGlMatchesByVendorAlone) {
  PciFolder pci;
  pci.add("0000:00:02.0", "0x8086", "0x4680");
  pci.add("0000:03:00.0", "0x1002", "0x744c", "0x030000", "25753026560");
  const StatedAdapter opengl{0x1002, 0, WGPUAdapterType_Unknown};
  EXPECT_STREQ(describe(pci.path(), opengl).physical_id, "pci-0000:03:00.0");
  EXPECT_EQ(describe(pci.path(), opengl).memory_bytes, 25753026560U);
  pci.add("0000:c1:00.0", "0x1002", "0x164e", "0x038000", "536870912");
  EXPECT_STREQ(describe(pci.path(), opengl).physical_id, "webgpu-0");
}

TEST(WebgpuCard, ThatIsIntegratedHasTheMemoryOfTheHost) {
  PciFolder pci;
  pci.add("0000:c1:00.0", "0x1002", "0x164e", "0x038000", "536870912");
  const VectisDeviceInfo info = describe(pci.path(), {0x1002, 0x164e, WGPUAdapterType_IntegratedGPU});
  EXPECT_STREQ(info.physical_id, "pci-0000:c1:00.0");
  EXPECT_EQ(info.memory_bytes, host_bytes());
  EXPECT_NE(info.capabilities & VECTIS_CAN_UNIFIED_MEMORY, 0U);
}

class WebgpuSoftware : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(GraphicsApis, WebgpuSoftware, testing::ValuesIn(graphics_apis()),
                         [](const auto& tested) { return tested.param; });

TEST_P(WebgpuSoftware, HasMemoryAndThreadsOfTheHost) {
  const Rig rig(GetParam());
  EXPECT_EQ(rig.info.memory_bytes, host_bytes());
  EXPECT_EQ(rig.info.compute_units, std::thread::hardware_concurrency());
  EXPECT_STREQ(rig.info.physical_id, "webgpu-0");
}

}  // namespace
}  // namespace vectis::test
