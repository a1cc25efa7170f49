// The slots of a plug-in as C++ functions, and the table that is made of them.
//
// Each function below is the slot of the same name in vectis/device/backend.h and keeps its contract, with two
// differences: it has no `message`, and it reports a failure by throwing Failure. A plug-in defines every required
// function, and the optional ones that it names when it makes its table. Its definitions need no try block: Slot is the
// one place where exceptions end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::plugin {

// The plug-in's name in a sentence, for messages: "the OpenCL backend". Each plug-in defines it.
extern const char* const backend_title;

// --- Required functions ---

// Finds driver and devices and creates *state. Returns a note for the doctor, or an empty text. `host` stays valid
// until close(). Throws Failure with VECTIS_BACKEND_CREATION and the reason for the doctor when there is no usable
// driver or device, VECTIS_INVALID_INPUT when a setting is invalid.
std::string open(const VectisHost* host, VectisBackendState** state);
// Destroys the state that open() created. The host has destroyed every context before. Cannot fail.
void close(VectisBackendState* state) noexcept;
// Sets *count to the number of devices, which is constant while the backend is open. `state` is that of open(). A
// plug-in that cannot count its devices throws Failure.
void device_count(VectisBackendState* state, std::uint32_t* count);
// Fills the fields of *info that lie within info->size, which the host has set. Throws Failure: VECTIS_INVALID_INPUT
// when `index` is out of range, VECTIS_DRIVER_FAILURE when a query of the driver fails.
void device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info);
// Creates a context on device `index` of the list. Throws Failure: VECTIS_BACKEND_CREATION when the driver cannot
// create it, VECTIS_INVALID_INPUT when `index` is out of range.
void context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context);
// Destroys a context. The host has destroyed its memories, streams, events and programs before. Cannot fail.
void context_destroy(VectisContext* context) noexcept;
// Allocates uninitialized device memory, rounded up to whole 32-bit words. `bytes` is from 1 to the device's
// allocation_bytes_max. Throws Failure with VECTIS_ALLOCATION when the device has not enough memory.
void memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory);
// Frees a memory or a slice of `context`. Enqueued work may still use the memory: waits for that work or defers the
// free. Slices are freed before their memory. Cannot fail.
void memory_free(VectisContext* context, VectisMemory* memory) noexcept;
// Creates a stream, an in-order queue of work, in `context`, which must outlive it. Throws Failure: VECTIS_ALLOCATION
// when memory is exhausted, VECTIS_DRIVER_FAILURE when the driver cannot create it.
void stream_create(VectisContext* context, VectisStream** stream);
// Destroys a stream: waits for enqueued work, or lets it finish in the background. No other thread may use the
// stream. Cannot fail: failures of the work are dropped.
void stream_destroy(VectisStream* stream) noexcept;
// Returns when all work enqueued before on the stream has finished. One thread at a time uses a stream. Throws
// Failure when that work failed: VECTIS_DEVICE_LOST when the device is lost, otherwise the status of the driver's
// code.
void stream_synchronize(VectisStream* stream);
// Enqueues a copy of host memory to `offset` of `target`. `bytes` is at least 1, and the range lies inside `target`;
// `source` stays valid until the copy has finished. Throws Failure when the copy cannot be enqueued:
// VECTIS_DEVICE_LOST when the device is lost, otherwise mostly VECTIS_DRIVER_FAILURE.
void copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                    std::uint64_t bytes);
// Enqueues a copy from `offset` of `source` to host memory. `bytes` is at least 1, and the range lies inside
// `source`; `target` stays valid until the copy has finished. Throws Failure when the copy cannot be enqueued:
// VECTIS_DEVICE_LOST when the device is lost, otherwise mostly VECTIS_DRIVER_FAILURE.
void copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset, std::uint64_t bytes);
// Enqueues a copy between two memories of the stream's context. The ranges lie inside the memories and must not
// overlap. Throws Failure when the copy cannot be enqueued: VECTIS_DEVICE_LOST when the device is lost, otherwise
// mostly VECTIS_DRIVER_FAILURE.
void copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset, VectisMemory* source,
                    std::uint64_t source_offset, std::uint64_t bytes);
