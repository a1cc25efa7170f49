// Opening the backend: devices found, failures and their reasons, device information.
#include <CL/cl.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/slots/rig.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

TEST(OpenclTable, HasNameVersionAndSlots) {
  const VectisBackend& table = plugin();
  EXPECT_EQ(table.size, sizeof(VectisBackend));
  EXPECT_EQ(table.abi_major, VECTIS_ABI_MAJOR);
  EXPECT_STREQ(table.name, "opencl");
  EXPECT_THAT(table.requirement, HasSubstr("1.2"));
  EXPECT_NE(table.program_binary, nullptr);
  EXPECT_EQ(table.device_memory, nullptr) << "OpenCL 1.2 does not report free memory";
  EXPECT_EQ(table.configure, nullptr);
}

TEST(OpenclOpen, WithoutALoaderIsNoLibrary) {
  TestHost host;
  host.has_library = false;
  const SlotResult result = try_open(host);
  expect_open_failure(result, VECTIS_REASON_NO_LIBRARY, "libOpenCL.so.1");
  EXPECT_THAT(result.text, HasSubstr("no such file"));
}

TEST(OpenclOpen, ALoaderWithoutAFunctionIsTooOld) {
  TestHost host;
  host.replaced["clEnqueueFillBuffer"] = nullptr;
  expect_open_failure(try_open(host), VECTIS_REASON_DRIVER_TOO_OLD, "clEnqueueFillBuffer");
}

// Replacements for single functions of the driver; real() finds the original.
template <class Function>
Function real(const char* symbol) {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(library, symbol));
}

cl_int no_platform(cl_uint, cl_platform_id*, cl_uint*) { return -1001; }
cl_int zero_platforms(cl_uint, cl_platform_id*, cl_uint* count) {
  *count = 0;
  return CL_SUCCESS;
}
cl_int no_device(cl_platform_id, cl_device_type, cl_uint, cl_device_id*, cl_uint*) { return CL_DEVICE_NOT_FOUND; }

cl_int state_version(const char* version, size_t room, void* value, size_t* needed) {
  if (needed != nullptr) *needed = std::strlen(version) + 1;
  if (value != nullptr) std::memcpy(value, version, room);
  return CL_SUCCESS;
}
const char* stated = "";
cl_int other_device_version(cl_device_id device, cl_device_info parameter, size_t room, void* value, size_t* needed) {
  if (parameter == CL_DEVICE_VERSION) return state_version(stated, room, value, needed);
  return real<decltype(&other_device_version)>("clGetDeviceInfo")(device, parameter, room, value, needed);
}
cl_int unavailable(cl_device_id device, cl_device_info parameter, size_t room, void* value, size_t* needed) {
  const cl_int code = real<decltype(&unavailable)>("clGetDeviceInfo")(device, parameter, room, value, needed);
  if (parameter == CL_DEVICE_AVAILABLE) *static_cast<cl_bool*>(value) = CL_FALSE;
  return code;
}

template <class Function>
SlotResult open_with(const char* symbol, Function* function) {
  TestHost host;
  host.replaced[symbol] = reinterpret_cast<void*>(function);
  return try_open(host);
}

TEST(OpenclOpen, ALoaderWithoutPlatformsHasNoDriver) {
  EXPECT_EQ(open_with("clGetPlatformIDs", no_platform).reason, VECTIS_REASON_NO_DRIVER);
  EXPECT_EQ(open_with("clGetPlatformIDs", zero_platforms).reason, VECTIS_REASON_NO_DRIVER);
}

TEST(OpenclOpen, APlatformWithoutDevicesIsNamed) {
  const SlotResult result = open_with("clGetDeviceIDs", no_device);
  expect_open_failure(result, VECTIS_REASON_NO_DEVICE, "Portable Computing Language");
  EXPECT_THAT(result.text, HasSubstr("set POCL_CACHE_DIR to a writable folder"));
}

cl_int rusticl_platform(cl_platform_id platform, cl_platform_info parameter, size_t room, void* value, size_t* needed) {
  if (parameter == CL_PLATFORM_NAME) return state_version("rusticl", room, value, needed);
  return real<decltype(&rusticl_platform)>("clGetPlatformInfo")(platform, parameter, room, value, needed);
}

TEST(OpenclOpen, RusticlWithoutDevicesNamesItsVariable) {
  TestHost host;
  host.replaced["clGetPlatformInfo"] = reinterpret_cast<void*>(rusticl_platform);
  host.replaced["clGetDeviceIDs"] = reinterpret_cast<void*>(no_device);
  const SlotResult result = try_open(host);
  expect_open_failure(result, VECTIS_REASON_NO_DEVICE, "'rusticl' offers no device; rusticl offers only");
  EXPECT_THAT(result.text, HasSubstr("set RUSTICL_ENABLE=radeonsi (AMD)"));
}

