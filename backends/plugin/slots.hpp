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

// The backend in a sentence: "the OpenCL backend".
extern const char* const backend_title;

// Required. `open` returns a note for the doctor, or nothing.
std::string open(const VectisHost* host, VectisBackendState** state);
void close(VectisBackendState* state) noexcept;
void device_count(VectisBackendState* state, std::uint32_t* count);
void device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info);
void context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context);
void context_destroy(VectisContext* context) noexcept;
void memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory);
void memory_free(VectisContext* context, VectisMemory* memory) noexcept;
void stream_create(VectisContext* context, VectisStream** stream);
void stream_destroy(VectisStream* stream) noexcept;
void stream_synchronize(VectisStream* stream);
void copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                    std::uint64_t bytes);
void copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset, std::uint64_t bytes);
void copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset, VectisMemory* source,
                    std::uint64_t source_offset, std::uint64_t bytes);
void event_create(VectisContext* context, VectisEvent** event);
void event_destroy(VectisEvent* event) noexcept;
void event_record(VectisEvent* event, VectisStream* stream);
VectisStatus event_query(VectisEvent* event);
void event_synchronize(VectisEvent* event);
void stream_wait_event(VectisStream* stream, VectisEvent* event);

// Optional. `program_create` returns the compiler's warnings, or nothing.
void configure(VectisBackendState* state, const char* key, const char* value);
void device_memory(VectisBackendState* state, std::uint32_t index, VectisMemoryInfo* info);
void device_utilization(VectisBackendState* state, std::uint32_t index, double* share);
void memory_address(VectisMemory* memory, void** address);
void memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t bytes, VectisMemory** slice);
void fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value);
void event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds);
std::string program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                           const char* options, VectisProgram** program);
void program_destroy(VectisProgram* program) noexcept;
void kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel);
void kernel_destroy(VectisKernel* kernel) noexcept;
void launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch);
void program_binary(VectisProgram* program, void* target, std::size_t* bytes);
VectisStatus run_op(VectisStream* stream, const VectisOpCall* call);
void copy_from_peer(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                    VectisStream* source_stream, VectisMemory* source, std::uint64_t source_offset,
                    std::uint64_t bytes);
void host_allocate(VectisContext* context, std::uint64_t bytes, void** address);
void host_free(VectisContext* context, void* address) noexcept;

// Slot<function>::call is the C slot of a function above. It catches everything the function throws and writes it into
// the message. A function that returns nothing succeeded; a returned string is the message of a success.
template <auto function>
struct Slot;

template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Slot<function> {
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

// A failure of `open` always has a reason; one without is BACKEND_CREATION for another reason.
inline VectisStatus open_slot(const VectisHost* host, VectisBackendState** state, VectisMessage* message) noexcept {
  const VectisStatus status = Slot<open>::call(host, state, message);
  if (status == VECTIS_OK || message->reason != VECTIS_REASON_NONE) return status;
  message->reason = VECTIS_REASON_OTHER;
  return VECTIS_BACKEND_CREATION;
}

// What a table says about its backend; the fields of the same name in VectisBackend.
struct BackendIdentity {
  const char* name;
  const char* requirement;
  const char* install;
  const char* version = "0.1.0";
};

// Whether `function` is one of `offered`.
template <auto function, auto... offered>
inline constexpr bool is_offered = (std::is_same_v<Slot<function>, Slot<offered>> || ...);

// The table of a backend: every required slot, and the optional ones that `offered` names. `program_create` stands for
// its group of five, `host_allocate` for host_free too.
template <auto... offered>
constexpr VectisBackend make_table(const BackendIdentity& identity) {
  VectisBackend table{};
  table.size = sizeof(VectisBackend);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = identity.name;
  table.version = identity.version;
  table.requirement = identity.requirement;
  table.install = identity.install;
  table.open = open_slot;
  table.close = close;
  if constexpr (is_offered<configure, offered...>) table.configure = Slot<configure>::call;
  table.device_count = Slot<device_count>::call;
  table.device_info = Slot<device_info>::call;
  if constexpr (is_offered<device_memory, offered...>) table.device_memory = Slot<device_memory>::call;
  if constexpr (is_offered<device_utilization, offered...>) table.device_utilization = Slot<device_utilization>::call;
  table.context_create = Slot<context_create>::call;
  table.context_destroy = context_destroy;
  table.memory_allocate = Slot<memory_allocate>::call;
  table.memory_free = memory_free;
  if constexpr (is_offered<memory_slice, offered...>) table.memory_slice = Slot<memory_slice>::call;
  if constexpr (is_offered<memory_address, offered...>) table.memory_address = Slot<memory_address>::call;
  table.stream_create = Slot<stream_create>::call;
  table.stream_destroy = stream_destroy;
  table.stream_synchronize = Slot<stream_synchronize>::call;
  table.copy_to_device = Slot<copy_to_device>::call;
  table.copy_to_host = Slot<copy_to_host>::call;
  table.copy_on_device = Slot<copy_on_device>::call;
  if constexpr (is_offered<fill, offered...>) table.fill = Slot<fill>::call;
  table.event_create = Slot<event_create>::call;
  table.event_destroy = event_destroy;
  table.event_record = Slot<event_record>::call;
  table.event_query = Slot<event_query>::call;
  table.event_synchronize = Slot<event_synchronize>::call;
  table.stream_wait_event = Slot<stream_wait_event>::call;
  if constexpr (is_offered<event_timestamp, offered...>) table.event_timestamp = Slot<event_timestamp>::call;
  if constexpr (is_offered<program_create, offered...>) {
    table.program_create = Slot<program_create>::call;
    table.program_destroy = program_destroy;
    table.kernel_create = Slot<kernel_create>::call;
    table.kernel_destroy = kernel_destroy;
    table.launch = Slot<launch>::call;
  }
  if constexpr (is_offered<program_binary, offered...>) table.program_binary = Slot<program_binary>::call;
  if constexpr (is_offered<run_op, offered...>) table.run_op = Slot<run_op>::call;
  if constexpr (is_offered<copy_from_peer, offered...>) table.copy_from_peer = Slot<copy_from_peer>::call;
  if constexpr (is_offered<host_allocate, offered...>) {
    table.host_allocate = Slot<host_allocate>::call;
    table.host_free = host_free;
  }
  return table;
}

}  // namespace vectis::plugin
