#include "vectis/device/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/scripted_backend.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using test::FakeOs;
using test::gpu;
using test::Script;
using test::ScriptedBackend;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SelectionTest : public test::FakeRuntimeTest {
 protected:
  std::string chosen(const DeviceRequest& request = {}) { return choose_device(runtime(), request).device.label(); }
};

TEST_F(SelectionTest, AutomaticOrderIsCudaHipWebgpuOpenclCpu) {
  std::vector<std::string> order;
  for (int present = 4; present >= 0; --present) {
    FakeOs fake;
    if (present > 0) ScriptedBackend<0>::install(fake, "opencl").devices = {gpu("o")};
    if (present > 1) ScriptedBackend<1>::install(fake, "webgpu").devices = {gpu("w")};
    if (present > 2) ScriptedBackend<2>::install(fake, "hip").devices = {gpu("h")};
    if (present > 3) ScriptedBackend<3>::install(fake, "cuda").devices = {gpu("c")};
    Runtime own(options_on(fake));
    order.push_back(default_device(own).label());
    EXPECT_EQ(detect_best_backend(own), default_device(own).backend());
    EXPECT_EQ(is_gpu_available(own), present > 0);
  }
  EXPECT_THAT(order, ElementsAre("cuda:0", "hip:0", "webgpu:0", "opencl:0", "cpu:0"));
}

TEST_F(SelectionTest, EachBackendSaysWhetherItHasAGpu) {
  for (const char* const present : {"none", "cuda", "hip", "webgpu", "opencl"}) {
    FakeOs fake;
    if (present != std::string("none")) ScriptedBackend<0>::install(fake, present).devices = {gpu("g")};
    Runtime own(options_on(fake));
    const auto is = [&](const char* name) { return present == std::string(name); };
    EXPECT_EQ(is_cuda_available(own), is("cuda"));
    EXPECT_EQ(is_hip_available(own), is("hip"));
    EXPECT_EQ(is_rocm_available(own), is("hip"));
    EXPECT_EQ(is_webgpu_available(own), is("webgpu"));
    EXPECT_EQ(is_opencl_available(own), is("opencl"));
    EXPECT_FALSE(is_metal_available(own));
  }
  ScriptedBackend<0>::install(os, "opencl").devices = {test::software("PoCL")};
  EXPECT_FALSE(is_opencl_available(runtime())) << "a software driver";
}

TEST_F(SelectionTest, RocmIsAnotherNameOfHip) {
  ScriptedBackend<0>::install(os, "hip").devices = {gpu("A"), gpu("B")};
  EXPECT_EQ(chosen({.device = "rocm"}), "hip:0");
  EXPECT_EQ(chosen({.device = "rocm:1"}), "hip:1");
  EXPECT_ERROR(chosen({.device = "rocm:2"}), ErrorCode::unsupported_backend, "rocm:2");
  os.variables["VECTIS_DEVICE"] = "rocm:1";
  os.variables["VECTIS_BACKENDS_ROCM_DRIVER"] = "/x";
  Runtime own(options_on(os));
  EXPECT_EQ(default_device(own).label(), "hip:1");
}

TEST_F(SelectionTest, RocmSaysWhyHipIsNotUsable) {
  auto& hip = ScriptedBackend<0>::install(os, "hip");
  hip.open_status = VECTIS_BACKEND_CREATION;
  hip.open_reason = VECTIS_REASON_NO_DRIVER;
  hip.open_message = "no kernel driver";
  EXPECT_ERROR(chosen({.device = "rocm"}), ErrorCode::backend_creation, "hip: no driver: no kernel driver");
}

