// The plug-in on the test driver: failures of open, devices, programs, launches and timestamps.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "tests/cuda/embedded_texts.hpp"
#include "tests/cuda/steering.hpp"
#include "tests/slots/rig.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

constexpr bool is_hip = VECTIS_TEST_HIP != 0;

const VectisTestDriver& test_driver() { return driver_of(is_hip ? "hip" : "cuda"); }

class GpuPlugin : public testing::Test {
 protected:
  GpuPlugin() { test_driver().set_order(seed() | 1U); }
  ~GpuPlugin() override {
    rig.destroy();
    EXPECT_EQ(test_driver().violations(), 0) << test_driver().last_violation();
    for (const auto& [key, value] : defaults) test_driver().set(key.c_str(), value);
  }
  void state(const std::string& key, std::uint64_t value, std::uint64_t default_value) {
    defaults[key] = default_value;
    test_driver().set(key.c_str(), value);
  }
  SlotResult open() { return call_slot(plugin().open, rig.host.get(), &rig.state); }
  VectisDeviceInfo info(std::uint32_t index = 0) {
    VectisDeviceInfo result{};
    result.size = sizeof result;
    EXPECT_TRUE(succeeded(call_slot(plugin().device_info, rig.state, index, &result)));
    return result;
  }

  std::map<std::string, std::uint64_t> defaults;
  Rig rig;
};

TEST_F(GpuPlugin, ReportsWhyItCannotBeOpened) {
  rig.host.has_library = false;
  expect_open_failure(open(), VECTIS_REASON_NO_LIBRARY, "cannot be opened: no such file");
  rig.host.has_library = true;
  rig.host.replaced[is_hip ? "hipModuleLoadData" : "cuModuleLoadData"] = nullptr;
  expect_open_failure(open(), VECTIS_REASON_DRIVER_TOO_OLD, "ModuleLoadData: it is older than");
  rig.host.replaced.clear();
  struct InitFailure {
    std::uint64_t code;
    VectisReason reason;
    const char* words;
  };
  for (const InitFailure& failure :
       {InitFailure{34, VECTIS_REASON_NO_DRIVER, "stub library"}, InitFailure{100, VECTIS_REASON_NO_DEVICE, "(100)"},
        InitFailure{101, VECTIS_REASON_NO_DEVICE, "101"},
        InitFailure{999, VECTIS_REASON_NO_DRIVER, "its kernel module is not loaded, or may not be opened"},
        InitFailure{100, VECTIS_REASON_NO_DEVICE, is_hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES"},
        InitFailure{802, VECTIS_REASON_OTHER, "fabric manager"},
        InitFailure{803, VECTIS_REASON_DRIVER_TOO_OLD, "its kernel module differ"},
        InitFailure{804, VECTIS_REASON_DRIVER_TOO_OLD, "remove it from the library path, or update the driver"},
        InitFailure{3, VECTIS_REASON_OTHER, "3"}}) {
    SCOPED_TRACE(failure.code);
    state("init", failure.code, 0);
    expect_open_failure(open(), failure.reason, failure.words);
  }
  state("init", 0, 0);
}

// None of these codes says that the device is lost: the same call may succeed later.
TEST_F(GpuPlugin, ReportsABusyDeviceAndAnUnpreparedSystem) {
  const std::map<int, std::string> words = {{46, "another process uses the device exclusively"},
                                            {100, "the driver finds no device"},
                                            {802, "nvidia-fabricmanager"},
                                            {804, "cuda-compat"}};
  for (const auto& [code, text] : words) {
    SCOPED_TRACE(code);
    rig.need_state();
    test_driver().fail_call(is_hip ? "hipStreamCreateWithFlags" : "cuDevicePrimaryCtxRetain", 1, code);
    SlotResult result = call_slot(plugin().context_create, rig.state, 0U, &rig.context);
    EXPECT_EQ(result.status, VECTIS_BACKEND_CREATION);
    EXPECT_THAT(result.text, testing::AllOf(HasSubstr(std::to_string(code)), HasSubstr(text)));
    rig.need_context();
    test_driver().fail_call(is_hip ? "hipMalloc" : "cuMemAlloc_v2", 1, code);
    result = call_slot(plugin().memory_allocate, rig.context, 100U, &rig.memory);
    EXPECT_EQ(result.status, VECTIS_DRIVER_FAILURE);
    EXPECT_THAT(result.text, HasSubstr(text));
    rig.need_memory();
    rig.destroy();
  }
}

TEST_F(GpuPlugin, RejectsAnOldDriverAndOneWithoutDevices) {
  state("version", is_hip ? 40300000 : 10020, is_hip ? 50220000 : 13000);
  expect_open_failure(open(), VECTIS_REASON_DRIVER_TOO_OLD,
                      is_hip ? "HIP 4.3, HIP 5.0 is needed" : "CUDA 10.2, CUDA 11.2 is");
  state("version", is_hip ? 50220000 : 13000, is_hip ? 50220000 : 13000);
  state("devices", 0, 4);
  expect_open_failure(open(), VECTIS_REASON_NO_DEVICE, "offers no device");
}

TEST_F(GpuPlugin, DescribesItsDevices) {
  rig.need_state();
  std::uint32_t count = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().device_count, rig.state, &count)));
  EXPECT_EQ(count, 4U);
  const VectisDeviceInfo third = info(2);
  EXPECT_STREQ(third.name, "Test GPU 2");
  EXPECT_STREQ(third.dialects, program_dialect);
  EXPECT_STREQ(third.physical_id, "pci-0000:03:00.0");
  EXPECT_EQ(third.software, 0);
  EXPECT_EQ(third.parent, -1);
  EXPECT_EQ(third.group_items_max, 1024U);
  EXPECT_EQ(third.group_size_max[2], 64U);
  EXPECT_EQ(third.shared_bytes_max, 48U << 10U);
  EXPECT_NE(third.capabilities & VECTIS_CAN_TIMESTAMPS, 0U);
  VectisDeviceInfo none{};
  none.size = sizeof none;
  EXPECT_EQ(call_slot(plugin().device_info, rig.state, 4U, &none).status, VECTIS_INVALID_INPUT);
}