// A loader that drops platforms without devices.
TEST(OpenclOpen, AFileOfRusticlWithoutAPlatformNamesItsVariable) {
  const std::string before = std::getenv("OCL_ICD_VENDORS") == nullptr ? "" : std::getenv("OCL_ICD_VENDORS");
  const TemporaryFolder folder;
  setenv("OCL_ICD_VENDORS", folder.folder().c_str(), 1);
  EXPECT_EQ(open_with("clGetPlatformIDs", no_platform).reason, VECTIS_REASON_NO_DRIVER);
  std::ofstream(folder.path("rusticl.icd")) << "libRusticlOpenCL.so.1";
  const SlotResult result = open_with("clGetPlatformIDs", no_platform);
  before.empty() ? unsetenv("OCL_ICD_VENDORS") : setenv("OCL_ICD_VENDORS", before.c_str(), 1);
  expect_open_failure(result, VECTIS_REASON_NO_DEVICE, "RUSTICL_ENABLE");
}

// PoCL would abort the process at the first launch.
TEST(OpenclOpen, PoclWithoutALinkerIsNotUsed) {
  const std::string before = std::getenv("PATH");
  TestHost host;
  setenv("PATH", "/nowhere:", 1);
  const SlotResult elsewhere = try_open(host);
  unsetenv("PATH");
  const SlotResult unset = try_open(host);
  setenv("PATH", before.c_str(), 1);
  for (const SlotResult& result : {elsewhere, unset}) {
    expect_open_failure(result, VECTIS_REASON_OTHER, "needs the linker `ld`, which no folder of PATH holds");
  }
  EXPECT_TRUE(succeeded(try_open(host)));
}

TEST(OpenclOpen, AnUnavailableDeviceIsNone) {
  EXPECT_EQ(open_with("clGetDeviceInfo", unavailable).reason, VECTIS_REASON_NO_DEVICE);
}

TEST(OpenclOpen, VersionsAreCompared) {
  for (const char* version : {"OpenCL 1.1 old", "OpenCL 0.9", "OpenCL 1", "OpenCL x.y", "CUDA 12.0", ""}) {
    stated = version;
    expect_open_failure(open_with("clGetDeviceInfo", other_device_version), VECTIS_REASON_DRIVER_TOO_OLD,
                        std::string("'") + version + "', OpenCL 1.2 is needed");
  }
  for (const char* version : {"OpenCL 1.2", "OpenCL 2.0 x", "OpenCL 10.0"}) {
    stated = version;
    EXPECT_TRUE(succeeded(open_with("clGetDeviceInfo", other_device_version)));
  }
}

// A second platform beside the real one, which is too old.
_cl_platform_id* const old_platform = reinterpret_cast<cl_platform_id>(&stated);
cl_int two_platforms(cl_uint room, cl_platform_id* platforms, cl_uint* count) {
  if (count != nullptr) *count = 2;
  if (room < 2) return CL_SUCCESS;
  platforms[0] = old_platform;
  return real<decltype(&two_platforms)>("clGetPlatformIDs")(1, platforms + 1, nullptr);
}
cl_int platform_info(cl_platform_id platform, cl_platform_info parameter, size_t room, void* value, size_t* needed) {
  if (platform == old_platform) return state_version("OpenCL 1.0 elder", room, value, needed);
  return real<decltype(&platform_info)>("clGetPlatformInfo")(platform, parameter, room, value, needed);
}

TEST(OpenclOpen, AnUnusablePlatformBesideAUsableOneIsLoggedAndSkipped) {
  TestHost host;
  host.replaced["clGetPlatformIDs"] = reinterpret_cast<void*>(two_platforms);
  host.replaced["clGetPlatformInfo"] = reinterpret_cast<void*>(platform_info);
  EXPECT_TRUE(succeeded(try_open(host)));
  EXPECT_THAT(host.logged(), testing::ElementsAre(HasSubstr("OpenCL 1.0 elder")));
}

VectisDeviceInfo info_of(const Rig& rig, std::uint32_t index) {
  VectisDeviceInfo info{};
  info.size = sizeof info;
  EXPECT_TRUE(succeeded(call_slot(plugin().device_info, rig.state, index, &info)));
  return info;
}

std::uint32_t count_of(const Rig& rig) {
  std::uint32_t count = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().device_count, rig.state, &count)));
  return count;
}