TEST_F(SelectionTest, MetalIsWebgpuOnMetalOrAnErrorThatSaysSo) {
  VectisDeviceInfo apple = gpu("M3");
  std::snprintf(apple.driver, sizeof(apple.driver), "Metal 3");
  auto& webgpu = ScriptedBackend<0>::install(os, "webgpu");
  webgpu.devices = {gpu("other"), apple};
  EXPECT_EQ(chosen({.device = "metal"}), "webgpu:1");
  EXPECT_EQ(chosen({.device = "metal:0"}), "webgpu:1");
  EXPECT_ERROR(chosen({.device = "metal:1"}), ErrorCode::unsupported_backend, "no Metal backend yet");
  EXPECT_ERROR(chosen({.device = "metal:x"}), ErrorCode::unsupported_backend, "no Metal backend yet");
  EXPECT_TRUE(is_metal_available(runtime()));
  FakeOs linux_machine;
  Runtime own(options_on(linux_machine));
  EXPECT_ERROR((void)choose_device(own, {.device = "metal"}), ErrorCode::unsupported_backend,
               "'metal' was requested by the call", "no Metal backend yet", "WebGPU", "`vectis devices`");
  EXPECT_FALSE(is_metal_available(own));
}

TEST_F(SelectionTest, SoftwareIsUsedOnlyOnRequest) {
  ScriptedBackend<0>::install(os, "opencl").devices = {test::software("PoCL")};
  EXPECT_EQ(chosen(), "cpu:0");
  EXPECT_EQ(chosen({.allow_software = true}), "opencl:0");
  EXPECT_EQ(chosen({.device = "opencl"}), "opencl:0");
  EXPECT_EQ(chosen({.device = "gpu", .allow_software = true}), "opencl:0");
  EXPECT_ERROR(chosen({.device = "gpu"}), ErrorCode::backend_creation, "no GPU is usable", "VECTIS_GPU_ALLOW_SOFTWARE");
  EXPECT_FALSE(is_gpu_available(runtime()));
  EXPECT_EQ(detect_best_backend(runtime()), "cpu");
}

