// The doctor's reports, compared with tests/golden/doctor. VECTIS_TEST_UPDATE_GOLDEN=1 rewrites them.
#include "vectis/device/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "device/probe.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/golden.hpp"

namespace vectis {
namespace {

using test::FakeOs;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto plugin = "/opt/vectis/lib/vectis/backends/libvectis_backend_opencl.so";
constexpr auto probe_path = "/opt/vectis/lib/../libexec/vectis/vectis-probe";

// A Debian with Vectis in /opt and an OpenCL plug-in.
void install(FakeOs& os) {
  os.files["/etc/os-release"] = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
  os.files[probe_path] = "";
  os.directories["/opt/vectis/lib/vectis/backends"] = {"libvectis_backend_opencl.so"};
}

Diagnosis opencl(BackendState state, std::string reason) {
  Diagnosis diagnosis;
  diagnosis.backend = "opencl";
  diagnosis.path = plugin;
  diagnosis.requirement = "an OpenCL 1.2 driver";
  diagnosis.state = state;
  diagnosis.reason = std::move(reason);
  return diagnosis;
}

// Sets the result of probing the plug-in.
void answer(FakeOs& os, const Diagnosis& diagnosis) {
  os.runs[{probe_path, plugin, ""}] = {ProcessResult::End::exited, 0, detail::to_line(diagnosis, "") + "\n", ""};
}

DoctorReport report(FakeOs& os) {
  Runtime runtime(options_on(os));
  DoctorReport result = diagnose(runtime);
  for (Diagnosis& diagnosis : result.backends) {
    if (diagnosis.backend == "cpu") diagnosis.devices = {{"Example CPU", "built in, AVX2", false}};
  }
  return result;
}

void expect_golden(const std::string& name, FakeOs& os) {
  std::ostringstream out;
  print(out, report(os));
  test::expect_golden("doctor/" + name + ".txt", out.str());
}

Diagnosis find(const DoctorReport& report, const std::string& backend) {
  for (const Diagnosis& diagnosis : report.backends) {
    if (diagnosis.backend == backend) return diagnosis;
  }
  throw std::out_of_range(backend);
}

class Doctor : public testing::Test {
 protected:
  Doctor() { install(os); }

