#include "vectis/device/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/scripted_backend.hpp"

namespace vectis {
namespace {

using test::FakeOs;
using test::gpu;
using test::ScriptedBackend;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RegistryTest : public test::FakeRuntimeTest {
 protected:
  DeviceRegistry& registry() { return runtime().service<DeviceRegistry>(); }
  const BackendStatus& status(const std::string& name) {
    for (const BackendStatus& one : registry().backends()) {
      if (one.name == name) return one;
    }
    throw std::out_of_range(name);
  }
  std::vector<std::string> labels() {
    std::vector<std::string> result;
    for (const Device& device : registry().devices()) result.push_back(device.label());
    return result;
  }
};

TEST_F(RegistryTest, WithoutPluginsTheCpuIsDeviceZero) {
  EXPECT_THAT(labels(), ElementsAre("cpu:0"));
  EXPECT_EQ(registry().devices()[0].id(), 0);
  EXPECT_EQ(status("opencl").state, BackendState::not_installed);
}

TEST_F(RegistryTest, RealGpusComeFirstAndSoftwareLast) {
  ScriptedBackend<0>::install(os, "opencl").devices = {test::software("PoCL"), gpu("Arc")};
  ScriptedBackend<1>::install(os, "cuda").devices = {gpu("H100"), gpu("H100")};
  ScriptedBackend<2>::install(os, "stranger").devices = {test::scripted_device("NPU", VECTIS_DEVICE_ACCELERATOR)};
  EXPECT_THAT(labels(), ElementsAre("cuda:0", "cuda:1", "opencl:1", "stranger:0", "cpu:0", "opencl:0"));
  std::vector<std::string> order;
  for (const BackendStatus& one : registry().backends()) order.push_back(one.name);
  EXPECT_THAT(order, ElementsAre("cuda", "opencl", "stranger", "cpu"));
}

TEST_F(RegistryTest, ParentsAreIds) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("H100")};
  ScriptedBackend<1>::install(os, "opencl").devices = {gpu("whole"), gpu("half", 0), gpu("half", 0)};
  EXPECT_EQ(registry().devices()[1].info().parent, std::nullopt);
  EXPECT_EQ(registry().devices()[2].info().parent, 1);
  EXPECT_EQ(registry().devices()[3].info().parent, 1);
}

TEST_F(RegistryTest, FindTakesIdsLabelsAndBackends) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("A"), gpu("B")};
  EXPECT_EQ(registry().find("1")->label(), "cuda:1");
  EXPECT_EQ(registry().find("cuda:1")->label(), "cuda:1");
  EXPECT_EQ(registry().find("cuda")->label(), "cuda:0");
  for (const char* nothing : {"", "3", "-1", "99999999999999999999", "cuda:2", "cud", "1x"}) {
    EXPECT_EQ(registry().find(nothing), std::nullopt) << nothing;
  }
}

TEST_F(RegistryTest, EveryReasonBecomesAState) {
  const std::vector<std::pair<VectisReason, BackendState>> reasons = {
      {VECTIS_REASON_NO_LIBRARY, BackendState::no_library},
      {VECTIS_REASON_NO_DRIVER, BackendState::no_driver},
      {VECTIS_REASON_NO_DEVICE, BackendState::no_device},
      {VECTIS_REASON_DRIVER_TOO_OLD, BackendState::driver_too_old},
      {VECTIS_REASON_NO_PERMISSION, BackendState::no_permission},
      {VECTIS_REASON_OTHER, BackendState::failed},
      {VECTIS_REASON_NONE, BackendState::failed},
  };
  for (const auto& [reason, state] : reasons) {
    FakeOs fake;
    auto& script = ScriptedBackend<0>::install(fake, "cuda");
    script.open_status = VECTIS_BACKEND_CREATION;
    script.open_reason = reason;
    script.open_message = "because";
    Runtime own(options_on(fake));
    const BackendStatus& one = own.service<DeviceRegistry>().backends()[0];
    EXPECT_EQ(one.state, state) << name(state);
    EXPECT_EQ(one.reason, "because");
    EXPECT_THAT(one.devices, IsEmpty());
  }
}

TEST_F(RegistryTest, ABackendThatFailsAfterOpenIsClosed) {
  auto& count = ScriptedBackend<0>::install(os, "cuda");
  count.devices = {gpu("A")};
  count.count_status = VECTIS_DRIVER_FAILURE;
  auto& info = ScriptedBackend<1>::install(os, "hip");
  info.devices = {gpu("B")};
  info.info_status = VECTIS_DRIVER_FAILURE;
  auto& none = ScriptedBackend<2>::install(os, "webgpu");
  EXPECT_EQ(status("cuda").reason, "the count failed");
  EXPECT_THAT(status("hip").reason, HasSubstr("device_info failed with status 8"));
  EXPECT_EQ(status("webgpu").state, BackendState::no_device);
  for (const test::Script* script : {&count, &info, &none}) {
    EXPECT_EQ(script->opened, 1);
    EXPECT_EQ(script->closed, 1);
  }
}

