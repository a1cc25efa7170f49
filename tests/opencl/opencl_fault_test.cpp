// Fault injection: every driver call below every slot fails once. Each failure is typed, nothing leaks, and the next
// call works.
#include <CL/cl.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <iostream>

#include "tests/drivers/opencl_layer/fault_layer.h"
#include "tests/slots/exercises.hpp"
#include "tests/support/allocation_faults.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

constexpr std::array codes{CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES,      CL_DEVICE_NOT_AVAILABLE,
                           CL_INVALID_CONTEXT,    CL_INVALID_COMMAND_QUEUE, -9999};

// What drivers return for a device that they lost; NVIDIA's returns -9999 after an illegal memory access.
bool means_lost(cl_int code) {
  return code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_CONTEXT || code == CL_INVALID_COMMAND_QUEUE ||
         code == -9999;
}

const VectisFaultLayer& layer() {
  static const VectisFaultLayer* steering = []() -> const VectisFaultLayer* {
    Rig().need_state();  // the loader opens its layers with the first call
    void* library = dlopen(VECTIS_OPENCL_LAYER, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) throw std::runtime_error("the layer is not loaded: set OPENCL_LAYERS=" VECTIS_OPENCL_LAYER);
    return reinterpret_cast<VectisFaultLayerEntry>(dlsym(library, VECTIS_FAULT_LAYER_ENTRY))();
  }();
  return *steering;
}

using Live = std::array<std::int64_t, VECTIS_LAYER_KINDS>;

Live live() {
  Live counts{};
  for (std::int32_t kind = 0; kind < VECTIS_LAYER_KINDS; ++kind) {
    counts[static_cast<std::size_t>(kind)] = layer().live(kind);
  }
  return counts;
}

// No kind has more than before. A slot that fails may still have dropped records of finished commands.
void expect_no_more(const Live& now, const Live& before) {
  for (std::size_t kind = 0; kind < now.size(); ++kind) EXPECT_LE(now[kind], before[kind]) << "kind " << kind;
}

bool is_release(const std::string& function) { return function.starts_with("clRelease"); }

// The status that the contract requires.
VectisStatus expected_status(const Exercise& exercise, const FaultPoint& point) {
  if (cannot_fail(exercise.slot) || is_release(point.function)) return exercise.without_fault;
  if (point.function == "clGetProgramBuildInfo") return exercise.without_fault;  // only the build log is lost
  if (exercise.slot == "open") return VECTIS_BACKEND_CREATION;
  if (point.code == CL_OUT_OF_HOST_MEMORY) return VECTIS_ALLOCATION;
  if (means_lost(point.code)) return VECTIS_DEVICE_LOST;
  const bool makes_memory = exercise.slot == "memory_allocate" || exercise.slot == "memory_slice";
  if (point.code == CL_OUT_OF_RESOURCES && makes_memory) return VECTIS_ALLOCATION;
  return exercise.slot == "context_create" ? VECTIS_BACKEND_CREATION : VECTIS_DRIVER_FAILURE;
}

// Every driver call that the exercise makes, with every error code.
std::vector<FaultPoint> fault_points(const Exercise& exercise) {
  Rig rig;
  exercise.prepare(rig);
  layer().reset();
  const SlotResult result = exercise.call(rig);
  EXPECT_EQ(result.status, exercise.without_fault) << result;
  std::vector<FaultPoint> points;
  for (std::uint32_t function = 0; function < layer().function_count(); ++function) {
    for (std::uint32_t nth = 1; nth <= layer().calls(function); ++nth) {
      for (const cl_int code : codes) points.push_back({layer().function_name(function), nth, code});
    }
  }
  return points;
}

void expect_works_again(const Exercise& exercise, Rig& rig) {
  if (cannot_fail(exercise.slot)) return;  // it is gone; the rig makes and destroys another in the next round
  const SlotResult result = exercise.call(rig);
  EXPECT_EQ(result.status, exercise.without_fault) << result;
}