TEST(OpenclDevice, DescribesPocl) {
  Rig rig;
  rig.need_state();
  ASSERT_EQ(count_of(rig), 1U);
  const VectisDeviceInfo info = info_of(rig, 0);
  EXPECT_THAT(info.name, HasSubstr("pthread"));
  EXPECT_STRNE(info.vendor, "");
  EXPECT_THAT(info.driver, HasSubstr("Portable Computing Language"));
  EXPECT_STREQ(info.dialects, "opencl-c");
  EXPECT_EQ(info.kind, VECTIS_DEVICE_CPU);
  EXPECT_EQ(info.software, 1);
  EXPECT_EQ(info.parent, -1);
  EXPECT_EQ(info.compute_units, 4U);
  EXPECT_GT(info.memory_bytes, 1U << 20U);
  EXPECT_LE(info.allocation_bytes_max, info.memory_bytes);
  EXPECT_GT(info.allocation_bytes_max, 64U << 20U);
  EXPECT_EQ(info.memory_alignment, 128U);
  EXPECT_GT(info.shared_bytes_max, 1024U);
  EXPECT_GE(info.group_items_max, 256U);
  for (const std::uint32_t size : info.group_size_max) EXPECT_GE(size, 256U);
  EXPECT_EQ(info.capabilities, VECTIS_CAN_FP64 | VECTIS_CAN_UNIFIED_MEMORY | VECTIS_CAN_TIMESTAMPS);
}

// What drivers answer about the PCI bus: by the extension of Khronos, of NVIDIA, of AMD.
std::map<cl_device_info, std::vector<std::uint8_t>> pci_answers;
const char* pci_extensions = "";

cl_int pci_device(cl_device_id device, cl_device_info parameter, size_t room, void* value, size_t* needed) {
  if (parameter == CL_DEVICE_EXTENSIONS) return state_version(pci_extensions, room, value, needed);
  const auto found = pci_answers.find(parameter);
  if (found == pci_answers.end()) {
    return real<decltype(&pci_device)>("clGetDeviceInfo")(device, parameter, room, value, needed);
  }
  if (room != found->second.size()) return CL_INVALID_VALUE;
  std::memcpy(value, found->second.data(), room);
  return CL_SUCCESS;
}

template <class... Values>
std::vector<std::uint8_t> bytes_of(Values... values) {
  std::vector<std::uint8_t> bytes;
  for (const cl_uint value : {static_cast<cl_uint>(values)...}) {
    const std::size_t end = bytes.size();
    bytes.resize(end + sizeof value);
    std::memcpy(&bytes[end], &value, sizeof value);
  }
  return bytes;
}

std::string physical_id_with(const char* extensions, std::map<cl_device_info, std::vector<std::uint8_t>> answers) {
  pci_extensions = extensions;
  pci_answers = std::move(answers);
  Rig rig;
  rig.host.replaced["clGetDeviceInfo"] = reinterpret_cast<void*>(pci_device);
  rig.host.settings["sub_devices"] = "2";
  rig.need_state();
  for (const std::uint32_t part : {1U, 2U}) {
    EXPECT_STREQ(info_of(rig, part).physical_id, info_of(rig, 0).physical_id);
  }
  return info_of(rig, 0).physical_id;
}

TEST(OpenclDevice, IsIdentifiedByItsPciAddressAsInOtherBackends) {
  const auto khr = bytes_of(1, 0xAF, 0x1D, 3);
  EXPECT_EQ(physical_id_with("cl_khr_fp16 cl_khr_pci_bus_info", {{0x410F, khr}}), "pci-0001:af:1d.3");
  const auto bus = bytes_of(0x0A);
  const auto slot = bytes_of(2 << 3 | 1);
  const char* const nvidia = "cl_nv_device_attribute_query";
  EXPECT_EQ(physical_id_with(nvidia, {{0x4008, bus}, {0x4009, slot}}), "pci-0000:0a:02.1");
  EXPECT_EQ(physical_id_with(nvidia, {{0x4008, bus}, {0x4009, slot}, {0x400A, bytes_of(5)}}), "pci-0005:0a:02.1");
  std::vector<std::uint8_t> topology(24);
  topology[0] = 1;
  topology[21] = 0xC3;
  topology[22] = 4;
  EXPECT_EQ(physical_id_with("cl_amd_device_attribute_query", {{0x4037, topology}}), "pci-0000:c3:04.0");
  EXPECT_EQ(physical_id_with("cl_khr_pci_bus_info cl_nv_device_attribute_query",
                             {{0x410F, khr}, {0x4008, bus}, {0x4009, slot}}),
            "pci-0001:af:1d.3");
}

