// Fault injection: every call of the driver and of the compiler fails once. Each failure is typed, nothing leaks, and
// the next call works.
#include <gmock/gmock.h>

#include <iostream>

#include "tests/cuda/embedded_texts.hpp"
#include "tests/cuda/steering.hpp"
#include "tests/slots/exercises.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

constexpr int out_of_memory = 2;
constexpr int launch_failed = 719;
constexpr int unknown = 999;
constexpr int unnamed = 998;  // a value the enumerations can hold

#if VECTIS_TEST_HIP
constexpr const char* driver_variable = "VECTIS_BACKENDS_HIP_DRIVER";
constexpr const char* compiler_variable = "VECTIS_BACKENDS_HIP_COMPILER";
#else
constexpr const char* driver_variable = "VECTIS_BACKENDS_CUDA_DRIVER";
constexpr const char* compiler_variable = "VECTIS_BACKENDS_CUDA_COMPILER";
#endif

// The libraries below the plug-in: four for CUDA; for HIP one, which is driver and compiler.
const std::vector<const VectisTestDriver*>& libraries() {
  static const std::vector<const VectisTestDriver*> all = [] {
    std::vector<const VectisTestDriver*> both = {&steering(driver_variable)};
    if (&steering(compiler_variable) != both[0]) both.push_back(&steering(compiler_variable));
#if !VECTIS_TEST_HIP
    both.push_back(&steering("VECTIS_BACKENDS_CUDA_MONITOR"));
    both.push_back(&steering("VECTIS_TEST_CUBLASLT"));
#endif
    return both;
  }();
  return all;
}

const VectisTestDriver& driver_library() { return *libraries()[0]; }

using Live = std::vector<std::int64_t>;

// A session with NVML, once opened, stays until the plug-in is closed, and cuBLASLt's handle with its context.
Live live(bool with_lasting = true) {
  Live counts;
  for (const VectisTestDriver* library : libraries()) {
    for (int kind = 0; kind < VECTIS_DRIVER_KINDS; ++kind) {
      const bool lasting = kind == VECTIS_DRIVER_SESSIONS || kind == VECTIS_DRIVER_BLAS;
      if (with_lasting || !lasting) counts.push_back(library->live(kind));
    }
  }
  return counts;
}

// A fault in one of the libraries.
struct LibraryFaultPoint : FaultPoint {
  const VectisTestDriver* library;
};

bool is_compilers(const std::string& function) {
  return function.starts_with("nvrtc") || function.starts_with("hiprtc");
}

// Libraries that are not required.
bool is_optional(const std::string& function) {
  return function.starts_with("nvml") || function.starts_with("cublasLt");
}

bool is_release(const std::string& function) {
  for (const char* word : {"Destroy", "Free", "Release", "Unload", "CtxPop", "Shutdown"}) {
    if (function.find(word) != std::string::npos) return true;
  }
  return false;
}

// Failures without consequence: the compiler's log, restoring the thread's device, memory that is not required.
bool is_harmless(const Exercise& exercise, const FaultPoint& point) {
  if (cannot_fail(exercise.slot) || is_release(point.function)) return true;
  if (point.function.find("ProgramLog") != std::string::npos) return true;
  if (point.function == "hipSetDevice" && point.nth % 2 == 0) return true;
  if (exercise.slot == "run_op" && point.function == "cuMemAlloc_v2") return true;  // BLAS without a workspace
  if (point.function == "cublasLtGetCudartVersion") return true;                    // returns no code
  return exercise.slot == "open" && is_compilers(point.function);
}

VectisStatus expected_status(const Exercise& exercise, const FaultPoint& point) {
  if (is_harmless(exercise, point)) return exercise.without_fault;
  if (exercise.slot == "open") return VECTIS_BACKEND_CREATION;
  if (is_optional(point.function)) return VECTIS_UNSUPPORTED;
  if (is_compilers(point.function)) return VECTIS_DRIVER_FAILURE;
  if (point.code == out_of_memory) return VECTIS_ALLOCATION;
  if (point.code == launch_failed) return VECTIS_DEVICE_LOST;
  return exercise.slot == "context_create" ? VECTIS_BACKEND_CREATION : VECTIS_DRIVER_FAILURE;
}

void reset() {
  for (const VectisTestDriver* library : libraries()) library->reset();
}

// Every driver call that the exercise makes, with every error code.
std::vector<LibraryFaultPoint> fault_points(const Exercise& exercise) {
  Rig rig;
  exercise.prepare(rig);
  reset();
  const SlotResult result = exercise.call(rig);
  EXPECT_EQ(result.status, exercise.without_fault) << result;
  std::vector<LibraryFaultPoint> points;
  for (const VectisTestDriver* library : libraries()) {
    for (std::uint32_t function = 0; function < library->function_count(); ++function) {
      const std::string name = library->function_name(function);
      const std::vector<int> codes = is_compilers(name) || is_optional(name)
                                         ? std::vector{1, 11}
                                         : std::vector{out_of_memory, launch_failed, unknown, unnamed};
      for (std::uint32_t nth = 1; nth <= library->calls(function); ++nth) {
        for (const int code : codes) points.push_back({{name, nth, code}, library});
      }
    }
  }
  return points;
}

void expect_reported(const Exercise& exercise, const FaultPoint& point, const SlotResult& result) {
  const VectisStatus expected = expected_status(exercise, point);
  EXPECT_EQ(result.status, expected) << result;
  if (is_harmless(exercise, point)) return;
  EXPECT_THAT(result.text, HasSubstr(point.function));
  EXPECT_THAT(result.text, HasSubstr(std::to_string(point.code)));
  if (exercise.slot == "open") {
    EXPECT_NE(result.reason, VECTIS_REASON_NONE);
  }
}