void inject(const Exercise& exercise, const FaultPoint& point) {
  SCOPED_TRACE(describe(exercise, point));
  const Live at_first = live();
  {
    Rig rig;
    exercise.prepare(rig);
    const Live before = live();
    layer().fail_call(point.function.c_str(), point.nth, point.code);
    const SlotResult result = exercise.call(rig);
    EXPECT_EQ(layer().struck(), 1);
    layer().reset();
    const VectisStatus expected = expected_status(exercise, point);
    EXPECT_EQ(result.status, expected) << result;
    if (expected != exercise.without_fault || point.function == "clGetProgramBuildInfo") {
      EXPECT_THAT(result.text, HasSubstr(point.function));
      EXPECT_THAT(result.text, HasSubstr(std::to_string(point.code)));
    }
    if (exercise.slot == "open" && expected != VECTIS_OK) {
      EXPECT_EQ(result.reason, VECTIS_REASON_OTHER);
    }
    if (expected != VECTIS_OK || point.function != "clGetProgramBuildInfo") expect_no_more(live(), before);
    expect_works_again(exercise, rig);
  }
  EXPECT_EQ(live(), at_first);
}

TEST(OpenclFault, TheLayerWrapsEveryFunctionThePluginAsksFor) {
  std::set<std::string> wrapped;
  for (std::uint32_t function = 0; function < layer().function_count(); ++function) {
    wrapped.insert(layer().function_name(function));
  }
  Rig rig;
  rig.need_state();
  EXPECT_EQ(wrapped, rig.host.symbols());
}

TEST(OpenclFault, EverySlotHasAnExercise) {
  std::set<std::string> exercised;
  for (const Exercise& exercise : exercises()) exercised.insert(exercise.slot);
  const std::vector<std::string> filled = filled_slots();
  EXPECT_EQ(exercised, std::set<std::string>(filled.begin(), filled.end()));
}

TEST(OpenclFault, EveryCallBelowEverySlot) {
  std::map<std::string, std::size_t> points_by_slot;
  for (const Exercise& exercise : exercises()) {
    const std::vector<FaultPoint> points = fault_points(exercise);
    for (const FaultPoint& point : points) inject(exercise, point);
    points_by_slot[exercise.slot] += points.size();
  }
  EXPECT_EQ(layer().wrong_releases(), 0);
  std::size_t points = 0;
  std::set<std::string> untouched;
  for (const auto& [slot, count] : points_by_slot) {
    std::cout << "  " << slot << ": " << count << '\n';
    points += count;
    if (count == 0) untouched.insert(slot);
  }
  // These two call nothing below them. The next test fails the allocation inside event_create; device_count reads a
  // number and cannot fail.
  EXPECT_THAT(untouched, testing::ElementsAre("device_count", "event_create"));
  std::cout << points << " fault points over " << points_by_slot.size() - untouched.size() << " slots" << std::endl;
  RecordProperty("fault_points", static_cast<int>(points));
}

void inject_allocation_fault(const Exercise& exercise, std::uint32_t nth) {
  SCOPED_TRACE(exercise.slot + " " + exercise.note + ": allocation " + std::to_string(nth));
  const Live at_first = live();
  {
    Rig rig;
    exercise.prepare(rig);
    const Live before = live();
    arm_allocation_fault(&plugin(), NewForm::throwing, nth);
    const SlotResult result = exercise.call(rig);
    EXPECT_GE(disarm_allocation_fault(), nth);
    EXPECT_EQ(result.status, VECTIS_ALLOCATION) << result;
    EXPECT_NE(result.text, "");
    expect_no_more(live(), before);
    expect_works_again(exercise, rig);
  }
  EXPECT_EQ(live(), at_first);
}

TEST(OpenclFault, EveryAllocationInsideEverySlot) {
  std::map<std::string, std::uint32_t> points_by_slot;
  std::uint32_t points = 0;
  for (const Exercise& exercise : exercises()) {
    if (cannot_fail(exercise.slot) || exercise.without_fault != VECTIS_OK) continue;
    Rig rig;
    exercise.prepare(rig);
    arm_allocation_fault(&plugin(), NewForm::throwing, 0);
    EXPECT_TRUE(succeeded(exercise.call(rig)));
    const std::uint32_t allocations = disarm_allocation_fault();
    for (std::uint32_t nth = 1; nth <= allocations; ++nth) inject_allocation_fault(exercise, nth);
    points_by_slot[exercise.slot] += allocations;
    points += allocations;
  }
  EXPECT_GT(points_by_slot["event_create"], 0U);
  EXPECT_EQ(points_by_slot["device_count"], 0U);
  std::cout << points << " allocation fault points" << std::endl;
}