// Creates an event in `context`, which must outlive it. It counts as completed until it is recorded. Throws Failure:
// VECTIS_ALLOCATION when memory is exhausted, VECTIS_DRIVER_FAILURE when the driver cannot create it.
void event_create(VectisContext* context, VectisEvent** event);
// Destroys an event, whether or not it has completed. No other thread may use the event. Cannot fail.
void event_destroy(VectisEvent* event) noexcept;
// Records the event behind all work enqueued on the stream; a later record moves it. Both belong to one context.
// Throws Failure when it cannot be recorded: VECTIS_DEVICE_LOST when the device is lost, otherwise the status of the
// driver's code.
void event_record(VectisEvent* event, VectisStream* stream);
// Returns VECTIS_OK when the event has completed or was never recorded, VECTIS_NOT_READY when it has not completed.
// Does not wait. Throws Failure when work before the event failed: VECTIS_DEVICE_LOST when the device is lost,
// otherwise the status of the driver's code.
VectisStatus event_query(VectisEvent* event);
// Returns when the event has completed, at once when it was never recorded. Throws Failure when work before the event
// failed: VECTIS_DEVICE_LOST when the device is lost, otherwise the status of the driver's code.
void event_synchronize(VectisEvent* event);
// Delays work that is enqueued later on the stream until the event has completed; an event that was never recorded
// delays nothing. Both belong to one context. Does not wait itself. Throws Failure when the wait cannot be enqueued:
// VECTIS_DEVICE_LOST when the device is lost, otherwise the status of the driver's code.
void stream_wait_event(VectisStream* stream, VectisEvent* event);

// --- Optional functions ---

// Changes the setting `key` of the open backend to `value`. Throws Failure with VECTIS_INVALID_INPUT when the key is
// unknown or the value is invalid.
void configure(VectisBackendState* state, const char* key, const char* value);
// Sets total and free bytes of device `index` by a query of the driver. Throws Failure: VECTIS_UNSUPPORTED when they
// are not known, VECTIS_INVALID_INPUT when `index` is out of range.
void device_memory(VectisBackendState* state, std::uint32_t index, VectisMemoryInfo* info);
// Sets *share to the fraction of recent time in which the device was busy, 0 to 1. Throws Failure: VECTIS_UNSUPPORTED
// when it is not known, VECTIS_INVALID_INPUT when `index` is out of range.
void device_utilization(VectisBackendState* state, std::uint32_t index, double* share);
// Sets *address to where the host can address the device memory, valid until memory_free(). Throws Failure with
// VECTIS_UNSUPPORTED when the host cannot address it.
void memory_address(VectisMemory* memory, void** address);
// Creates a handle for `bytes` bytes of a memory that is not a slice itself and outlives the slice. `offset` is a
// multiple of the device's memory_alignment, and the range lies inside the memory. Throws Failure with
// VECTIS_ALLOCATION when memory is exhausted, otherwise with the status of the driver's code.
void memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t bytes, VectisMemory** slice);
// Enqueues setting `bytes` bytes from `offset` of `target` to `value`. The range lies inside `target`. Throws Failure
// when the fill cannot be enqueued: VECTIS_DEVICE_LOST when the device is lost, otherwise mostly
// VECTIS_DRIVER_FAILURE.
void fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value);
// Sets *nanoseconds to the time at which a completed event completed, on the device's own clock. The event must be
// recorded. Throws Failure: VECTIS_NOT_READY when it has not completed, VECTIS_INVALID_INPUT when it was never
// recorded (the CPU then returns 0).
void event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds);
// Compiles `bytes` bytes of source in `dialect`, or loads the result of program_binary when `dialect` is "binary".
// Returns the compiler's warnings, or an empty text. `options` is not null. Throws Failure: VECTIS_COMPILE_FAILED
// with the compiler's output, VECTIS_UNSUPPORTED for a dialect that the device does not take.
std::string program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                           const char* options, VectisProgram** program);
// Destroys a program. The host has destroyed its kernels before. Cannot fail.
void program_destroy(VectisProgram* program) noexcept;
// Finds the kernel `name` in a program and creates a handle for it. Throws Failure with VECTIS_INVALID_INPUT when the
// program has no kernel of this name.
void kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel);
// Destroys a kernel's handle. Enqueued launches of the kernel still finish. Cannot fail.
void kernel_destroy(VectisKernel* kernel) noexcept;
// Enqueues one launch of a kernel. The host has checked that grid and block are at least 1 in each dimension and
// within the device's limits. Throws Failure with VECTIS_INVALID_INPUT when the arguments do not fit the kernel.
void launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch);
// Writes the program's binary to `target`, whose capacity is *bytes, and sets *bytes to its size; with `target` null
// only sets *bytes. Throws Failure: VECTIS_INVALID_INPUT when the capacity is too small, VECTIS_UNSUPPORTED when the
// program has no binary.
void program_binary(VectisProgram* program, void* target, std::size_t* bytes);
// Enqueues a whole named operation (docs/operations.md), whose views and numbers the host has checked. Returns or
// throws VECTIS_UNSUPPORTED, with nothing enqueued, when the portable kernel should compute it; throws Failure when
// the operation fails otherwise.
VectisStatus run_op(VectisStream* stream, const VectisOpCall* call);
// Enqueues a copy from another context of this backend, to which `source_stream` and `source` belong. The copy is
// ordered after earlier work, and before later work, on both streams. Throws Failure with VECTIS_UNSUPPORTED when the
// devices have no direct connection.
void copy_from_peer(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                    VectisStream* source_stream, VectisMemory* source, std::uint64_t source_offset,
                    std::uint64_t bytes);