TEST_F(RegistryTest, ClosesOpenedBackends) {
  auto& script = ScriptedBackend<0>::install(os, "cuda");
  script.devices = {gpu("A")};
  {
    Runtime own(options_on(os));
    own.service<DeviceRegistry>();
    EXPECT_EQ(script.closed, 0);
  }
  EXPECT_EQ(script.opened, 1);
  EXPECT_EQ(script.closed, 1);
}

// A plug-in that wraps the backend "cuda" and uses it until its own close.
class WrapperOfCuda {
 public:
  static void install(FakeOs& os) {
    Scripted::install(os, "wrapper").devices = {gpu("wrapped")};
    auto& library = os.libraries[os.module + "/vectis/backends/libvectis_backend_wrapper.so"];
    library.symbols[VECTIS_ENTRY_NAME] = reinterpret_cast<void*>(&entry);
  }

  static inline int closed_before = -1;  // how often "cuda" had been closed when the wrapper was

 private:
  using Scripted = ScriptedBackend<3>;

  static const VectisBackend* entry() {
    Scripted::entry();
    Scripted::table.open = [](const VectisHost* host, VectisBackendState** state, VectisMessage* message) {
      const VectisBackend* wrapped = nullptr;
      return host->find_backend(host->state, "cuda", &wrapped, state, message);
    };
    Scripted::table.close = [](VectisBackendState*) { closed_before = ScriptedBackend<0>::script.closed; };
    return &Scripted::table;
  }
};

TEST_F(RegistryTest, ClosesAWrapperBeforeTheBackendThatItWraps) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("A")};
  WrapperOfCuda::install(os);
  {
    Runtime own(options_on(os));
    EXPECT_TRUE(own.service<DeviceRegistry>().find("wrapper"));
  }
  EXPECT_EQ(WrapperOfCuda::closed_before, 0);
  EXPECT_EQ(ScriptedBackend<0>::script.closed, 1);
}

TEST_F(RegistryTest, FilesThatAreNotPluginsHaveAStatus) {
  const std::string folder = os.module + "/vectis/backends/";
  os.directories[os.module + "/vectis/backends"] = {"libvectis_backend_torn.so", "libvectis_backend_plain.so",
                                                    "libvectis_backend_empty.so", "notes.txt", "libvectis_backend_.so"};
  os.libraries[folder + "libvectis_backend_torn.so"].error = "torn.so: file too short";
  os.libraries[folder + "libvectis_backend_plain.so"].symbols["main"] = &os;
  const VectisBackendEntry none = +[]() -> const VectisBackend* { return nullptr; };
  os.libraries[folder + "libvectis_backend_empty.so"].symbols[VECTIS_ENTRY_NAME] = reinterpret_cast<void*>(none);
  EXPECT_EQ(status("torn").state, BackendState::not_loadable);
  EXPECT_EQ(status("torn").reason, "torn.so: file too short");
  EXPECT_EQ(status("plain").state, BackendState::not_loadable);
  EXPECT_THAT(status("plain").reason, HasSubstr("exports no function vectis_backend_entry"));
  EXPECT_EQ(status("empty").state, BackendState::incompatible);
  EXPECT_THAT(labels(), ElementsAre("cpu:0"));
}

TEST_F(RegistryTest, FileAndTableMustAgreeOnTheName) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("A")};
  ScriptedBackend<0>::script.name = "other";
  EXPECT_EQ(status("cuda").state, BackendState::misnamed);
  EXPECT_THAT(status("cuda").reason, HasSubstr("named for 'cuda', but its table says 'other'"));
}

TEST_F(RegistryTest, IntegratedGpusComeAfterDiscreteOnesOfTheirBackend) {
  VectisDeviceInfo integrated = gpu("UHD 770");
  integrated.capabilities = VECTIS_CAN_UNIFIED_MEMORY;
  ScriptedBackend<0>::install(os, "opencl").devices = {integrated, gpu("Arc A770"), integrated, gpu("Arc A380")};
  ScriptedBackend<1>::install(os, "webgpu").devices = {integrated};
  EXPECT_THAT(labels(), ElementsAre("webgpu:0", "opencl:1", "opencl:3", "opencl:0", "opencl:2", "cpu:0"));
  EXPECT_EQ(registry().find("opencl")->label(), "opencl:1");
  EXPECT_EQ(registry().find("opencl:0")->info().name, "UHD 770");
}