TEST(OpenclDevice, WithoutAPciAddressHasAnIdOfItsOwn) {
  EXPECT_EQ(physical_id_with("", {}), "opencl-0");
  EXPECT_EQ(physical_id_with("cl_khr_pci_bus_info cl_nv_device_attribute_query cl_amd_device_attribute_query", {}),
            "opencl-0")
      << "PoCL answers none of the queries";
  EXPECT_EQ(physical_id_with("cl_amd_device_attribute_query", {{0x4037, std::vector<std::uint8_t>(24)}}), "opencl-0");
}

TEST(OpenclDevice, AnUnknownIndexIsInvalidInput) {
  Rig rig;
  rig.need_state();
  VectisDeviceInfo info{};
  info.size = sizeof info;
  const SlotResult result = call_slot(plugin().device_info, rig.state, 1U, &info);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(result.text, "there is no device 1, the backend has 1");
  EXPECT_EQ(call_slot(plugin().context_create, rig.state, 1U, &rig.context).status, VECTIS_INVALID_INPUT);
}

TEST(OpenclDevice, WritesOnlyTheFieldsOfAnOlderHost) {
  Rig rig;
  rig.need_state();
  VectisDeviceInfo info{};
  info.size = offsetof(VectisDeviceInfo, capabilities);
  info.capabilities = 0xAAAA;
  EXPECT_TRUE(succeeded(call_slot(plugin().device_info, rig.state, 0U, &info)));
  EXPECT_EQ(info.size, offsetof(VectisDeviceInfo, capabilities));
  EXPECT_EQ(info.capabilities, 0xAAAAU);
  EXPECT_EQ(info.compute_units, 4U);
}

std::vector<std::uint32_t> units_of_parts(const Rig& rig) {
  std::vector<std::uint32_t> units;
  for (std::uint32_t index = 1; index < count_of(rig); ++index) {
    const VectisDeviceInfo part = info_of(rig, index);
    EXPECT_EQ(part.parent, 0);
    EXPECT_STREQ(part.physical_id, info_of(rig, 0).physical_id);
    units.push_back(part.compute_units);
  }
  return units;
}

TEST(OpenclSubDevices, AreListedAfterTheirRoot) {
  const std::map<std::string, std::vector<std::uint32_t>> expected{
      {"1", {4}}, {"2", {2, 2}}, {"3", {2, 1, 1}}, {"4", {1, 1, 1, 1}}};
  for (const auto& [setting, units] : expected) {
    Rig rig;
    rig.host.settings["sub_devices"] = setting;
    rig.need_state();
    EXPECT_EQ(units_of_parts(rig), units) << setting;
    EXPECT_EQ(info_of(rig, 0).compute_units, 4U);
    EXPECT_STRNE(info_of(rig, 0).physical_id, "");
  }
}

TEST(OpenclSubDevices, ADeviceThatCannotBePartitionedIsLogged) {
  Rig rig;
  rig.host.settings["sub_devices"] = "5";
  rig.need_state();
  EXPECT_EQ(count_of(rig), 1U);
  EXPECT_THAT(rig.host.logged(), testing::ElementsAre(HasSubstr("only 4 compute units")));
}

TEST(OpenclSubDevices, InvalidSettingsAreRejected) {
  for (const char* setting : {"0", "-1", "two", "", "2x", "99999999999"}) {
    TestHost host;
    host.settings["sub_devices"] = setting;
    const SlotResult result = try_open(host);
    EXPECT_EQ(result.status, VECTIS_INVALID_INPUT) << setting;
    EXPECT_EQ(result.reason, VECTIS_REASON_OTHER);
    EXPECT_THAT(result.text, HasSubstr(std::string("sub_devices is '") + setting + "'"));
  }
}

TEST(OpenclSubDevices, EachComputes) {
  Rig whole;
  whole.host.settings["sub_devices"] = "4";
  whole.need_state();
  for (whole.device = 1; whole.device <= 4; ++whole.device) {
    whole.need_streams();
    whole.need_memory();
    whole.need_kernel();
    const std::vector<float> sent(Rig::bytes / sizeof(float), static_cast<float>(whole.device));
    whole.upload(whole.memory, sent.data(), sent.size() * sizeof(float));
    EXPECT_TRUE(succeeded(launch_mirror(whole.stream, whole.kernel, whole.memory, whole.other_memory, 2.0F,
                                        static_cast<std::int32_t>(sent.size()), 64)));
    const std::vector<std::uint8_t> bytes = whole.download(whole.other_memory, Rig::bytes);
    std::vector<float> got(sent.size());
    std::memcpy(got.data(), bytes.data(), bytes.size());
    EXPECT_EQ(got, mirror_oracle(sent, 2.0F, 64)) << "device " << whole.device;
    VectisBackendState* state = std::exchange(whole.state, nullptr);
    whole.destroy();
    whole.state = state;
  }
}

}  // namespace
}  // namespace vectis::test