TEST_F(SelectionTest, AllowedDevicesStartWithTheChosenDevice) {
  ScriptedBackend<0>::install(os, "opencl").devices = {test::software("PoCL")};
  ScriptedBackend<1>::install(os, "cuda").devices = {gpu("a"), gpu("b")};
  const auto labels = [&](const DeviceRequest& request) {
    std::vector<std::string> result;
    for (const Device& device : allowed_devices(runtime(), request)) result.push_back(device.label());
    EXPECT_EQ(result.front(), chosen(request));
    return result;
  };
  EXPECT_THAT(labels({}), ElementsAre("cuda:0", "cuda:1", "cpu:0"));
  EXPECT_THAT(labels({.allow_software = true}), ElementsAre("cuda:0", "cuda:1", "opencl:0", "cpu:0"));
  EXPECT_THAT(labels({.gpu_enabled = false}), ElementsAre("cpu:0"));
  EXPECT_THAT(labels({.device = "gpu"}), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(labels({.device = "gpu", .allow_software = true}), ElementsAre("cuda:0", "cuda:1", "opencl:0"));
  EXPECT_THAT(labels({.device = "cuda:1"}), ElementsAre("cuda:1"));
  EXPECT_ERROR((void)allowed_devices(runtime(), {.device = "abacus"}), ErrorCode::unsupported_backend, "abacus");
}

// --- GPUs that can run no kernels

VectisDeviceInfo without_kernels(const std::string& name) {
  VectisDeviceInfo info = gpu(name);
  info.dialects[0] = '\0';
  return info;
}

TEST_F(SelectionTest, AGpuThatCanRunNoKernelsIsRankedAfterTheCpu) {
  auto& hip = ScriptedBackend<0>::install(os, "hip");
  hip.devices = {without_kernels("Radeon")};
  EXPECT_EQ(chosen(), "cpu:0");
  EXPECT_THAT(choose_device(runtime()).reason,
              testing::StartsWith("no usable GPU was found, so the CPU is used; hip:0 can run no kernels: "));
  EXPECT_EQ(runtime().service<DeviceRegistry>().devices().back().label(), "hip:0");
  EXPECT_THAT(allowed_devices(runtime()), testing::SizeIs(1));
  EXPECT_EQ(detect_best_backend(runtime()), "cpu");
  EXPECT_FALSE(is_gpu_available(runtime()));
  EXPECT_FALSE(is_hip_available(runtime()));
  EXPECT_EQ(open_device(runtime()).device().label(), "cpu:0");
  EXPECT_EQ(chosen({.device = "hip"}), "hip:0") << "on request";
  EXPECT_ERROR(chosen({.device = "gpu"}), ErrorCode::backend_creation, "no GPU is usable",
               "hip: hip:0 can run no kernels");
}

TEST_F(SelectionTest, AnotherBackendUsesTheCardWhoseDriverCanRunNoKernels) {
  ScriptedBackend<0>::install(os, "hip").devices = {without_kernels("Radeon")};
  ScriptedBackend<1>::install(os, "webgpu").devices = {gpu("Radeon")};
  for (Script* script : {&ScriptedBackend<0>::script, &ScriptedBackend<1>::script}) {
    std::snprintf(script->devices[0].physical_id, sizeof(script->devices[0].physical_id), "pci-0000:03:00.0");
  }
  EXPECT_EQ(chosen(), "webgpu:0");
  EXPECT_THAT(choose_device(runtime()).reason,
              testing::AllOf(HasSubstr("webgpu:0 is the first usable device"), HasSubstr("hip:0 can run no kernels")));
  EXPECT_EQ(chosen({.device = "gpu"}), "webgpu:0");
}

// --- One card of several backends

TEST_F(SelectionTest, ACardOfSeveralBackendsCountsOnce) {
  const auto at = [](const char* name, const char* id) {
    VectisDeviceInfo info = gpu(name);
    std::snprintf(info.physical_id, sizeof(info.physical_id), "%s", id);
    return info;
  };
  auto& cuda = ScriptedBackend<0>::install(os, "cuda");
  cuda.devices = {at("A", "pci-0000:3B:00.0"), at("A's half", "pci-0000:3B:00.0"), at("B", "pci-0000:65:00.0")};
  ScriptedBackend<1>::install(os, "opencl").devices = {at("B", "pci-0000:65:00.0"), at("C", "pci-0000:17:00.0"),
                                                       at("D", ""), at("E", "")};
  ScriptedBackend<2>::install(os, "webgpu").devices = {at("C", "pci-0000:17:00.0"), at("A", "pci-0000:3b:00.0")};
  const auto labels = [&](const DeviceRequest& request) {
    std::vector<std::string> result;
    for (const Device& device : allowed_devices(runtime(), request)) result.push_back(device.label());
    return result;
  };
  EXPECT_THAT(labels({}), ElementsAre("cuda:0", "cuda:1", "cuda:2", "webgpu:0", "opencl:2", "opencl:3", "cpu:0"));
  EXPECT_THAT(labels({.device = "gpu"}), ElementsAre("cuda:0", "cuda:1", "cuda:2", "webgpu:0", "opencl:2", "opencl:3"));
  EXPECT_THAT(labels({.device = "opencl:0"}), ElementsAre("opencl:0")) << "on request";
  cuda.refusing_contexts = {0, 1, 2};
  EXPECT_EQ(open_device(runtime()).device().label(), "webgpu:0") << "another backend may open the card";
}

TEST_F(SelectionTest, ARealGpuIsPreferredToAnAllowedSoftwareDriver) {
  ScriptedBackend<0>::install(os, "opencl").devices = {test::software("PoCL"), gpu("Arc")};
  EXPECT_EQ(chosen({.allow_software = true}), "opencl:1");
}

TEST_F(SelectionTest, TheCallOverridesTheEnvironmentOverridesTheFile) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("A"), gpu("B")};
  os.files["/c.yaml"] = "device: cuda:1\ngpu: {enabled: true}\n";
  os.variables["VECTIS_CONFIG"] = "/c.yaml";
  EXPECT_EQ(chosen(), "cuda:1");
  EXPECT_THAT(choose_device(runtime()).reason, HasSubstr("/c.yaml line 1"));
  EXPECT_EQ(chosen({.device = "cpu"}), "cpu:0");

  os.variables["VECTIS_DEVICE"] = "0";
  Runtime again(options_on(os));
  EXPECT_EQ(default_device(again).label(), "cuda:0");
  EXPECT_EQ(choose_device(again).reason, "'0' was requested by VECTIS_DEVICE");
}