// hipRTC names no architecture by itself unless ROCm's development package is installed.
TEST_F(GpuPlugin, CompilesHipForTheArchitectureOfTheDevice) {
  if (!is_hip) return;
  for (const char* hidden : {"", "hipGetDevicePropertiesR0600"}) {
    SCOPED_TRACE(hidden);
    rig.host.replaced.clear();
    if (*hidden != '\0') rig.host.replaced[hidden] = nullptr;
    rig.need_kernel();
    EXPECT_STREQ(info().dialects, "hip-c++");
    rig.destroy();
  }
  rig.host.replaced["hipGetDeviceProperties"] = nullptr;
  rig.need_context();
  EXPECT_STREQ(info().dialects, "");
  const SlotResult result = call_slot(plugin().program_create, rig.context, program_dialect, program_text.data(),
                                      program_text.size(), "", &rig.program);
  EXPECT_EQ(result.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(result.text, HasSubstr("reports '' as the device's architecture"));
  rig.destroy();
  rig.host.replaced.clear();
  state("no_architecture", 1, 0);
  rig.need_state();
  EXPECT_THAT(rig.host.logged(), testing::Contains(HasSubstr("reports 'Radeon' as the device's architecture")));
}

TEST_F(GpuPlugin, CopiesWithoutACompiler) {
  rig.host.settings["compiler"] = "no-such-library.so";
  rig.need_streams();
  const bool embedded = !embedded_texts().empty();
  EXPECT_STREQ(info().dialects, embedded ? program_dialect : "");
  EXPECT_THAT(rig.host.logged(), testing::Contains(HasSubstr(embedded ? "compiles no others" : "compiles no kernels")));
  const SlotResult result = call_slot(plugin().program_create, rig.context, program_dialect, program_text.data(),
                                      program_text.size(), "", &rig.program);
  EXPECT_EQ(result.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(result.text, HasSubstr("no-such-library.so cannot be opened"));
  rig.need_memory();
  rig.upload(rig.memory, rig.data.data(), rig.data.size());
  EXPECT_EQ(rig.download(rig.memory, rig.data.size()), rig.data);
}

TEST_F(GpuPlugin, ReportsCompileErrors) {
  rig.need_context();
  const auto build = [&](const char* dialect, std::string_view text, const char* options = "") {
    return call_slot(plugin().program_create, rig.context, dialect, text.data(), text.size(), options, &rig.program);
  };
  const SlotResult wrong = build(program_dialect, "extern \"C\" __global__ void k() { undeclared_thing = 1; }");
  EXPECT_EQ(wrong.status, VECTIS_COMPILE_FAILED);
  EXPECT_THAT(wrong.text, HasSubstr("undeclared_thing"));
  EXPECT_EQ(build(program_dialect, program_text, "--no-such-option").status, VECTIS_COMPILE_FAILED);
  EXPECT_EQ(build("opencl-c", program_text).status, VECTIS_UNSUPPORTED);
  EXPECT_EQ(build("binary", "not a binary").status, VECTIS_INVALID_INPUT);
  rig.need_program();
  const SlotResult missing = call_slot(plugin().kernel_create, rig.program, "nothing", &rig.kernel);
  EXPECT_EQ(missing.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(missing.text, HasSubstr("'nothing'"));
}

TEST_F(GpuPlugin, LoadsBinariesAndRejectsCorruptOnes) {
  rig.need_program();
  std::size_t bytes = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, nullptr, &bytes)));
  std::string binary(bytes, '\0');
  std::size_t room = bytes - 1;
  EXPECT_EQ(call_slot(plugin().program_binary, rig.program, binary.data(), &room).status, VECTIS_INVALID_INPUT);
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, binary.data(), &bytes)));
  const auto load = [&](const std::string& image) {
    VectisProgram* program = nullptr;
    const SlotResult result =
        call_slot(plugin().program_create, rig.context, "binary", image.data(), image.size(), "", &program);
    if (program != nullptr) plugin().program_destroy(program);
    return result.status;
  };
  EXPECT_EQ(load(binary), VECTIS_OK);
  for (std::size_t cut = 0; cut < binary.size(); cut += 7) EXPECT_EQ(load(binary.substr(0, cut)), VECTIS_INVALID_INPUT);
  for (std::size_t at = 0; at < binary.size(); at += 5) {
    std::string changed = binary;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(load(changed), VECTIS_INVALID_INPUT) << at;
  }
}