// Allocates pinned (page-locked) host memory, aligned to at least 16 bytes, for copies of this backend's contexts.
// Throws Failure with VECTIS_ALLOCATION when there is no more.
void host_allocate(VectisContext* context, std::uint64_t bytes, void** address);
// Frees pinned memory of host_allocate(). Waits for work enqueued in `context` that may use it; the host has waited
// for other contexts. Cannot fail.
void host_free(VectisContext* context, void* address) noexcept;

// Wraps one function of this file as a C slot; the specializations for function pointers define it.
template <auto function, class Type = decltype(function)>
struct Slot;

// Slot<function>::call is the C slot of `function`, with a `message` that must not be null. It returns the function's
// status, or VECTIS_OK when there is none; a returned string becomes the message. It catches exceptions: a Failure
// gives its own status and message, std::bad_alloc VECTIS_ALLOCATION, any other VECTIS_DRIVER_FAILURE.
template <auto function, class Result, class... Arguments>
struct Slot<function, Result (*)(Arguments...)> {
  static VectisStatus call(Arguments... arguments, VectisMessage* message) noexcept {
    try {
      if constexpr (std::is_same_v<Result, VectisStatus>) {
        return function(arguments...);
      } else if constexpr (std::is_same_v<Result, std::string>) {
        return write_message(message, VECTIS_OK, function(arguments...).c_str(), VECTIS_REASON_NONE);
      } else {
        function(arguments...);
        return VECTIS_OK;
      }
    } catch (...) {
      return report_current_exception(backend_title, message);
    }
  }
};

// The slot of a function that cannot fail, such as a destroy: the function itself.
template <auto function, class... Arguments>
struct Slot<function, void (*)(Arguments...) noexcept> {
  static constexpr auto call = function;
};

