// A test backend whose devices accept all work and compute nothing: it measures the host's overhead. Settings:
// `devices`, the number of devices (default 1); `memory_bytes`, the memory of each device (default 1 TiB).

#include "vectis/device/backend.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

struct VectisBackendState {
  std::uint32_t devices = 1;
  std::uint64_t memory_bytes = std::uint64_t{1} << 40;
};
struct VectisContext {};
struct VectisStream {};
struct VectisMemory {};
struct VectisProgram {};
struct VectisKernel {};
struct VectisEvent {
  std::atomic<std::uint64_t> order{0};
};

namespace {

template <class Handle>
VectisStatus make(Handle** handle, VectisMessage* message) {
  auto* made = new (std::nothrow) Handle{};
  if (made == nullptr) {
    std::snprintf(message->text, message->capacity, "the host is out of memory for a handle");
    return VECTIS_ALLOCATION;
  }
  *handle = made;
  return VECTIS_OK;
}

template <class Handle>
void destroy(Handle* handle) {
  delete handle;
}

// Reads a positive integer; leaves `value` unchanged when the setting is not set. False for anything else.
template <class T>
bool read_setting(const VectisHost* host, const char* key, T* value) {
  const char* text = host->setting(host->state, key);
  if (text == nullptr) return true;
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || number == 0) return false;
  *value = static_cast<T>(number);
  return true;
}

VectisStatus open(const VectisHost* host, VectisBackendState** state, VectisMessage* message) {
  VectisBackendState wanted;
  if (!read_setting(host, "devices", &wanted.devices) || !read_setting(host, "memory_bytes", &wanted.memory_bytes)) {
    message->reason = VECTIS_REASON_OTHER;
    std::snprintf(message->text, message->capacity,
                  "backends.null.devices and .memory_bytes must be positive integers");
    return VECTIS_BACKEND_CREATION;
  }
  const VectisStatus status = make(state, message);
  if (status == VECTIS_OK) **state = wanted;
  return status;
}

VectisStatus device_count(VectisBackendState* state, std::uint32_t* count, VectisMessage* /*message*/) {
  *count = state->devices;
  return VECTIS_OK;
}

VectisStatus device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info,
                         VectisMessage* /*message*/) {
  std::snprintf(info->name, sizeof(info->name), "null device %u", index);
  std::snprintf(info->vendor, sizeof(info->vendor), "Vectis");
  std::snprintf(info->driver, sizeof(info->driver), "computes nothing");
  std::snprintf(info->dialects, sizeof(info->dialects), "opencl-c,cuda-c++,hip-c++,spirv,wgsl");
  info->kind = VECTIS_DEVICE_GPU;
  info->software = 1;
  info->compute_units = 1;
  info->memory_bytes = state->memory_bytes;
  info->allocation_bytes_max = state->memory_bytes;
  info->memory_alignment = 256;
  info->shared_bytes_max = 65536;
  info->group_items_max = 1024;
  for (std::uint32_t& size : info->group_size_max) size = 1024;
  info->capabilities = VECTIS_CAN_FP16 | VECTIS_CAN_BF16 | VECTIS_CAN_INT8_DOT | VECTIS_CAN_TIMESTAMPS;
  return VECTIS_OK;
}

VectisStatus context_create(VectisBackendState* /*state*/, std::uint32_t /*index*/, VectisContext** context,
                            VectisMessage* message) {
  return make(context, message);
}

VectisStatus memory_allocate(VectisContext* /*context*/, std::uint64_t /*bytes*/, VectisMemory** memory,
                             VectisMessage* message) {
  return make(memory, message);
}
void memory_free(VectisContext* /*context*/, VectisMemory* memory) { delete memory; }
VectisStatus memory_slice(VectisMemory* /*memory*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/,
                          VectisMemory** slice, VectisMessage* message) {
  return make(slice, message);
}

VectisStatus stream_create(VectisContext* /*context*/, VectisStream** stream, VectisMessage* message) {
  return make(stream, message);
}
VectisStatus event_create(VectisContext* /*context*/, VectisEvent** event, VectisMessage* message) {
  return make(event, message);
}

// The device's clock counts recorded events.
std::atomic<std::uint64_t> events_recorded{0};

VectisStatus event_record(VectisEvent* event, VectisStream* /*stream*/, VectisMessage* /*message*/) {
  event->order = ++events_recorded;
  return VECTIS_OK;
}
VectisStatus event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds, VectisMessage* /*message*/) {
  *nanoseconds = event->order;
  return VECTIS_OK;
}

VectisStatus program_create(VectisContext* /*context*/, const char* /*dialect*/, const void* /*text*/,
                            std::size_t /*bytes*/, const char* /*options*/, VectisProgram** program,
                            VectisMessage* message) {
  return make(program, message);
}
VectisStatus kernel_create(VectisProgram* /*program*/, const char* /*name*/, VectisKernel** kernel,
                           VectisMessage* message) {
  return make(kernel, message);
}

// All slots that would do work.
template <class... Arguments>
VectisStatus nothing(Arguments... /*arguments*/) {
  return VECTIS_OK;
}

constexpr VectisBackend make_table() {
  VectisBackend table{};
  table.size = sizeof(VectisBackend);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = "null";
  table.version = "1";
  table.requirement = "nothing";
  table.open = open;
  table.close = destroy<VectisBackendState>;
  table.device_count = device_count;
  table.device_info = device_info;
  table.context_create = context_create;
  table.context_destroy = destroy<VectisContext>;
  table.memory_allocate = memory_allocate;
  table.memory_free = memory_free;
  table.memory_slice = memory_slice;
  table.stream_create = stream_create;
  table.stream_destroy = destroy<VectisStream>;
  table.stream_synchronize = nothing;
  table.copy_to_device = nothing;
  table.copy_to_host = nothing;
  table.copy_on_device = nothing;
  table.fill = nothing;
  table.event_create = event_create;
  table.event_destroy = destroy<VectisEvent>;
  table.event_record = event_record;
  table.event_query = nothing;
  table.event_synchronize = nothing;
  table.stream_wait_event = nothing;
  table.event_timestamp = event_timestamp;
  table.program_create = program_create;
  table.program_destroy = destroy<VectisProgram>;
  table.kernel_create = kernel_create;
  table.kernel_destroy = destroy<VectisKernel>;
  table.launch = nothing;
  return table;
}

constexpr VectisBackend table = make_table();

}  // namespace

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry(void) { return &table; }