TEST_F(GpuPlugin, LaunchesAndRejectsWrongArguments) {
  rig.need_streams();
  rig.need_kernel();
  std::vector<float> in(777);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) - 300;
  const auto from = allocate(rig, in.size() * sizeof(float));
  const auto to = allocate(rig, in.size() * sizeof(float));
  rig.upload(from.get(), in.data(), in.size() * sizeof(float));
  for (const std::uint32_t group : {1U, 32U, 100U, 1024U}) {
    EXPECT_TRUE(succeeded(launch_mirror(rig.stream, rig.kernel, from.get(), to.get(), 2.5F, 777, group)));
    const auto bytes = rig.download(to.get(), in.size() * sizeof(float));
    std::vector<float> out(in.size());
    std::memcpy(out.data(), bytes.data(), bytes.size());
    EXPECT_EQ(out, mirror_oracle(in, 2.5F, group)) << group;
  }
  VectisKernel* bounded = nullptr;
  EXPECT_TRUE(succeeded(call_slot(plugin().kernel_create, rig.program, "bounded", &bounded)));
  const VectisArgument memory{VECTIS_ARGUMENT_MEMORY, to.get(), nullptr, 0};
  const VectisLaunch wide{sizeof wide, {1, 1, 1}, {65, 1, 1}, &memory, 1};
  const SlotResult result = call_slot(plugin().launch, rig.stream, bounded, &wide);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(result.text, HasSubstr("65 items, this kernel takes at most 64"));
  if (!is_hip) {  // HIP does not report the parameters of a kernel
    const VectisLaunch few{sizeof few, {1, 1, 1}, {8, 1, 1}, nullptr, 0};
    EXPECT_THAT(call_slot(plugin().launch, rig.stream, bounded, &few).text, HasSubstr("has 0 arguments"));
    const std::uint32_t value = 1;
    const VectisArgument number{VECTIS_ARGUMENT_VALUE, nullptr, &value, sizeof value};
    const VectisLaunch small{sizeof small, {1, 1, 1}, {8, 1, 1}, &number, 1};
    EXPECT_THAT(call_slot(plugin().launch, rig.stream, bounded, &small).text,
                HasSubstr("has 4 bytes, the kernel takes 8"));
  }
  plugin().kernel_destroy(bounded);
}