TEST_F(SelectionTest, GpuEnabledFalseLeavesTheCpu) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("A")};
  os.variables["VECTIS_GPU_ENABLED"] = "false";
  EXPECT_EQ(chosen(), "cpu:0");
  EXPECT_THAT(choose_device(runtime()).reason, HasSubstr("gpu.enabled is false by VECTIS_GPU_ENABLED"));
  EXPECT_ERROR(chosen({.device = "cuda"}), ErrorCode::backend_creation, "gpu.enabled is false");
  EXPECT_EQ(chosen({.device = "cuda", .gpu_enabled = true}), "cuda:0");
}

TEST_F(SelectionTest, ANamedDeviceThatDoesNotExistIsAnError) {
  auto& cuda = ScriptedBackend<0>::install(os, "cuda");
  cuda.open_status = VECTIS_BACKEND_CREATION;
  cuda.open_reason = VECTIS_REASON_DRIVER_TOO_OLD;
  cuda.open_message = "driver 440, 525 is needed";
  EXPECT_EQ(chosen(), "cpu:0");
  EXPECT_ERROR(chosen({.device = "cuda"}), ErrorCode::backend_creation, "driver 440, 525 is needed",
               "update the driver");
  EXPECT_ERROR(chosen({.device = "cuda:1"}), ErrorCode::backend_creation, "driver 440");
  EXPECT_ERROR(chosen({.device = "gpu"}), ErrorCode::backend_creation, "driver 440");
  EXPECT_ERROR(chosen({.device = "npu"}), ErrorCode::unsupported_backend, "'npu'", "cpu:0");
  EXPECT_ERROR(chosen({.device = "cpu:1"}), ErrorCode::unsupported_backend, "'cpu:1'");
  EXPECT_ERROR(chosen({.device = "4"}), ErrorCode::invalid_input, "from 0 to 0");
  EXPECT_ERROR(chosen({.device = ""}), ErrorCode::unsupported_backend, "''");
}

TEST_F(SelectionTest, AFailingContextIsSkippedWithAWarning) {
  auto& cuda = ScriptedBackend<0>::install(os, "cuda");
  cuda.devices = {gpu("A"), gpu("B")};
  cuda.refusing_contexts = {0};
  EXPECT_EQ(open_device(runtime()).device().label(), "cuda:1");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("cuda:0 is skipped: [create_context] cuda:0 (A): the device is in use")));
  cuda.refusing_contexts = {0, 1};
  EXPECT_EQ(open_device(runtime()).device().label(), "cpu:0");
  EXPECT_EQ(warnings.size(), 3U);
}

TEST_F(SelectionTest, ANamedDeviceWhoseContextFailsIsAnError) {
  auto& cuda = ScriptedBackend<0>::install(os, "cuda");
  cuda.devices = {gpu("A"), gpu("B")};
  cuda.refusing_contexts = {0};
  EXPECT_ERROR(open_device(runtime(), {.device = "cuda"}), ErrorCode::backend_creation, "the device is in use");
  EXPECT_EQ(open_device(runtime(), {.device = "cuda:1"}).device().label(), "cuda:1");
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(SelectionTest, TheActiveDeviceIsThreadLocal) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("A"), gpu("B")};
  EXPECT_EQ(active_device(runtime()).id(), 0);
  set_active_device(1, runtime());
  EXPECT_EQ(active_device(runtime()).id(), 1);
  std::thread([&] {
    EXPECT_EQ(active_device(runtime()).id(), 0);
    set_active_device(2, runtime());
    EXPECT_EQ(active_device(runtime()).label(), "cpu:0");
  }).join();
  EXPECT_EQ(active_device(runtime()).id(), 1);
  for (const int bad : {-1, 3, INT32_MAX}) {
    EXPECT_ERROR(set_active_device(bad, runtime()), ErrorCode::invalid_input, "from 0 to 2");
  }
  EXPECT_EQ(active_device(runtime()).id(), 1);
}

TEST_F(SelectionTest, ANewRuntimeDoesNotInheritTheActiveDevice) {
  for (int round = 0; round < 3; ++round) {
    FakeOs fake;
    ScriptedBackend<0>::install(fake, "cuda").devices = {gpu("A"), gpu("B")};
    Runtime own(options_on(fake));
    EXPECT_EQ(active_device(own).id(), 0);
    set_active_device(1, own);
    EXPECT_EQ(active_device(own).id(), 1);
  }
}

}  // namespace
}  // namespace vectis
