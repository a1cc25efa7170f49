// The layer: a wrapper around each OpenCL function that matters, made from its slot in the loader's dispatch table.
#include <cstdlib>
#include <tuple>
#include <type_traits>

#include "control.hpp"
#include "entry.hpp"
#include "fault_layer.h"

namespace vectis::test {

namespace {

template <class Object>
constexpr std::int32_t kind_of() {
  if constexpr (std::is_same_v<Object, cl_device_id>) return VECTIS_LAYER_DEVICES;
  if constexpr (std::is_same_v<Object, cl_context>) return VECTIS_LAYER_CONTEXTS;
  if constexpr (std::is_same_v<Object, cl_command_queue>) return VECTIS_LAYER_QUEUES;
  if constexpr (std::is_same_v<Object, cl_mem>) return VECTIS_LAYER_MEMORIES;
  if constexpr (std::is_same_v<Object, cl_event>) return VECTIS_LAYER_EVENTS;
  if constexpr (std::is_same_v<Object, cl_program>) return VECTIS_LAYER_PROGRAMS;
  if constexpr (std::is_same_v<Object, cl_kernel>) return VECTIS_LAYER_KERNELS;
}

template <class... Arguments>
using Last = std::tuple_element_t<sizeof...(Arguments) - 1, std::tuple<Arguments...>>;

template <class... Arguments>
Last<Arguments...> last(Arguments... arguments) {
  return std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
}

// One wrapped function. `Slot` is its member in the dispatch table.
template <auto Slot>
struct Wrapped;

// Functions that return a code. Those whose last argument is a cl_event* start a command.
template <class... Arguments, cl_int (*cl_icd_dispatch::*Slot)(Arguments...)>
struct Wrapped<Slot> {
  static inline std::uint32_t number = 0;

  static cl_int call(Arguments... arguments) {
    const Verdict verdict = Control::get().enter(number);
    if (verdict.call_fails) return *verdict.call_fails;
    const cl_int code = (functions_below()->*Slot)(arguments...);
    if constexpr (std::is_same_v<Last<Arguments...>, cl_event*>) {
      if (cl_event* event = last(arguments...); code == CL_SUCCESS && event != nullptr) {
        Control::get().made(VECTIS_LAYER_EVENTS, *event);
        if (verdict.command_fails) Control::get().fail_event(*event, *verdict.command_fails);
      }
    }
    return code;
  }
};

// Functions that return an object and write the code through their last argument.
template <class Object, class... Arguments, Object (*cl_icd_dispatch::*Slot)(Arguments...)>
  requires std::is_pointer_v<Object>
struct Wrapped<Slot> {
  static inline std::uint32_t number = 0;

  static Object call(Arguments... arguments) {
    cl_int* code = last(arguments...);
    if (const Verdict verdict = Control::get().enter(number); verdict.call_fails) {
      if (code != nullptr) *code = *verdict.call_fails;
      return nullptr;
    }
    Object object = (functions_below()->*Slot)(arguments...);
    if (object != nullptr) Control::get().made(kind_of<Object>(), object);
    return object;
  }
};

// Functions that drop a reference. A failing one drops it too, so that the counts stay exact.
template <auto Slot>
struct Release;

template <class Object, cl_int (*cl_icd_dispatch::*Slot)(Object)>
struct Release<Slot> {
  static inline std::uint32_t number = 0;

  static cl_int call(Object object) {
    const Verdict verdict = Control::get().enter(number);
    Control::get().released(kind_of<Object>(), object);
    const cl_int code = (functions_below()->*Slot)(object);
    return verdict.call_fails.value_or(code);
  }
};

struct CreateSubDevices {
  static inline std::uint32_t number = 0;

  static cl_int call(cl_device_id device, const cl_device_partition_property* properties, cl_uint room,
                     cl_device_id* parts, cl_uint* count) {
    if (const Verdict verdict = Control::get().enter(number); verdict.call_fails) return *verdict.call_fails;
    cl_uint made = 0;
    const cl_int code = functions_below()->clCreateSubDevices(device, properties, room, parts, &made);
    if (code != CL_SUCCESS) return code;
    if (count != nullptr) *count = made;
    for (cl_uint part = 0; parts != nullptr && part < made; ++part)
      Control::get().made(VECTIS_LAYER_DEVICES, parts[part]);
    return code;
  }
};

struct GetEventInfo {
  static inline std::uint32_t number = 0;

  static cl_int call(cl_event event, cl_event_info question, size_t room, void* answer, size_t* needed) {
    if (const Verdict verdict = Control::get().enter(number); verdict.call_fails) return *verdict.call_fails;
    const cl_int code = functions_below()->clGetEventInfo(event, question, room, answer, needed);
    if (code != CL_SUCCESS || question != CL_EVENT_COMMAND_EXECUTION_STATUS || answer == nullptr) return code;
    auto& status = *static_cast<cl_int*>(answer);
    if (status == CL_COMPLETE) status = Control::get().failed_status(event).value_or(status);
    return code;
  }
};

struct WaitForEvents {
  static inline std::uint32_t number = 0;

  static cl_int call(cl_uint count, const cl_event* events) {
    if (const Verdict verdict = Control::get().enter(number); verdict.call_fails) return *verdict.call_fails;
    const cl_int code = functions_below()->clWaitForEvents(count, events);
    for (cl_uint event = 0; event < count; ++event) {
      if (Control::get().failed_status(events[event])) return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    return code;
  }
};

const char* other_version() { return std::getenv("VECTIS_OPENCL_LAYER_VERSION"); }

// Functions that answer a query about an object. `version` is the question whose answer the environment replaces.
template <auto Slot, cl_uint version>
struct GetInfo;

template <class Object, cl_uint version, cl_int (*cl_icd_dispatch::*Slot)(Object, cl_uint, size_t, void*, size_t*)>
struct GetInfo<Slot, version> {
  static inline std::uint32_t number = 0;