// A driver whose commands never end, so that the stream keeps a record of each.
cl_int CL_API_CALL report_queued(cl_event, cl_event_info, std::size_t, void* status, std::size_t*) {
  const cl_int queued = CL_QUEUED;
  std::memcpy(status, &queued, sizeof queued);
  return CL_SUCCESS;
}

TEST(OpenclFault, HostMemoryStaysExhaustedWhileCommandsAreInFlight) {
  Rig rig;
  rig.host.replaced["clGetEventInfo"] = reinterpret_cast<void*>(&report_queued);
  rig.need_streams();
  rig.need_memory();
  const auto fill = [&] { return call_slot(plugin().fill, rig.stream, rig.memory, 0U, 10U, std::uint8_t{1}); };
  SlotResult result;
  for (std::uint32_t failed = 0; failed == 0;) {
    arm_allocation_fault(&plugin(), NewForm::throwing, 1, true);
    result = fill();
    failed = disarm_allocation_fault();
  }
  EXPECT_EQ(result.status, VECTIS_ALLOCATION) << result;
  arm_allocation_fault(&plugin(), NewForm::throwing, 1, true);
  result = fill();
  disarm_allocation_fault();
  EXPECT_EQ(result.status, VECTIS_ALLOCATION) << result;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(succeeded(fill()));
  EXPECT_TRUE(succeeded(rig.synchronize()));
}

// --- Commands that fail after they were accepted -------------------------------------------------------------------

const std::map<std::string, std::string> enqueueing{{"copy_to_device", "clEnqueueWriteBuffer"},
                                                    {"copy_to_host", "clEnqueueReadBuffer"},
                                                    {"copy_on_device", "clEnqueueCopyBuffer"},
                                                    {"fill", "clEnqueueFillBuffer"},
                                                    {"stream_wait_event", "clEnqueueBarrierWithWaitList"},
                                                    {"launch", "clEnqueueNDRangeKernel"}};

// Enqueues the exercise's command, which will fail with `status`.
void enqueue_failing_command(const Exercise& exercise, Rig& rig, cl_int status) {
  exercise.prepare(rig);
  rig.need_event();
  layer().fail_command(enqueueing.at(exercise.slot).c_str(), 1, status);
  EXPECT_TRUE(succeeded(exercise.call(rig))) << "the failure comes later";
  EXPECT_EQ(layer().struck(), 1);
}

void expect_reported(const SlotResult& result, const Exercise& exercise, cl_int status) {
  const VectisStatus expected = means_lost(status)                ? VECTIS_DEVICE_LOST
                                : status == CL_OUT_OF_HOST_MEMORY ? VECTIS_ALLOCATION
                                                                  : VECTIS_DRIVER_FAILURE;
  EXPECT_EQ(result.status, expected) << result;
  EXPECT_THAT(result.text, HasSubstr(enqueueing.at(exercise.slot)));
  EXPECT_THAT(result.text, HasSubstr(std::to_string(status)));
}

// Other streams of the context still work.
void expect_others_work(Rig& rig) {
  rig.need_memory();
  EXPECT_TRUE(succeeded(call_slot(plugin().fill, rig.other_stream, rig.memory, 0U, 10U, std::uint8_t{1})));
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_synchronize, rig.other_stream)));
}

using Report = std::function<SlotResult(Rig&)>;

void expect_later_failure(const Exercise& exercise, cl_int status, const Report& report) {
  SCOPED_TRACE(exercise.slot + " ends with " + std::to_string(status));
  const Live at_first = live();
  {
    Rig rig;
    enqueue_failing_command(exercise, rig, status);
    expect_reported(report(rig), exercise, status);
    expect_reported(report(rig), exercise, status);
    expect_others_work(rig);
  }
  layer().reset();
  EXPECT_EQ(live(), at_first);
}

void expect_reported_by(const Report& report) {
  std::size_t kinds = 0;
  for (const Exercise& exercise : exercises()) {
    if (!exercise.starts_command) continue;
    ++kinds;
    for (const cl_int status : codes) expect_later_failure(exercise, status, report);
  }
  EXPECT_EQ(kinds, enqueueing.size());
}

TEST(OpenclLateFault, IsReportedByTheStream) {
  expect_reported_by([](Rig& rig) { return rig.synchronize(); });
}

TEST(OpenclLateFault, IsReportedByAnEventRecordedAfterIt) {
  expect_reported_by([](Rig& rig) {
    EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
    return call_slot(plugin().event_synchronize, rig.event);
  });
}

