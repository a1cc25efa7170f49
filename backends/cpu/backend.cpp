// The CPU as a device. It is the host, so its memory is host memory and its streams do their work at once, in the
// thread that gives it: order is kept by being immediate, and an event has passed as soon as it is recorded.

#include "vectis/device/backend.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "backends/cpu/dispatch.hpp"
#include "backends/cpu/handles.hpp"
#include "backends/cpu/operation.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/time.hpp"

namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector

template <std::size_t N>
void put(char (&field)[N], const std::string& text) {
  std::snprintf(field, N, "%s", text.c_str());
}

VectisStatus no_memory(const char* what, std::uint64_t bytes, VectisMessage* message) {
  std::snprintf(message->text, message->capacity, "the system gave no %llu bytes for %s",
                static_cast<unsigned long long>(bytes), what);
  return VECTIS_ALLOCATION;
}

// A handle on the heap; the contract lets no exception out.
template <class Handle, class... Arguments>
VectisStatus make(Handle** handle, const char* what, VectisMessage* message, Arguments... arguments) {
  auto* made = new (std::nothrow) Handle{arguments...};
  if (made == nullptr) return no_memory(what, sizeof(Handle), message);
  *handle = made;
  return VECTIS_OK;
}

VectisStatus open(const VectisHost* host, VectisBackendState** state, VectisMessage* message) {
  return make(state, "the backend", message, host);
}
void close(VectisBackendState* state) { delete state; }

VectisStatus device_count(VectisBackendState* /*state*/, std::uint32_t* count, VectisMessage* /*message*/) {
  *count = 1;
  return VECTIS_OK;
}

std::uint64_t capabilities(const vectis::CpuInfo& cpu) {
  std::uint64_t bits = VECTIS_CAN_FP64 | VECTIS_CAN_UNIFIED_MEMORY | VECTIS_CAN_TIMESTAMPS;
  if (cpu.avx512_fp16) bits |= VECTIS_CAN_FP16;
  if (cpu.avx512_bf16 || cpu.amx_bf16) bits |= VECTIS_CAN_BF16;
  if (cpu.avx512_vnni || cpu.amx_int8) bits |= VECTIS_CAN_INT8_DOT;
  if (cpu.amx_int8 || cpu.amx_bf16) bits |= VECTIS_CAN_MATRIX;
  return bits;
}

// "built in, AVX3_DL, AMX", or why there is no AMX.
std::string driver(const vectis::CpuInfo& cpu) {
  std::string text = std::string("built in, ") + vectis::cpu::dispatch_target();
  if (cpu.amx_int8 || cpu.amx_bf16) return text + ", AMX";
  if (!cpu.amx_reason.empty()) text += ", no AMX: " + cpu.amx_reason;
  return text;
}

VectisStatus device_info(VectisBackendState* /*state*/, std::uint32_t /*index*/, VectisDeviceInfo* info,
                         VectisMessage* /*message*/) {
  const vectis::CpuInfo& cpu = vectis::cpu_info();
  put(info->name, cpu.name);
  put(info->vendor, cpu.vendor);
  put(info->driver, driver(cpu));
  info->kind = VECTIS_DEVICE_CPU;
  info->parent = -1;
  info->compute_units = cpu.cores;
  info->memory_bytes = vectis::real_os().memory_total_bytes();
  info->allocation_bytes_max = info->memory_bytes;
  info->memory_alignment = alignment;
  info->group_items_max = 1;
  std::fill_n(info->group_size_max, 3, 1U);
  info->capabilities = capabilities(cpu);
  return VECTIS_OK;
}

VectisStatus device_memory(VectisBackendState* /*state*/, std::uint32_t /*index*/, VectisMemoryInfo* info,
                           VectisMessage* /*message*/) {
  info->total_bytes = vectis::real_os().memory_total_bytes();
  info->free_bytes = vectis::real_os().memory_free_bytes();
  return VECTIS_OK;
}

VectisStatus device_utilization(VectisBackendState* /*state*/, std::uint32_t /*index*/, double* share,
                                VectisMessage* /*message*/) {
  const auto busy = vectis::real_os().cpu_utilization();
  if (!busy) return VECTIS_UNSUPPORTED;
  *share = *busy;
  return VECTIS_OK;
}

VectisStatus context_create(VectisBackendState* state, std::uint32_t /*index*/, VectisContext** context,
                            VectisMessage* message) {
  return make(context, "a context", message, state);
}
void context_destroy(VectisContext* context) { delete context; }

VectisStatus memory_allocate(VectisContext* /*context*/, std::uint64_t bytes, VectisMemory** memory,
                             VectisMessage* message) {
  auto* data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}, std::nothrow));
  if (data == nullptr) return no_memory("device memory", bytes, message);
  const VectisStatus status = make(memory, "a memory handle", message, data, false);
  if (status != VECTIS_OK) ::operator delete(data, std::align_val_t{alignment});
  return status;
}
void memory_free(VectisContext* /*context*/, VectisMemory* memory) {
  if (!memory->is_slice) ::operator delete(memory->bytes, std::align_val_t{alignment});
  delete memory;
}
VectisStatus memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t /*bytes*/, VectisMemory** slice,
                          VectisMessage* message) {
  return make(slice, "a memory handle", message, memory->bytes + offset, true);
}
VectisStatus memory_address(VectisMemory* memory, void** address, VectisMessage* /*message*/) {
  *address = memory->bytes;
  return VECTIS_OK;
}