// The slot `open`: calls open() and returns its status. A failure without a reason becomes VECTIS_BACKEND_CREATION
// with VECTIS_REASON_OTHER, because the doctor needs a reason. Does not throw. Precondition: `message` is not null.
inline VectisStatus open_slot(const VectisHost* host, VectisBackendState** state, VectisMessage* message) noexcept {
  const VectisStatus status = Slot<open>::call(host, state, message);
  if (status == VECTIS_OK || message->reason != VECTIS_REASON_NONE) return status;
  message->reason = VECTIS_REASON_OTHER;
  return VECTIS_BACKEND_CREATION;
}

// How a backend describes itself: the fields of the same name in VectisBackend. The texts must be static.
struct BackendIdentity {
  const char* name;
  const char* requirement;
  const char* install;
  const char* version = "0.1.0";
};

// Returns a table that describes the backend and has no slots yet. Does not throw.
constexpr VectisBackend make_empty_table(const BackendIdentity& identity) {
  VectisBackend table{};
  table.size = sizeof(VectisBackend);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = identity.name;
  table.version = identity.version;
  table.requirement = identity.requirement;
  table.install = identity.install;
  return table;
}

// Is true when `function` is one of the functions `offered`. All must be functions of this file.
template <auto function, auto... offered>
inline constexpr bool is_offered = (std::is_same_v<Slot<function>, Slot<offered>> || ...);

// Returns the table of a backend: every required slot, and the optional ones that `offered` names. `program_create`
// also adds the other four slots of programs and kernels, `host_allocate` also host_free. Does not throw. A function
// that is offered and not defined is a link error.
template <auto... offered>
constexpr VectisBackend make_table(const BackendIdentity& identity) {
  VectisBackend table = make_empty_table(identity);
  table.open = open_slot;
#define VECTIS_SLOT(slot) table.slot = Slot<slot>::call
#define VECTIS_OPTIONAL_SLOT(slot) \
  if constexpr (is_offered<slot, offered...>) VECTIS_SLOT(slot)
  VECTIS_SLOT(close);
  VECTIS_OPTIONAL_SLOT(configure);
  VECTIS_SLOT(device_count);
  VECTIS_SLOT(device_info);
  VECTIS_OPTIONAL_SLOT(device_memory);
  VECTIS_OPTIONAL_SLOT(device_utilization);
  VECTIS_SLOT(context_create);
  VECTIS_SLOT(context_destroy);
  VECTIS_SLOT(memory_allocate);
  VECTIS_SLOT(memory_free);
  VECTIS_OPTIONAL_SLOT(memory_slice);
  VECTIS_OPTIONAL_SLOT(memory_address);
  VECTIS_SLOT(stream_create);
  VECTIS_SLOT(stream_destroy);
  VECTIS_SLOT(stream_synchronize);
  VECTIS_SLOT(copy_to_device);
  VECTIS_SLOT(copy_to_host);
  VECTIS_SLOT(copy_on_device);
  VECTIS_OPTIONAL_SLOT(fill);
  VECTIS_SLOT(event_create);
  VECTIS_SLOT(event_destroy);
  VECTIS_SLOT(event_record);
  VECTIS_SLOT(event_query);
  VECTIS_SLOT(event_synchronize);
  VECTIS_SLOT(stream_wait_event);
  VECTIS_OPTIONAL_SLOT(event_timestamp);
  if constexpr (is_offered<program_create, offered...>) {
    VECTIS_SLOT(program_create);
    VECTIS_SLOT(program_destroy);
    VECTIS_SLOT(kernel_create);
    VECTIS_SLOT(kernel_destroy);
    VECTIS_SLOT(launch);
  }
  VECTIS_OPTIONAL_SLOT(program_binary);
  VECTIS_OPTIONAL_SLOT(run_op);
  VECTIS_OPTIONAL_SLOT(copy_from_peer);
  if constexpr (is_offered<host_allocate, offered...>) {
    VECTIS_SLOT(host_allocate);
    VECTIS_SLOT(host_free);
  }
#undef VECTIS_OPTIONAL_SLOT
#undef VECTIS_SLOT
  return table;
}

}  // namespace vectis::plugin