TEST(OpenclLateFault, IsReportedByAnEventQuery) {
  expect_reported_by([](Rig& rig) {
    EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
    SlotResult result = call_slot(plugin().event_query, rig.event);
    while (result.status == VECTIS_NOT_READY) result = call_slot(plugin().event_query, rig.event);
    return result;
  });
}

TEST(OpenclLateFault, IsNotReportedByAnEventRecordedBeforeIt) {
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  rig.need_event();
  EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  layer().fail_command("clEnqueueFillBuffer", 1, CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, rig.memory, 0U, 10U, std::uint8_t{1})));
  EXPECT_EQ(rig.synchronize().status, VECTIS_DRIVER_FAILURE);
  EXPECT_TRUE(succeeded(call_slot(plugin().event_query, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
  layer().reset();
}

TEST(OpenclLateFault, IsRememberedOverManyLaterCommands) {
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  layer().fail_command("clEnqueueFillBuffer", 3, CL_OUT_OF_RESOURCES);
  for (int command = 0; command < 300; ++command) {
    EXPECT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, rig.memory, 0U, 10U, std::uint8_t{1})));
  }
  EXPECT_EQ(rig.synchronize().status, VECTIS_DRIVER_FAILURE);
  layer().reset();
}

TEST(OpenclLateFault, AMarkersOwnFailureIsReported) {
  Rig rig;
  rig.need_streams();
  rig.need_event();
  layer().fail_command("clEnqueueMarkerWithWaitList", 1, CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  EXPECT_EQ(call_slot(plugin().event_synchronize, rig.event).status, VECTIS_DRIVER_FAILURE);
  EXPECT_EQ(call_slot(plugin().event_query, rig.event).status, VECTIS_DRIVER_FAILURE);
  layer().reset();
}

TEST(OpenclFault, FinishedCommandsAreDroppedInTime) {
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  const auto fill = [&rig] { return call_slot(plugin().fill, rig.stream, rig.memory, 0U, 10U, std::uint8_t{1}); };
  const Live before = live();
  layer().fail_call("clGetEventInfo", 1, CL_OUT_OF_RESOURCES);
  std::size_t accepted = 0;
  SlotResult result = fill();
  for (; result.status == VECTIS_OK && accepted < 1000; ++accepted) result = fill();
  EXPECT_EQ(result.status, VECTIS_DRIVER_FAILURE) << result;
  EXPECT_LT(accepted, 100U);
  EXPECT_EQ(live()[VECTIS_LAYER_EVENTS], before[VECTIS_LAYER_EVENTS] + static_cast<std::int64_t>(accepted));
  EXPECT_TRUE(succeeded(fill()));
  EXPECT_TRUE(succeeded(rig.synchronize()));
  EXPECT_EQ(live(), before);
  layer().reset();
}

// --- Flushes -----------------------------------------------------------------------------------------------------

std::uint32_t calls_of(const std::string& name) {
  for (std::uint32_t function = 0; function < layer().function_count(); ++function) {
    if (layer().function_name(function) == name) return layer().calls(function);
  }
  ADD_FAILURE() << "the layer does not wrap " << name;
  return 0;
}

SlotResult fill_some(const Rig& rig) {
  return call_slot(plugin().fill, rig.stream, rig.memory, 0U, 10U, std::uint8_t{1});
}

TEST(OpenclFlush, CommandsAreFlushedInBatches) {
  constexpr std::uint32_t interval = 16;
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  layer().reset();
  EXPECT_TRUE(succeeded(fill_some(rig)));
  EXPECT_EQ(calls_of("clFlush"), 1U) << "an idle device starts at once";
  for (std::uint32_t command = 0; command < 5 * interval + 3; ++command) EXPECT_TRUE(succeeded(fill_some(rig)));
  EXPECT_EQ(calls_of("clFlush"), 1U + 5U);
  EXPECT_TRUE(succeeded(rig.synchronize()));
  EXPECT_EQ(calls_of("clFlush"), 1U + 5U) << "clFinish flushes";
  for (std::uint32_t command = 0; command < interval; ++command) EXPECT_TRUE(succeeded(fill_some(rig)));
  EXPECT_EQ(calls_of("clFlush"), 1U + 5U + 1U);
  EXPECT_TRUE(succeeded(rig.synchronize()));
}

// The host, another queue or another thread waits for these: a command that is not flushed may never start.
TEST(OpenclFlush, WhatMayBeWaitedForIsFlushedAtOnce) {
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  rig.need_event();
  EXPECT_TRUE(succeeded(fill_some(rig)));
  layer().reset();
  EXPECT_TRUE(succeeded(fill_some(rig)));
  EXPECT_EQ(calls_of("clFlush"), 0U);
  EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  EXPECT_EQ(calls_of("clFlush"), 1U);
  EXPECT_TRUE(succeeded(fill_some(rig)));
  std::array<std::uint8_t, 10> target{};
  EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_host, rig.stream, target.data(), rig.memory, 0U, 10U)));
  EXPECT_EQ(calls_of("clFlush"), 2U);
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_wait_event, rig.other_stream, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_synchronize, rig.other_stream)));
  EXPECT_TRUE(succeeded(rig.synchronize()));
  layer().reset();
}