TEST_F(GpuPlugin, TimestampsStayExactOverMinutes) {
  rig.need_streams();
  rig.need_event();
  std::uint64_t last = 0;
  EXPECT_EQ(call_slot(plugin().event_timestamp, rig.event, &last).status, VECTIS_INVALID_INPUT) << "never recorded";
  for (int round = 0; round < 50; ++round) {
    EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
    EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
    std::uint64_t now = 0;
    EXPECT_TRUE(succeeded(call_slot(plugin().event_timestamp, rig.event, &now)));
    constexpr std::uint64_t jump = 7'000'000'000;
    if (round > 0) {
      EXPECT_GE(now + 1000, last + jump);
      EXPECT_LT(now, last + jump + 5'000'000'000);
    }
    last = now;
    test_driver().advance_clock(jump);
  }
}

TEST_F(GpuPlugin, ReportsFreeMemoryAndExhaustion) {
  rig.need_state();
  VectisMemoryInfo memory{sizeof memory, 0, 0};
  state("memory", 1U << 20U, std::uint64_t{16} << 30U);
  rig.need_context();
  EXPECT_TRUE(succeeded(call_slot(plugin().device_memory, rig.state, 0U, &memory)));
  EXPECT_EQ(memory.total_bytes, 1U << 20U);
  EXPECT_EQ(memory.free_bytes, 1U << 20U);
  const auto most = allocate(rig, 1000000);
  VectisMemory* more = nullptr;
  const SlotResult result = call_slot(plugin().memory_allocate, rig.context, 100000U, &more);
  EXPECT_EQ(result.status, VECTIS_ALLOCATION);
  EXPECT_THAT(result.text, HasSubstr("of 100000 bytes"));
}

TEST_F(GpuPlugin, ReportsUtilizationAndMemoryWithoutAContext) {
  rig.need_state();
  double share = -1;
  VectisMemoryInfo memory{sizeof memory, 0, 0};
  if (is_hip) {
    const SlotResult result = call_slot(plugin().device_utilization, rig.state, 0U, &share);
    EXPECT_EQ(result.status, VECTIS_UNSUPPORTED);
    EXPECT_THAT(result.text, HasSubstr("HIP does not report"));
    return;
  }
  const VectisTestDriver& nvml = steering("VECTIS_BACKENDS_CUDA_MONITOR");
  nvml.set("busy", 40);
  EXPECT_TRUE(succeeded(call_slot(plugin().device_utilization, rig.state, 2U, &share)));
  EXPECT_EQ(share, 0.42) << "the third device";
  EXPECT_TRUE(succeeded(call_slot(plugin().device_memory, rig.state, 1U, &memory)));
  EXPECT_EQ(memory.total_bytes, std::uint64_t{16} << 30U);
  EXPECT_EQ(memory.free_bytes, std::uint64_t{13} << 30U);
  EXPECT_EQ(test_driver().live(VECTIS_DRIVER_CONTEXTS), 0) << "nobody asked for one";
  nvml.set("busy", 30);
}

TEST_F(GpuPlugin, ReportsUnifiedMemoryOfIntegratedDevices) {
  rig.need_state();
  EXPECT_EQ(info().capabilities & VECTIS_CAN_UNIFIED_MEMORY, 0U);
  state("integrated", 1, 0);
  EXPECT_NE(info().capabilities & VECTIS_CAN_UNIFIED_MEMORY, 0U);
}

// A slice has its own memory, and NVML reports that of the whole device.
TEST_F(GpuPlugin, DescribesASliceOfADevice) {
  if (is_hip) return;  // it has none
  rig.need_state();
  EXPECT_STREQ(info(2).physical_id, "pci-0000:03:00.0");
  rig.destroy();
  state("mig", 1, 0);
  state("memory", std::uint64_t{5} << 30U, std::uint64_t{16} << 30U);
  rig.need_state();
  EXPECT_STREQ(info(2).physical_id, "mig-a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2");
  EXPECT_EQ(info(2).memory_bytes, std::uint64_t{5} << 30U);
  VectisMemoryInfo memory{sizeof memory, 0, 0};
  const SlotResult without_context = call_slot(plugin().device_memory, rig.state, 0U, &memory);
  EXPECT_EQ(without_context.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(without_context.text, HasSubstr("MIG slice"));
  double share = 0;
  EXPECT_EQ(call_slot(plugin().device_utilization, rig.state, 0U, &share).status, VECTIS_UNSUPPORTED);
  rig.need_context();
  EXPECT_TRUE(succeeded(call_slot(plugin().device_memory, rig.state, 0U, &memory)));
  EXPECT_EQ(memory.total_bytes, std::uint64_t{5} << 30U);
  rig.destroy();
  rig.host.replaced["cuDeviceGetUuid_v2"] = nullptr;
  rig.need_state();
  EXPECT_STREQ(info(2).physical_id, "pci-0000:03:00.0") << "a driver that does not know slices";
}

// The context belongs to all users of the driver in this process: a free waits for our own streams with work alone.
TEST_F(GpuPlugin, FreesWaitForItsOwnStreamsOnly) {
  rig.need_streams();
  rig.need_memory();
  const auto waits = [] { return calls_of(test_driver(), is_hip ? "hipStreamSynchronize" : "cuStreamSynchronize"); };
  const auto free_some = [&] {
    std::vector<std::shared_ptr<VectisMemory>> memories;
    for (int i = 0; i < 10; ++i) memories.push_back(allocate(rig, 100));
    void* pinned = nullptr;
    EXPECT_TRUE(succeeded(call_slot(plugin().host_allocate, rig.context, 100U, &pinned)));
    test_driver().reset();
    memories.clear();
    plugin().host_free(rig.context, pinned);
  };
  free_some();
  EXPECT_EQ(waits(), 0U) << "no stream has work";
  rig.upload(rig.memory, rig.data.data(), rig.data.size());
  free_some();
  EXPECT_EQ(waits(), 0U) << "the work has ended";
  EXPECT_TRUE(succeeded(
      call_slot(plugin().copy_to_device, rig.other_stream, rig.memory, 0U, rig.data.data(), rig.data.size())));
  free_some();
  EXPECT_EQ(waits(), 11U) << "one stream has work";
  EXPECT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, rig.memory, 0U, 10U, std::uint8_t{1})));
  plugin().memory_free(rig.context, std::exchange(rig.memory, nullptr));
  EXPECT_EQ(test_driver().violations(), 0) << test_driver().last_violation();
  EXPECT_EQ(calls_of(test_driver(), is_hip ? "hipDeviceSynchronize" : "cuCtxSynchronize"), 0U);
}