  static cl_int call(Object object, cl_uint question, size_t room, void* answer, size_t* needed) {
    if (const Verdict verdict = Control::get().enter(number); verdict.call_fails) return *verdict.call_fails;
    const char* replaced = other_version();
    if (question == version && replaced != nullptr) return answer_text(replaced, room, answer, needed);
    return (functions_below()->*Slot)(object, question, room, answer, needed);
  }
};

using GetPlatformInfo = GetInfo<&cl_icd_dispatch::clGetPlatformInfo, CL_PLATFORM_VERSION>;
using GetDeviceInfo = GetInfo<&cl_icd_dispatch::clGetDeviceInfo, CL_DEVICE_VERSION>;

template <class Wrapper, class Slot>
void wrap(cl_icd_dispatch& table, Slot cl_icd_dispatch::* slot, const char* name) {
  Wrapper::number = Control::get().add_function(name);
  table.*slot = Wrapper::call;
}

#define VECTIS_LAYER_WRAP(name) wrap<Wrapped<&cl_icd_dispatch::name>>(table, &cl_icd_dispatch::name, #name)
#define VECTIS_LAYER_RELEASE(name) wrap<Release<&cl_icd_dispatch::name>>(table, &cl_icd_dispatch::name, #name)
#define VECTIS_LAYER_SPECIAL(name) wrap<name>(table, &cl_icd_dispatch::cl##name, "cl" #name)

void wrap_objects(cl_icd_dispatch& table) {
  VECTIS_LAYER_WRAP(clGetPlatformIDs);
  VECTIS_LAYER_SPECIAL(GetPlatformInfo);
  VECTIS_LAYER_WRAP(clGetDeviceIDs);
  VECTIS_LAYER_SPECIAL(GetDeviceInfo);
  VECTIS_LAYER_SPECIAL(CreateSubDevices);
  VECTIS_LAYER_RELEASE(clReleaseDevice);
  VECTIS_LAYER_WRAP(clCreateContext);
  VECTIS_LAYER_WRAP(clGetContextInfo);
  VECTIS_LAYER_RELEASE(clReleaseContext);
  VECTIS_LAYER_WRAP(clCreateBuffer);
  VECTIS_LAYER_WRAP(clCreateSubBuffer);
  VECTIS_LAYER_RELEASE(clReleaseMemObject);
  VECTIS_LAYER_WRAP(clCreateProgramWithSource);
  VECTIS_LAYER_WRAP(clCreateProgramWithBinary);
  VECTIS_LAYER_WRAP(clBuildProgram);
  VECTIS_LAYER_WRAP(clGetProgramInfo);
  VECTIS_LAYER_WRAP(clGetProgramBuildInfo);
  VECTIS_LAYER_RELEASE(clReleaseProgram);
  VECTIS_LAYER_WRAP(clCreateKernel);
  VECTIS_LAYER_WRAP(clGetKernelInfo);
  VECTIS_LAYER_WRAP(clGetKernelWorkGroupInfo);
  VECTIS_LAYER_WRAP(clSetKernelArg);
  VECTIS_LAYER_RELEASE(clReleaseKernel);
}

void wrap_work(cl_icd_dispatch& table) {
  VECTIS_LAYER_WRAP(clCreateCommandQueue);
  VECTIS_LAYER_RELEASE(clReleaseCommandQueue);
  VECTIS_LAYER_WRAP(clFlush);
  VECTIS_LAYER_WRAP(clFinish);
  VECTIS_LAYER_WRAP(clEnqueueWriteBuffer);
  VECTIS_LAYER_WRAP(clEnqueueReadBuffer);
  VECTIS_LAYER_WRAP(clEnqueueCopyBuffer);
  VECTIS_LAYER_WRAP(clEnqueueFillBuffer);
  VECTIS_LAYER_WRAP(clEnqueueNDRangeKernel);
  VECTIS_LAYER_WRAP(clEnqueueMarkerWithWaitList);
  VECTIS_LAYER_WRAP(clEnqueueBarrierWithWaitList);
  VECTIS_LAYER_SPECIAL(WaitForEvents);
  VECTIS_LAYER_SPECIAL(GetEventInfo);
  VECTIS_LAYER_WRAP(clGetEventProfilingInfo);
  VECTIS_LAYER_RELEASE(clReleaseEvent);
}

const VectisFaultLayer steering{
    [] { Control::get().reset(); },
    [](const char* function, uint32_t nth, int32_t code) { Control::get().plan(function, nth, code, false); },
    [](const char* function, uint32_t nth, int32_t status) { Control::get().plan(function, nth, status, true); },
    [] { return Control::get().struck() ? 1 : 0; },
    [] { return Control::get().function_count(); },
    [](uint32_t function) { return Control::get().function_name(function); },
    [](uint32_t function) { return Control::get().calls(function); },
    [](int32_t kind) { return Control::get().live(kind); },
    [] { return Control::get().wrong_releases(); },
};

}  // namespace

const char* const layer_name = "Vectis fault injection";

void wrap_functions(cl_icd_dispatch& table) {
  wrap_objects(table);
  wrap_work(table);
}

}  // namespace vectis::test

extern "C" VECTIS_LAYER_EXPORT const VectisFaultLayer* vectis_fault_layer() { return &vectis::test::steering; }