// --- Memory of GPUs ------------------------------------------------------------------------------------------------

constexpr std::uint64_t large_bytes = std::uint64_t{64} << 20U;

cl_int CL_API_CALL describe_as_gpu(cl_device_id device, cl_device_info parameter, std::size_t room, void* value,
                                   std::size_t* needed) {
  static const auto real = reinterpret_cast<decltype(&describe_as_gpu)>(
      dlsym(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), "clGetDeviceInfo"));
  const cl_int code = real(device, parameter, room, value, needed);
  if (code != CL_SUCCESS || parameter != CL_DEVICE_TYPE || value == nullptr) return code;
  const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  std::memcpy(value, &gpu, sizeof gpu);
  return code;
}

void need_gpu_context(Rig& rig) {
  rig.host.replaced["clGetDeviceInfo"] = reinterpret_cast<void*>(&describe_as_gpu);
  rig.need_context();
}

// Allocates, and expects the failure of the driver to be an allocation failure that holds nothing.
void expect_failed_commit(Rig& rig, std::int32_t code) {
  const Live before = live();
  VectisMemory* memory = nullptr;
  const SlotResult result = call_slot(plugin().memory_allocate, rig.context, large_bytes, &memory);
  EXPECT_EQ(layer().struck(), 1);
  EXPECT_EQ(result.status, VECTIS_ALLOCATION) << result;
  EXPECT_THAT(result.text, HasSubstr(std::to_string(large_bytes) + " bytes"));
  EXPECT_THAT(result.text, HasSubstr(std::to_string(code)));
  EXPECT_EQ(memory, nullptr);
  layer().reset();
  EXPECT_EQ(live(), before);
}

TEST(OpenclCommit, LargeMemoryOfAGpuIsAllocatedAtOnceOrFails) {
  Rig rig;
  need_gpu_context(rig);
  for (const cl_int code : {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY}) {
    for (const char* function : {"clCreateCommandQueue", "clEnqueueFillBuffer", "clFinish", "clGetEventInfo"}) {
      SCOPED_TRACE(std::string(function) + " returns " + std::to_string(code));
      layer().fail_call(function, 1, code);
      expect_failed_commit(rig, code);
    }
    SCOPED_TRACE("the command ends with " + std::to_string(code));
    layer().fail_command("clEnqueueFillBuffer", 1, code);
    expect_failed_commit(rig, code);
  }
  const Live before = live();
  const auto memory = allocate(rig, large_bytes);
  EXPECT_EQ(live()[VECTIS_LAYER_MEMORIES], before[VECTIS_LAYER_MEMORIES] + 1);
  EXPECT_EQ(live()[VECTIS_LAYER_QUEUES], before[VECTIS_LAYER_QUEUES]);
}

TEST(OpenclCommit, SmallMemoryAndMemoryOfACpuAreNotTouched) {
  Rig gpu;
  need_gpu_context(gpu);
  Rig cpu;
  cpu.need_context();
  layer().reset();
  const auto small = allocate(gpu, large_bytes - 4);
  const auto of_cpu = allocate(cpu, large_bytes);
  EXPECT_EQ(calls_of("clEnqueueFillBuffer"), 0U);
  const auto large = allocate(gpu, large_bytes);
  EXPECT_EQ(calls_of("clEnqueueFillBuffer"), 1U);
}

}  // namespace
}  // namespace vectis::test