// Stands in for the function that creates events. Its types are not those of the driver's headers, which this test does
// not know; clang would check them at the call.
std::set<unsigned> event_flags;
int (*create_event)(void**, unsigned) = nullptr;
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
int observed_create_event(void** event, unsigned flags) {
  event_flags.insert(flags);
  return create_event(event, flags);
}

// A thread that waits for an event sleeps.
TEST_F(GpuPlugin, EventsDoNotSpin) {
  const char* const symbol = is_hip ? "hipEventCreateWithFlags" : "cuEventCreate";
  void* library = dlopen(default_settings()["driver"].c_str(), RTLD_NOW | RTLD_LOCAL);
  create_event = reinterpret_cast<int (*)(void**, unsigned)>(dlsym(library, symbol));
  rig.host.replaced[symbol] = reinterpret_cast<void*>(&observed_create_event);
  rig.need_context();
  event_flags.clear();
  rig.need_event();
  constexpr unsigned blocking_sync = 1;  // of CUDA and HIP
  EXPECT_THAT(event_flags, testing::ElementsAre(blocking_sync));
}

TEST_F(GpuPlugin, ReportsAMissingMonitor) {
  if (is_hip) return;  // it has none
  rig.host.settings["monitor"] = "no-such-library.so";
  rig.need_state();
  double share = -1;
  SlotResult result = call_slot(plugin().device_utilization, rig.state, 0U, &share);
  EXPECT_EQ(result.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(result.text, HasSubstr("NVML: no-such-library.so cannot be opened"));
  VectisMemoryInfo memory{sizeof memory, 0, 0};
  EXPECT_EQ(call_slot(plugin().device_memory, rig.state, 0U, &memory).status, VECTIS_UNSUPPORTED);
  rig.host.settings["monitor"] = default_settings()["monitor"];
  rig.host.replaced["nvmlDeviceGetMemoryInfo"] = nullptr;
  result = call_slot(plugin().device_utilization, rig.state, 0U, &share);
  EXPECT_THAT(result.text, HasSubstr("has no nvmlDeviceGetMemoryInfo"));
  rig.host.replaced.clear();
  EXPECT_TRUE(succeeded(call_slot(plugin().device_utilization, rig.state, 0U, &share))) << "it is there now";
}

}  // namespace
}  // namespace vectis::test
