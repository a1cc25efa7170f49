// The doctor's advice by system and by a driver's words, compared with tests/golden/doctor, one file for each machine.
// VECTIS_TEST_UPDATE_GOLDEN=1 rewrites them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "device/advice.hpp"
#include "device/probe.hpp"
#include "device/system.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/golden.hpp"
#include "vectis/device/doctor.hpp"

namespace vectis {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto debian_release = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
constexpr auto ubuntu_release = "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\nID_LIKE=debian\n";
constexpr auto arch_release = "PRETTY_NAME=\"Arch Linux\"\nID=arch\n";

// A machine with Vectis in /opt, whose plug-ins answer their probes as a test says.
class DoctorAdvice : public testing::Test {
 protected:
  DoctorAdvice() {
    os.files["/etc/os-release"] = debian_release;
    os.files[probe_program] = "";
  }

  // Installs the plug-in of a backend, whose probe gives this.
  void install_plugin(const std::string& backend, BackendState state, const std::string& reason,
                      std::vector<DeviceSummary> devices = {}) {
    const std::string folder = "/opt/vectis/lib/vectis/backends";
    const std::string file = "libvectis_backend_" + backend + ".so";
    if (!os.files.contains(folder + "/" + file)) os.directories[folder].push_back(file);
    os.files[folder + "/" + file] = "";
    Diagnosis found;
    found.backend = backend;
    found.path = folder + "/" + file;
    found.requirement = requirements.at(backend);
    found.state = state;
    found.reason = reason;
    found.devices = std::move(devices);
    os.runs[{probe_program, found.path, ""}] = {ProcessResult::End::exited, 0, detail::to_line(found, "") + "\n", ""};
  }
  void install_opencl_without_a_loader() {
    install_plugin("opencl", BackendState::no_library, "libOpenCL.so.1: cannot open shared object file");
  }
  void add_nvidia_nodes() {
    for (const char* node : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"}) os.nodes[node] = FileAccess::granted;
  }

  DoctorReport examine_machine() {
    Runtime runtime(options_on(os));
    DoctorReport result = diagnose(runtime);
    for (Diagnosis& diagnosis : result.backends) {
      if (diagnosis.backend == "cpu") diagnosis.devices = {{"Example CPU", "built in, AVX2", false}};
    }
    return result;
  }
  Diagnosis diagnosis_of(const std::string& backend) {
    for (Diagnosis& diagnosis : examine_machine().backends) {
      if (diagnosis.backend == backend) return diagnosis;
    }
    throw std::out_of_range(backend);
  }
  void expect_report(const std::string& name) {
    std::ostringstream out;
    print(out, examine_machine());
    test::expect_golden("doctor/" + name + ".txt", out.str());
  }

  static constexpr auto probe_program = "/opt/vectis/lib/../libexec/vectis/vectis-probe";
  static constexpr auto no_libcuda =
      "the CUDA driver libcuda.so.1 cannot be opened: libcuda.so.1: cannot open shared object file";
  static constexpr auto no_libamdhip =
      "the HIP driver libamdhip64.so.6 cannot be opened: libamdhip64.so.6: cannot open shared object file";
  const std::map<std::string, std::string> requirements = {
      {"cuda", "an NVIDIA driver for CUDA 11.2 or newer"},
      {"hip", "AMD's ROCm 5.2 or newer"},
      {"opencl", "an OpenCL 1.2 driver"},
      {"webgpu", "wgpu-native 29 and a driver for Vulkan, Metal or Direct3D 12"}};
  test::FakeOs os;
};

// --- Systems

TEST_F(DoctorAdvice, UbuntuInstallsNvidiasDriverByItsOwnTool) {
  os.files["/etc/os-release"] = ubuntu_release;
  install_plugin("cuda", BackendState::no_library, no_libcuda);
  install_plugin("hip", BackendState::no_library, no_libamdhip);
  install_plugin("opencl", BackendState::no_driver, "the OpenCL loader finds no platform");
  install_plugin("webgpu", BackendState::no_driver, "wgpu finds no adapter");
  expect_report("ubuntu_no_drivers");
  for (const char* const release : {ubuntu_release, "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"}) {
    os.files["/etc/os-release"] = release;
    EXPECT_THAT(diagnosis_of("cuda").advice, AllOf(HasSubstr("ubuntu-drivers install"), Not(HasSubstr("libcuda1"))));
    EXPECT_THAT(diagnosis_of("opencl").advice, Not(HasSubstr("nvidia-opencl-icd")));
  }
}

TEST_F(DoctorAdvice, WslWithoutADriverInWindows) {
  os.files["/etc/os-release"] = ubuntu_release;
  os.nodes["/dev/dxg"] = FileAccess::granted;
  install_plugin("cuda", BackendState::no_library, no_libcuda);
  install_opencl_without_a_loader();
  expect_report("wsl_no_driver");
}

TEST_F(DoctorAdvice, WslWithALibraryThatIsNotInTheLoadersPath) {
  os.files["/etc/os-release"] = ubuntu_release;
  os.nodes["/dev/dxg"] = FileAccess::granted;
  os.files["/usr/lib/wsl/lib/libcuda.so.1"] = "";
  install_plugin("cuda", BackendState::no_library, no_libcuda);
  install_opencl_without_a_loader();
  expect_report("wsl_library_path");
}

TEST_F(DoctorAdvice, DockerWithoutAnNvidiaGpu) {
  os.files["/.dockerenv"] = "";
  install_plugin("cuda", BackendState::no_library, no_libcuda);
  install_plugin("opencl", BackendState::no_driver, "the OpenCL loader finds no platform");
  expect_report("docker_no_nvidia");
  add_nvidia_nodes();  // with a GPU, its image lacks the driver
  EXPECT_THAT(diagnosis_of("cuda").advice, Not(HasSubstr("--gpus all")));
}

TEST_F(DoctorAdvice, PodmanWithoutAnAmdGpu) {
  os.files["/etc/os-release"] = ubuntu_release;
  os.files["/run/.containerenv"] = "";
  install_plugin("hip", BackendState::no_device, "hipInit failed with hipErrorNoDevice (100)");
  install_plugin("webgpu", BackendState::no_device, "wgpu finds no adapter");
  install_opencl_without_a_loader();
  expect_report("podman_no_amd");
  os.nodes["/dev/kfd"] = FileAccess::granted;
  EXPECT_THAT(diagnosis_of("hip").advice, Not(HasSubstr("docker run")));
}

TEST_F(DoctorAdvice, RusticlNeedsItsVariable) {
  os.files["/etc/os-release"] = arch_release;
  os.files["/etc/OpenCL/vendors/rusticl.icd"] = "libRusticlOpenCL.so.1\n";
  install_plugin("opencl", BackendState::no_device, "the OpenCL platform 'rusticl' offers no device");
  expect_report("rusticl_not_enabled");
  os.variables["RUSTICL_ENABLE"] = "radeonsi";
  EXPECT_THAT(diagnosis_of("opencl").advice, Not(HasSubstr("RUSTICL_ENABLE")));
}

// --- Words of NVIDIA's driver

TEST_F(DoctorAdvice, CudaWithoutTheFabricManager) {
  add_nvidia_nodes();
  install_plugin("cuda", BackendState::failed, "cuInit failed with CUDA_ERROR_SYSTEM_NOT_READY (802)");
  install_opencl_without_a_loader();
  expect_report("cuda_fabric_manager");
}

TEST_F(DoctorAdvice, CudaWithAPackageForForwardCompatibility) {
  add_nvidia_nodes();
  install_plugin("cuda", BackendState::failed, "cuInit failed with CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804)");
  install_opencl_without_a_loader();
  expect_report("cuda_forward_compatibility");
}

TEST_F(DoctorAdvice, CudaAfterAnUpdateOfTheDriver) {
  add_nvidia_nodes();
  install_plugin(
      "cuda", BackendState::driver_too_old,
      "cuInit failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): the driver's library and its kernel module "
      "differ; restart");
  install_opencl_without_a_loader();
  expect_report("cuda_driver_mismatch");
}

TEST_F(DoctorAdvice, CudaWithoutADevice) {
  add_nvidia_nodes();
  install_plugin("cuda", BackendState::no_device, "cuInit failed with CUDA_ERROR_NO_DEVICE (100)");
  install_opencl_without_a_loader();
  expect_report("cuda_no_device");
}

TEST_F(DoctorAdvice, CudaWithEveryGpuHidden) {
  add_nvidia_nodes();
  os.variables["CUDA_VISIBLE_DEVICES"] = "";
  install_plugin("cuda", BackendState::no_device, "cuInit failed with CUDA_ERROR_NO_DEVICE (100)");
  install_opencl_without_a_loader();
  expect_report("cuda_hidden");
  os.variables["CUDA_VISIBLE_DEVICES"] = "7";
  EXPECT_THAT(diagnosis_of("cuda").advice, HasSubstr("CUDA_VISIBLE_DEVICES=7 names the only GPUs"));
  install_plugin("hip", BackendState::no_device, "hipInit failed with hipErrorNoDevice (100)");
  os.variables["ROCR_VISIBLE_DEVICES"] = "-1";
  EXPECT_THAT(diagnosis_of("hip").advice, HasSubstr("ROCR_VISIBLE_DEVICES='-1' hides every GPU"));
}

TEST_F(DoctorAdvice, CudaWithAGpuInMigMode) {
  add_nvidia_nodes();
  install_plugin("cuda", BackendState::no_device, "the GPU is in MIG mode and has no instance");
  install_opencl_without_a_loader();
  expect_report("cuda_mig");
}

TEST_F(DoctorAdvice, CudaInExclusiveMode) {
  add_nvidia_nodes();
  install_plugin("cuda", BackendState::ready, "device 0 is in exclusive mode",
                 {{"NVIDIA L4", "CUDA 13.0", false, true, "pci-0000:65:00.0"}});
  install_opencl_without_a_loader();
  expect_report("cuda_exclusive");
  install_plugin("cuda", BackendState::failed,
                 "cuDevicePrimaryCtxRetain failed with CUDA_ERROR_DEVICE_UNAVAILABLE (46)");
  EXPECT_THAT(diagnosis_of("cuda").advice, HasSubstr("another process uses the GPU in exclusive mode"));
}

// --- Permissions

// /dev/nvidia-caps exists on every machine with NVIDIA's driver, and only administrators may open what it holds.
TEST_F(DoctorAdvice, NvidiasCapabilitiesAreNoMissingPermission) {
  add_nvidia_nodes();
  os.directories["/dev/nvidia-caps"] = {"nvidia-cap1", "nvidia-cap2"};
  os.accesses["/dev/nvidia-caps"] = FileAccess::denied;
  os.nodes["/dev/nvidia-caps/nvidia-cap1"] = os.nodes["/dev/nvidia-modeset"] = FileAccess::denied;
  os.nodes["/dev/nvidia-uvm-tools"] = FileAccess::denied;
  install_plugin("cuda", BackendState::no_driver,
                 "cuInit failed with CUDA_ERROR_UNKNOWN (999): its kernel module is not loaded, or may not be opened");
  install_opencl_without_a_loader();
  expect_report("cuda_module_not_loaded");
}

TEST_F(DoctorAdvice, ADeniedNodeOfAmdIsNotAProblemOfNvidia) {
  add_nvidia_nodes();
  os.nodes["/dev/kfd"] = os.nodes["/dev/dri/renderD129"] = FileAccess::denied;
  os.nodes["/dev/dri/renderD128"] = FileAccess::granted;
  install_plugin("cuda", BackendState::no_device, "cuInit failed with CUDA_ERROR_NO_DEVICE (100)");
  install_plugin("hip", BackendState::no_device, "hipInit failed with hipErrorNoDevice (100)");
  install_opencl_without_a_loader();
  expect_report("amd_no_permission");
}

TEST_F(DoctorAdvice, OnlyCharacterDevicesAreNodes) {
  os.nodes["/dev/nvidia3"] = os.nodes["/dev/nvidia-uvm"] = FileAccess::denied;
  os.directories["/dev"] = {"nvidia0", "nvidiactl"};  // folders or files that the user made
  os.accesses["/dev/nvidia0"] = FileAccess::denied;
  EXPECT_THAT(detail::denied_nodes(os, "cuda"), ElementsAre("/dev/nvidia-uvm", "/dev/nvidia3"));
  os.nodes["/dev/kfd"] = os.nodes["/dev/dri/renderD128"] = os.nodes["/dev/dri/card0"] = FileAccess::denied;
  EXPECT_THAT(detail::denied_nodes(os, "hip"), ElementsAre("/dev/kfd", "/dev/dri/renderD128"));
  EXPECT_THAT(detail::denied_nodes(os, "opencl"), ElementsAre("/dev/dri/renderD128"));
  EXPECT_THAT(detail::denied_nodes(os, "webgpu"), ElementsAre("/dev/dri/renderD128"));
  EXPECT_THAT(detail::denied_nodes(os, "npu"), IsEmpty());
}

// --- Devices

TEST_F(DoctorAdvice, OneCardOfThreeBackends) {
  add_nvidia_nodes();
  install_plugin("cuda", BackendState::ready, "",
                 {{"NVIDIA L4", "CUDA 13.0", false, true, "pci-0000:17:00.0"},
                  {"NVIDIA RTX 4090", "CUDA 13.0", false, true, "pci-0000:65:00.0"}});
  install_plugin("opencl", BackendState::ready, "",
                 {{"NVIDIA RTX 4090", "NVIDIA CUDA 580.65", false, true, "pci-0000:65:00.0"},
                  {"gfx1100", "AMD 3649.0", false, true, "pci-0000:03:00.0"}});
  install_plugin("webgpu", BackendState::ready, "",
                 {{"AMD Radeon RX 7900 XTX (RADV NAVI31)", "Vulkan, radv 25.1", false, true, "pci-0000:03:00.0"},
                  {"NVIDIA RTX 4090", "Vulkan, NVIDIA 580.65", false, true, "pci-0000:65:00.0"},
                  {"unknown", "Vulkan", false}});
  expect_report("same_card");
}

TEST_F(DoctorAdvice, AGpuThatCanRunNoKernels) {
  os.nodes["/dev/kfd"] = os.nodes["/dev/dri/renderD128"] = FileAccess::granted;
  install_plugin(
      "hip", BackendState::ready,
      "kernels need hipRTC, which cannot be used: libhiprtc.so.6 cannot be opened: no such file; install AMD's "
      "ROCm",
      {{"AMD Radeon RX 7900 XTX", "HIP 6.2", false, false, "pci-0000:03:00.0"}});
  install_opencl_without_a_loader();
  expect_report("hip_without_hiprtc");
  install_plugin("webgpu", BackendState::ready, "",
                 {{"AMD Radeon RX 7900 XTX (RADV NAVI31)", "Vulkan, radv 25.1", false, true, "pci-0000:03:00.0"}});
  EXPECT_EQ(diagnosis_of("webgpu").devices.front().same_card_as, "") << "hip cannot use the card";
  std::ostringstream out;
  print(out, examine_machine());
  EXPECT_THAT(out.str(), HasSubstr("A GPU is ready to be used."));
}

}  // namespace
}  // namespace vectis
