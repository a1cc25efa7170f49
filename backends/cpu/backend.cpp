// The CPU as a device. Its memory is host memory, and its streams execute work at once in the calling thread: order is
// immediate, and an event has passed as soon as it is recorded.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>

#include "backends/cpu/handles.hpp"
#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"
#include "backends/plugin/devices.hpp"
#include "backends/plugin/slots.hpp"
#include "backends/plugin/unique_handle.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/time.hpp"

namespace vectis::plugin {

const char* const backend_title = "the CPU backend";

namespace {

constexpr std::size_t alignment = 64;  // bytes: a cache line, and the widest vector

std::uint64_t capabilities(const CpuInfo& cpu) {
  std::uint64_t bits = VECTIS_CAN_FP64 | VECTIS_CAN_UNIFIED_MEMORY | VECTIS_CAN_TIMESTAMPS;
  if (cpu.avx512_fp16) bits |= VECTIS_CAN_FP16;
  if (cpu.avx512_bf16 || cpu.amx_bf16) bits |= VECTIS_CAN_BF16;
  if (cpu.avx512_vnni || cpu.amx_int8) bits |= VECTIS_CAN_INT8_DOT;
  if (cpu.amx_int8 || cpu.amx_bf16) bits |= VECTIS_CAN_MATRIX;
  if (cpu.amx_int8) bits |= VECTIS_CAN_INT8_MATRIX;
  return bits;
}

// "built in, AVX3_DL, AMX", or why AMX is not used.
std::string driver_text(const CpuInfo& cpu) {
  std::string text = std::string("built in, ") + cpu::dispatch_target();
  if (cpu.amx_int8 || cpu.amx_bf16) return text + ", AMX";
  if (!cpu.amx_reason.empty()) text += ", no AMX: " + cpu.amx_reason;
  return text;
}

Failure no_memory(const char* purpose, std::uint64_t bytes) {
  return {VECTIS_ALLOCATION, "the host is out of memory: " + std::to_string(bytes) + " bytes for " + purpose};
}

// A handle on the heap. Throws ALLOCATION.
template <class Handle, class... Arguments>
Handle* make_handle(const char* purpose, Arguments... arguments) {
  auto* made = new (std::nothrow) Handle{arguments...};
  if (made == nullptr) throw no_memory(purpose, sizeof(Handle));
  return made;
}

void free_bytes(std::byte* bytes) { ::operator delete(bytes, std::align_val_t{alignment}); }

}  // namespace

std::string open(const VectisHost* host, VectisBackendState** state) {
  *state = make_handle<VectisBackendState>("the backend", host);
  return {};
}
void close(VectisBackendState* state) noexcept { delete state; }

void device_count(VectisBackendState*, std::uint32_t* count) { *count = 1; }

void device_info(VectisBackendState*, std::uint32_t, VectisDeviceInfo* info) {
  const CpuInfo& cpu = cpu_info();
  copy_text(info->name, cpu.name);
  copy_text(info->vendor, cpu.vendor);
  copy_text(info->driver, driver_text(cpu));
  info->kind = VECTIS_DEVICE_CPU;
  info->parent = -1;
  info->compute_units = cpu.cores;
  info->memory_bytes = real_os().memory_total_bytes();
  info->allocation_bytes_max = info->memory_bytes;
  info->memory_alignment = alignment;
  info->group_items_max = 1;
  std::fill_n(info->group_size_max, 3, 1U);
  info->capabilities = capabilities(cpu);
}

void device_memory(VectisBackendState*, std::uint32_t, VectisMemoryInfo* info) {
  info->total_bytes = real_os().memory_total_bytes();
  info->free_bytes = real_os().memory_free_bytes();
}

void device_utilization(VectisBackendState*, std::uint32_t, double* share) {
  const auto busy = real_os().cpu_utilization();
  if (!busy) throw Failure(VECTIS_UNSUPPORTED, "the system does not report the utilization of its CPUs");
  *share = *busy;
}

void context_create(VectisBackendState* state, std::uint32_t, VectisContext** context) {
  *context = make_handle<VectisContext>("a context", state);
}
void context_destroy(VectisContext* context) noexcept { delete context; }

void memory_allocate(VectisContext*, std::uint64_t bytes, VectisMemory** memory) {
  UniqueHandle data(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}, std::nothrow)),
                    free_bytes);
  if (data.get() == nullptr) throw no_memory("device memory", bytes);
  *memory = make_handle<VectisMemory>("a memory handle", data.get(), false);
  data.release();
}
void memory_free(VectisContext*, VectisMemory* memory) noexcept {
  if (!memory->is_slice) free_bytes(memory->bytes);
  delete memory;
}
void memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t, VectisMemory** slice) {
  *slice = make_handle<VectisMemory>("a memory handle", memory->bytes + offset, true);
}
void memory_address(VectisMemory* memory, void** address) { *address = memory->bytes; }

void stream_create(VectisContext* context, VectisStream** stream) {
  *stream = make_handle<VectisStream>("a stream", context->state);
}
void stream_destroy(VectisStream* stream) noexcept { delete stream; }
void stream_synchronize(VectisStream*) {}

void copy_to_device(VectisStream*, VectisMemory* target, std::uint64_t offset, const void* source,
                    std::uint64_t bytes) {
  std::memcpy(target->bytes + offset, source, bytes);
}
void copy_to_host(VectisStream*, void* target, VectisMemory* source, std::uint64_t offset, std::uint64_t bytes) {
  std::memcpy(target, source->bytes + offset, bytes);
}
void copy_on_device(VectisStream*, VectisMemory* target, std::uint64_t target_offset, VectisMemory* source,
                    std::uint64_t source_offset, std::uint64_t bytes) {
  std::memcpy(target->bytes + target_offset, source->bytes + source_offset, bytes);
}
void fill(VectisStream*, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  std::memset(target->bytes + offset, value, bytes);
}

void event_create(VectisContext*, VectisEvent** event) { *event = make_handle<VectisEvent>("an event"); }
void event_destroy(VectisEvent* event) noexcept { delete event; }
void event_record(VectisEvent* event, VectisStream*) {
  event->nanoseconds.store(monotonic_nanoseconds(), std::memory_order_release);
}
VectisStatus event_query(VectisEvent*) { return VECTIS_OK; }
void event_synchronize(VectisEvent*) {}
void stream_wait_event(VectisStream*, VectisEvent*) {}
void event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds) {
  *nanoseconds = event->nanoseconds.load(std::memory_order_acquire);
}

VectisStatus run_op(VectisStream* stream, const VectisOpCall* call) {
  const cpu::Run run = cpu::find_operation(call->name);
  if (run == nullptr) return VECTIS_UNSUPPORTED;
  VectisBackendState& state = *stream->state;
  try {
    return run({{call->views, call->view_count}, {call->numbers, call->number_count}, state.threads, state.onednn});
  } catch (const std::bad_alloc&) {
    throw Failure(VECTIS_ALLOCATION, std::string("the host is out of memory for the workspace of ") + call->name);
  }
}

constexpr VectisBackend cpu_table =
    make_table<device_memory, device_utilization, memory_slice, memory_address, fill, event_timestamp, run_op>(
        {"cpu", "", nullptr, ""});

}  // namespace vectis::plugin

extern "C" const VectisBackend* vectis_cpu_backend_entry(void) { return &vectis::plugin::cpu_table; }