void inject(const Exercise& exercise, const LibraryFaultPoint& point) {
  SCOPED_TRACE(describe(exercise, point));
  const Live at_first = live();
  {
    Rig rig;
    exercise.prepare(rig);
    const Live before = live(false);
    point.library->fail_call(point.function.c_str(), point.nth, point.code);
    const SlotResult result = exercise.call(rig);
    EXPECT_EQ(point.library->struck(), 1);
    reset();
    expect_reported(exercise, point, result);
    if (result.status != VECTIS_OK && exercise.slot != "run_op") {  // the stream keeps the workspace of BLAS
      EXPECT_EQ(live(false), before);
    }
    if (!cannot_fail(exercise.slot)) {
      const bool remembered = point.function == "cublasLtCreate";
      EXPECT_EQ(exercise.call(rig).status, remembered ? VECTIS_UNSUPPORTED : exercise.without_fault);
    }
  }
  EXPECT_EQ(live(), at_first);
}

TEST(DriverFault, EveryCallBelowEverySlot) {
  std::size_t points = 0;
  std::map<std::string, std::size_t> by_function;
  for (const Exercise& exercise : exercises()) {
    for (const LibraryFaultPoint& point : fault_points(exercise)) {
      inject(exercise, point);
      ++by_function[point.function];
      ++points;
    }
  }
  for (const VectisTestDriver* library : libraries()) EXPECT_EQ(library->violations(), 0) << library->last_violation();
  for (const auto& [function, count] : by_function) std::cout << "  " << function << ": " << count << '\n';
  std::cout << points << " fault points over " << by_function.size() << " functions\n";
  EXPECT_GE(points, 150U);
}

// Every function the plug-in looks up is called by some exercise, except those that name error codes.
TEST(DriverFault, EveryFunctionIsReached) {
  std::set<std::string> called;
  std::set<std::string> wanted;
  for (const Exercise& exercise : exercises()) {
    reset();
    {
      Rig rig;
      exercise.prepare(rig);
      exercise.call(rig);
      const auto symbols = rig.host.symbols();
      wanted.insert(symbols.begin(), symbols.end());
    }
    for (const VectisTestDriver* library : libraries()) {
      for (std::uint32_t function = 0; function < library->function_count(); ++function) {
        called.insert(library->function_name(function));
      }
    }
  }
  std::vector<std::string> missing;
  std::set_difference(wanted.begin(), wanted.end(), called.begin(), called.end(), std::back_inserter(missing));
  std::erase_if(missing, [](const std::string& name) { return name.find("Error") != std::string::npos; });
  // PTX is needed only for a device newer than the compiler.
  std::erase_if(missing, [](const std::string& name) { return name.starts_with("nvrtcGetPTX"); });
  if (embedded_texts().empty()) {
    std::erase_if(missing, [](const std::string& name) { return name.starts_with("cuLink"); });
    std::erase(missing, "cuModuleLoadDataEx");
  }
  std::erase(missing, "hipGetDeviceProperties");  // needed only without its newer version
  EXPECT_THAT(missing, testing::IsEmpty());
}

// --- Work that fails after it was accepted --------------------------------------------------------------------------

using Report = std::function<SlotResult(Rig&)>;

void expect_later_failure(const Exercise& exercise, int code, const Report& report) {
  SCOPED_TRACE(exercise.slot + " ends with " + std::to_string(code));
  const Live at_first = live();
  {
    Rig rig;
    exercise.prepare(rig);
    rig.need_event();
    EXPECT_TRUE(succeeded(rig.synchronize()));
    driver_library().fail_work(1, code);
    EXPECT_TRUE(succeeded(exercise.call(rig)) || driver_library().struck() == 1) << "the failure comes later";
    for (int again = 0; again < 2; ++again) {
      const SlotResult result = report(rig);
      EXPECT_EQ(result.status, code == launch_failed ? VECTIS_DEVICE_LOST : VECTIS_DRIVER_FAILURE) << result;
      EXPECT_THAT(result.text, HasSubstr(std::to_string(code)));
    }
  }
  driver_library().heal();
  reset();
  EXPECT_EQ(live(), at_first) << "objects of a lost device can still be destroyed";
}

void expect_reported_by(const Report& report) {
  for (const Exercise& exercise : exercises()) {
    if (!exercise.starts_command) continue;
    for (const int code : {launch_failed, unknown}) expect_later_failure(exercise, code, report);
  }
}

TEST(DriverLateFault, IsReportedByTheStream) {
  expect_reported_by([](Rig& rig) { return rig.synchronize(); });
}

TEST(DriverLateFault, IsReportedByAnEventRecordedAfterIt) {
  expect_reported_by([](Rig& rig) {
    const SlotResult recorded = call_slot(plugin().event_record, rig.event, rig.stream);
    return recorded.status != VECTIS_OK ? recorded : call_slot(plugin().event_synchronize, rig.event);
  });
}

TEST(DriverLateFault, IsReportedByAnEventQuery) {
  expect_reported_by([](Rig& rig) {
    SlotResult result = call_slot(plugin().event_record, rig.event, rig.stream);
    if (result.status == VECTIS_OK) result = call_slot(plugin().event_query, rig.event);
    while (result.status == VECTIS_NOT_READY) result = call_slot(plugin().event_query, rig.event);
    return result;
  });
}

}  // namespace
}  // namespace vectis::test