TEST_F(RegistryTest, PhysicalIdsAreComparedWithoutCase) {
  VectisDeviceInfo card = gpu("A");
  std::snprintf(card.physical_id, sizeof(card.physical_id), "pci-0000:3B:00.0");
  ScriptedBackend<0>::install(os, "cuda").devices = {card};
  EXPECT_EQ(registry().find("cuda")->info().physical_id, "pci-0000:3b:00.0");
}

TEST_F(RegistryTest, PoclWithoutPathIsNotUsed) {
  VectisDeviceInfo pocl = test::software("cpu-haswell");
  std::snprintf(pocl.driver, sizeof(pocl.driver), "Portable Computing Language 3.1");
  ScriptedBackend<0>::install(os, "opencl").devices = {pocl};
  EXPECT_EQ(status("opencl").state, BackendState::failed);
  EXPECT_THAT(status("opencl").reason, HasSubstr("PATH is not set"));
  EXPECT_THAT(status("opencl").install, HasSubstr("set PATH"));
  EXPECT_EQ(ScriptedBackend<0>::script.closed, 1);
}

TEST_F(RegistryTest, PoclWithPathIsUsed) {
  os.variables["PATH"] = "/usr/bin";
  VectisDeviceInfo pocl = test::software("cpu-haswell");
  std::snprintf(pocl.driver, sizeof(pocl.driver), "Portable Computing Language 3.1");
  ScriptedBackend<0>::install(os, "opencl").devices = {pocl};
  EXPECT_EQ(status("opencl").state, BackendState::ready);
}

TEST_F(RegistryTest, AMissingBackendPathIsLogged) {
  os.variables["VECTIS_BACKEND_PATH"] = "/nowhere";
  std::vector<std::string> logged;
  RuntimeOptions options = options_on(os);
  options.log = [&](const LogRecord& record) { logged.emplace_back(record.message); };
  Runtime own(options);
  static_cast<void>(own.service<DeviceRegistry>());
  EXPECT_THAT(logged, ElementsAre(HasSubstr("backend_path (from VECTIS_BACKEND_PATH) names /nowhere, which does not")));
}

TEST_F(RegistryTest, VariablesOfUnknownBackendsAndKeysAreLogged) {
  ScriptedBackend<0>::install(os, "my-toy").devices = {gpu("toy")};
  for (const char* variable : {"VECTIS_BACKENDS_MY_TOY_KEY", "VECTIS_BACKENDS_CPU_ONEDNN", "VECTIS_BACKENDS_CUDA_BLAS",
                               "VECTIS_BACKENDS_OPENCLL_CLBLAST", "VECTIS_BACKENDS_FOO",
                               "VECTIS_BACKENDS_OPENCL_CLBLAT", "VECTIS_BACKENDS_OPENCL_SUB_DEVICES"}) {
    os.variables[variable] = "on";
  }
  std::vector<std::string> logged;
  RuntimeOptions options = options_on(os);
  options.log = [&](const LogRecord& record) {
    if (record.level == LogLevel::warning) logged.emplace_back(record.message);
  };
  Runtime own(options);
  static_cast<void>(own.service<DeviceRegistry>());
  EXPECT_THAT(logged, ElementsAre(testing::AllOf(HasSubstr("VECTIS_BACKENDS_FOO is ignored"), HasSubstr("my-toy")),
                                  HasSubstr("VECTIS_BACKENDS_OPENCLL_CLBLAST is ignored"),
                                  testing::AllOf(HasSubstr("VECTIS_BACKENDS_OPENCL_CLBLAT is ignored"),
                                                 HasSubstr("sub_devices, clblast"))));
}

TEST_F(RegistryTest, TheBackendPathComesFirstAndMayNameAFile) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("installed")};
  auto moved = os.libraries[os.module + "/vectis/backends/libvectis_backend_cuda.so"];
  os.libraries["/mine/libvectis_backend_cuda.so"] = moved;
  os.variables["VECTIS_BACKEND_PATH"] = ":/nowhere:/mine/libvectis_backend_cuda.so:";
  EXPECT_EQ(status("cuda").path, "/mine/libvectis_backend_cuda.so");
  EXPECT_THAT(labels(), ElementsAre("cuda:0", "cpu:0"));
}

TEST_F(RegistryTest, ConfigureNamesTheBackendThatCannotBeConfigured) {
  ScriptedBackend<0>::install(os, "cuda").devices = {gpu("A")};
  EXPECT_ERROR(registry().configure("hip", "a", "b"), ErrorCode::unsupported_backend, "'hip'");
  EXPECT_ERROR(registry().configure("cuda", "a", "b"), ErrorCode::unsupported, "'cuda'");
}

TEST(BackendStateNames, AreAllDifferent) {
  std::set<std::string_view> names;
  for (int state = 0; state <= static_cast<int>(BackendState::failed); ++state) {
    names.insert(name(static_cast<BackendState>(state)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(BackendState::failed) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace vectis