VectisStatus stream_create(VectisContext* context, VectisStream** stream, VectisMessage* message) {
  return make(stream, "a stream", message, context->state);
}
void stream_destroy(VectisStream* stream) { delete stream; }
VectisStatus stream_synchronize(VectisStream* /*stream*/, VectisMessage* /*message*/) { return VECTIS_OK; }

VectisStatus copy_to_device(VectisStream* /*stream*/, VectisMemory* target, std::uint64_t offset, const void* source,
                            std::uint64_t bytes, VectisMessage* /*message*/) {
  std::memcpy(target->bytes + offset, source, bytes);
  return VECTIS_OK;
}
VectisStatus copy_to_host(VectisStream* /*stream*/, void* target, VectisMemory* source, std::uint64_t offset,
                          std::uint64_t bytes, VectisMessage* /*message*/) {
  std::memcpy(target, source->bytes + offset, bytes);
  return VECTIS_OK;
}
VectisStatus copy_on_device(VectisStream* /*stream*/, VectisMemory* target, std::uint64_t target_offset,
                            VectisMemory* source, std::uint64_t source_offset, std::uint64_t bytes,
                            VectisMessage* /*message*/) {
  std::memcpy(target->bytes + target_offset, source->bytes + source_offset, bytes);
  return VECTIS_OK;
}
VectisStatus fill(VectisStream* /*stream*/, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes,
                  std::uint8_t value, VectisMessage* /*message*/) {
  std::memset(target->bytes + offset, value, bytes);
  return VECTIS_OK;
}

VectisStatus event_create(VectisContext* /*context*/, VectisEvent** event, VectisMessage* message) {
  return make(event, "an event", message);
}
void event_destroy(VectisEvent* event) { delete event; }
VectisStatus event_record(VectisEvent* event, VectisStream* /*stream*/, VectisMessage* /*message*/) {
  event->nanoseconds.store(vectis::monotonic_nanoseconds(), std::memory_order_release);
  return VECTIS_OK;
}
VectisStatus event_done(VectisEvent* /*event*/, VectisMessage* /*message*/) { return VECTIS_OK; }
VectisStatus stream_wait_event(VectisStream* /*stream*/, VectisEvent* /*event*/, VectisMessage* /*message*/) {
  return VECTIS_OK;
}
VectisStatus event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds, VectisMessage* /*message*/) {
  *nanoseconds = event->nanoseconds.load(std::memory_order_acquire);
  return VECTIS_OK;
}

VectisStatus run_op(VectisStream* stream, const VectisOpCall* call, VectisMessage* message) {
  try {
    const vectis::cpu::Run run = vectis::cpu::find_operation(call->name);
    if (run == nullptr) return VECTIS_UNSUPPORTED;
    VectisBackendState& state = *stream->state;
    return run({{call->views, call->view_count}, {call->numbers, call->number_count}, state.threads, state.onednn});
  } catch (const std::bad_alloc&) {
    std::snprintf(message->text, message->capacity, "the system gave no memory for the workspace of %s", call->name);
    return VECTIS_ALLOCATION;
  } catch (const std::exception& error) {  // the host's threads refused
    std::snprintf(message->text, message->capacity, "%s", error.what());
    return VECTIS_DRIVER_FAILURE;
  }
}

constexpr VectisBackend make_table() {
  VectisBackend table{};
  table.size = sizeof(VectisBackend);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = "cpu";
  table.version = "";
  table.requirement = "";
  table.install = nullptr;
  table.open = open;
  table.close = close;
  table.device_count = device_count;
  table.device_info = device_info;
  table.device_memory = device_memory;
  table.device_utilization = device_utilization;
  table.context_create = context_create;
  table.context_destroy = context_destroy;
  table.memory_allocate = memory_allocate;
  table.memory_free = memory_free;
  table.memory_slice = memory_slice;
  table.memory_address = memory_address;
  table.stream_create = stream_create;
  table.stream_destroy = stream_destroy;
  table.stream_synchronize = stream_synchronize;
  table.copy_to_device = copy_to_device;
  table.copy_to_host = copy_to_host;
  table.copy_on_device = copy_on_device;
  table.fill = fill;
  table.event_create = event_create;
  table.event_destroy = event_destroy;
  table.event_record = event_record;
  table.event_query = event_done;
  table.event_synchronize = event_done;
  table.stream_wait_event = stream_wait_event;
  table.event_timestamp = event_timestamp;
  table.run_op = run_op;
  return table;
}

constexpr VectisBackend table = make_table();

}  // namespace

extern "C" const VectisBackend* vectis_cpu_backend_entry(void) { return &table; }