  FakeOs os;
};

TEST_F(Doctor, NothingInstalled) {
  answer(os,
         opencl(BackendState::no_library, "libOpenCL.so.1: cannot open shared object file: No such file or directory"));
  expect_golden("nothing_installed", os);
}

TEST_F(Doctor, DriverTooOld) {
  answer(os, opencl(BackendState::driver_too_old, "Example Platform states OpenCL 1.0, 1.2 is needed"));
  expect_golden("driver_too_old", os);
}

TEST_F(Doctor, NoPermissionOnTheDeviceNode) {
  os.nodes["/dev/dri/card0"] = os.nodes["/dev/dri/renderD128"] = FileAccess::denied;
  answer(os, opencl(BackendState::no_device, "Intel(R) OpenCL Graphics offers no device"));
  expect_golden("no_permission", os);
  os.nodes["/dev/dri/renderD128"] = FileAccess::granted;
  EXPECT_EQ(find(report(os), "opencl").state, BackendState::no_device);
}

TEST_F(Doctor, SoftwareDriverOnly) {
  Diagnosis pocl = opencl(BackendState::ready, "");
  pocl.devices = {{"pthread-example", "Portable Computing Language 3.1", true}};
  answer(os, pocl);
  expect_golden("software_only", os);
}

TEST_F(Doctor, SoftwareDriverBesideAGpuWithoutPermission) {
  os.nodes["/dev/dri/renderD128"] = os.nodes["/dev/kfd"] = FileAccess::denied;
  Diagnosis pocl = opencl(BackendState::ready, "");
  pocl.devices = {{"pthread-example", "Portable Computing Language 3.1", true}};
  answer(os, pocl);
  EXPECT_THAT(find(report(os), "opencl").advice, testing::EndsWith("this user may not open /dev/dri/renderD128"));
}

TEST_F(Doctor, TwoDevices) {
  Diagnosis two = opencl(BackendState::ready, "");
  two.devices = {{"Arc A770", "Intel OpenCL 24.1", false}, {"UHD 770", "Intel OpenCL 24.1", false}};
  answer(os, two);
  expect_golden("two_devices", os);
}

// --- CUDA: the reasons are those its plug-in gives (tests/cuda/plugin_test.cpp)
// ---------------------------------------

constexpr auto cuda_plugin = "/opt/vectis/lib/vectis/backends/libvectis_backend_cuda.so";

// Adds an NVIDIA GPU and the CUDA plug-in, whose probe returns this, to an installed system.
void install_cuda(FakeOs& os, BackendState state, const std::string& reason, std::vector<DeviceSummary> devices = {}) {
  os.directories["/opt/vectis/lib/vectis/backends"] = {"libvectis_backend_cuda.so", "libvectis_backend_opencl.so"};
  os.nodes["/dev/nvidia0"] = os.nodes["/dev/nvidiactl"] = FileAccess::granted;
  answer(os, opencl(BackendState::no_library, "libOpenCL.so.1: cannot open shared object file"));
  Diagnosis cuda;
  cuda.backend = "cuda";
  cuda.path = cuda_plugin;
  cuda.requirement = "an NVIDIA driver for CUDA 11.2 or newer";
  cuda.state = state;
  cuda.reason = reason;
  cuda.devices = std::move(devices);
  os.runs[{probe_path, cuda_plugin, ""}] = {ProcessResult::End::exited, 0, detail::to_line(cuda, "") + "\n", ""};
}

TEST_F(Doctor, CudaWithoutADriver) {
  install_cuda(os, BackendState::no_library,
               "the CUDA driver libcuda.so.1 cannot be opened: libcuda.so.1: cannot open shared object file");
  expect_golden("cuda_no_driver", os);
}

TEST_F(Doctor, CudaWithTheStubLibrary) {
  install_cuda(os, BackendState::no_driver,
               "cuInit failed with CUDA_ERROR_STUB_LIBRARY (34): this is the stub library for linking, not the driver; "
               "remove it from the library path");
  expect_golden("cuda_stub", os);
}

TEST_F(Doctor, CudaWithAnOldDriver) {
  install_cuda(os, BackendState::driver_too_old, "the driver states CUDA 10.2, CUDA 11.2 is needed");
  expect_golden("cuda_old_driver", os);
}

TEST_F(Doctor, CudaWithoutPermission) {
  install_cuda(os, BackendState::no_device, "cuInit failed with CUDA_ERROR_NO_DEVICE (100)");
  os.nodes["/dev/nvidia0"] = FileAccess::denied;
  expect_golden("cuda_no_permission", os);
}

TEST_F(Doctor, CudaWithTwoGpus) {
  install_cuda(os, BackendState::ready, "", {{"NVIDIA H100", "CUDA 13.0", false}, {"NVIDIA L4", "CUDA 13.0", false}});
  expect_golden("cuda_two_gpus", os);
}

TEST_F(Doctor, CudaWithoutNvrtc) {
  install_cuda(os, BackendState::ready,
               "106 built-in kernels are embedded as PTX for sm_70 and newer; other kernels need NVRTC, which "
               "cannot be used: libnvrtc.so.13 cannot be opened: no such file; pip install nvidia-cuda-nvrtc",
               {{"NVIDIA H100", "CUDA 13.0", false}});
  expect_golden("cuda_without_nvrtc", os);
}

TEST_F(Doctor, AGpuWithoutItsPlugin) {
  os.nodes["/dev/nvidia0"] = FileAccess::granted;
  answer(os, opencl(BackendState::no_library, "libOpenCL.so.1: cannot open shared object file"));
  expect_golden("cuda_plugin_missing", os);
}

TEST_F(Doctor, PluginNotInstalled) {
  os.directories.clear();
  const Diagnosis missing = find(report(os), "opencl");
  EXPECT_EQ(missing.state, BackendState::not_installed);
  EXPECT_THAT(missing.reason, HasSubstr("no plug-in libvectis_backend_opencl.so in /opt/vectis/lib/vectis/backends, "));
  EXPECT_THAT(missing.advice, HasSubstr("VECTIS_BACKEND_PATH"));
}

TEST_F(Doctor, NamesAPluginThatCrashes) {
  os.runs[{probe_path, plugin, ""}] = {ProcessResult::End::killed, 11, "", "first\nassertion failed\n"};
  expect_golden("crashed", os);
  os.runs[{probe_path, plugin, ""}] = {ProcessResult::End::exited, 3, "", ""};
  EXPECT_THAT(find(report(os), "opencl").reason, HasSubstr("exit status 3"));
  os.runs[{probe_path, plugin, ""}] = {ProcessResult::End::timed_out, 0, "", ""};
  EXPECT_THAT(find(report(os), "opencl").reason, HasSubstr("longer than 60 s"));
  os.runs[{probe_path, plugin, ""}] = {ProcessResult::End::exited, 0, "no json\n", ""};
  EXPECT_EQ(find(report(os), "opencl").state, BackendState::crashed);
}

TEST_F(Doctor, ReportsAMissingProbe) {
  os.files.erase(probe_path);
  const DoctorReport result = report(os);
  EXPECT_EQ(find(result, "opencl").state, BackendState::failed);
  EXPECT_THAT(find(result, "opencl").reason, HasSubstr("vectis-probe could not be started, error 2"));
}

TEST_F(Doctor, AdviceFitsTheSystem) {
  const std::vector<std::pair<std::string, std::string>> systems = {{"ID=ubuntu\nID_LIKE=debian\n", "apt-get install"},
                                                                    {"ID=\"rhel\"\n", "dnf install"},
                                                                    {"ID=arch\n", "pacman -S"},
                                                                    {"ID=other\n", "libOpenCL.so.1"},
                                                                    {"", "libOpenCL.so.1"}};
  for (const auto& [release, command] : systems) {
    os.files["/etc/os-release"] = release;
    answer(os, opencl(BackendState::no_library, "none"));
    EXPECT_THAT(find(report(os), "opencl").advice, HasSubstr(command)) << release;
  }
}

TEST_F(Doctor, UsesThirdPartyPluginsOwnAdvice) {
  Diagnosis npu = opencl(BackendState::no_driver, "no npu driver");
  npu.backend = "npu";
  os.runs[{probe_path, plugin, ""}] = {ProcessResult::End::exited, 0,
                                       "noise\n" + detail::to_line(npu, "install npu-tools 3") + "\n", ""};
  EXPECT_EQ(find(report(os), "npu").advice, "install npu-tools 3");
}

TEST_F(Doctor, HintsAtACacheFolderThatIsNotWritable) {
  answer(os, opencl(BackendState::no_driver, "the loader finds no platform"));
  os.variables["HOME"] = "/home/u";
  os.accesses["/home/u"] = FileAccess::denied;
  EXPECT_THAT(find(report(os), "opencl").advice,
              AllOf(HasSubstr("/home/u (HOME) is not writable"), HasSubstr("POCL_CACHE_DIR"), HasSubstr("otherwise")));
  os.variables["XDG_CACHE_HOME"] = "/cache";
  os.accesses["/cache"] = FileAccess::granted;
  EXPECT_THAT(find(report(os), "opencl").advice, testing::Not(HasSubstr("writable")));
}

// As for the users of services, whose HOME is /nonexistent.
TEST_F(Doctor, HintsAtACacheFolderThatDoesNotExist) {
  answer(os, opencl(BackendState::no_device, "the OpenCL platform 'PoCL' offers no device: set POCL_CACHE_DIR"));
  os.variables["HOME"] = "/nonexistent";
  const std::string advice = find(report(os), "opencl").advice;
  EXPECT_THAT(advice, AllOf(HasSubstr("/nonexistent (HOME) does not exist"), HasSubstr("set POCL_CACHE_DIR or")));
  EXPECT_THAT(advice, testing::Not(HasSubstr("kernel driver is loaded")));
  os.accesses["/nonexistent"] = FileAccess::granted;  // as root sees it, even where nothing can be written
  EXPECT_EQ(find(report(os), "opencl").advice, "set POCL_CACHE_DIR or XDG_CACHE_HOME to a writable folder");
}

TEST_F(Doctor, AdvisesToRenameAMisnamedPlugin) {
  answer(os, opencl(BackendState::misnamed, "its file is named for 'opencl', but its table says 'toy'"));
  EXPECT_THAT(find(report(os), "opencl").advice, HasSubstr("rename the file to libvectis_backend_"));
}

TEST_F(Doctor, PrintsWarningsAboutTheConfiguration) {
  os.variables["VECTIS_BACKEND_PATH"] = "/nowhere";
  os.variables["VECTIS_DEVCE"] = "cpu";
  std::ostringstream out;
  print(out, report(os));
  EXPECT_THAT(out.str(), HasSubstr("warning: the environment variable VECTIS_DEVCE is not a setting"));
  EXPECT_THAT(out.str(), HasSubstr("warning: backend_path (from VECTIS_BACKEND_PATH) names /nowhere"));
}

TEST_F(Doctor, AdvisesToSetPathForALinker) {
  answer(os, opencl(BackendState::failed, "PoCL is not used: it needs the linker `ld`, which no folder of PATH holds"));
  EXPECT_THAT(find(report(os), "opencl").advice, HasSubstr("set PATH to folders that hold `ld`"));
}

TEST_F(Doctor, FindsTheWgpuOfABuildTree) {
  os.module = "/src/build/release/lib";
  os.directories["/src/build/release/lib/vectis/backends"] = {"libvectis_backend_webgpu.so"};
  os.files["/src/build/release/lib/../libexec/vectis/vectis-probe"] = "";
  Diagnosis webgpu = opencl(BackendState::no_library, "libwgpu_native.so: no such file");
  webgpu.backend = "webgpu";
  os.runs[{"/src/build/release/lib/../libexec/vectis/vectis-probe",
           "/src/build/release/lib/vectis/backends/libvectis_backend_webgpu.so", ""}] = {
      ProcessResult::End::exited, 0, detail::to_line(webgpu, "install wgpu-native") + "\n", ""};
  EXPECT_EQ(find(report(os), "webgpu").advice, "install wgpu-native");
  const std::string packages = "/src/build/release/lib/../../venv/lib";
  os.directories[packages] = {"python3.11"};
  os.directories[packages + "/python3.11/site-packages/wgpu/resources"] = {"__init__.py", "libwgpu_native-release.so"};
  EXPECT_THAT(find(report(os), "webgpu").advice,
              HasSubstr("VECTIS_BACKENDS_WEBGPU_LIBRARY=/src/build/venv/lib/python3.11/site-packages/wgpu/resources/"
                        "libwgpu_native-release.so"));
}

TEST(ProbeLine, RoundTrips) {
  Diagnosis diagnosis = opencl(BackendState::ready, "tab\t quote\" newline\n \xff");
  diagnosis.devices = {{"a", "b", true}, {"", "", false, false, "pci-0000:65:00.0"}};
  const auto answer = detail::parse_line(detail::to_line(diagnosis, "x"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->diagnosis.devices, diagnosis.devices);
  EXPECT_EQ(answer->diagnosis.state, BackendState::ready);
  EXPECT_EQ(answer->install, "x");
  for (const char* bad : {"", "{}", "[1]", "null", R"({"backend": 3})", "{\"backend\": \"x\""}) {
    EXPECT_FALSE(detail::parse_line(bad)) << bad;
  }
}

}  // namespace
}  // namespace vectis
