// A test backend whose devices accept all work and compute nothing: it measures the host's overhead. Settings:
// `devices`, the number of devices (1 to 1024, default 1); `memory_bytes`, the memory of each device (default 1 TiB);
// `driver`, its driver's name; `name`, which the number of the device follows (default "null device").

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>

#include "backends/plugin/host.hpp"
#include "backends/plugin/slots.hpp"

struct VectisBackendState {
  std::uint32_t devices = 1;
  std::uint64_t memory_bytes = std::uint64_t{1} << 40;
  std::string driver = "computes nothing";
  std::string name = "null device";
};
struct VectisContext {};
struct VectisStream {};
struct VectisMemory {};
struct VectisProgram {};
struct VectisKernel {};
struct VectisEvent {
  std::atomic<std::uint64_t> order{0};
};

namespace vectis::plugin {

namespace {

// Sets *handle to a new handle. Throws Failure with VECTIS_ALLOCATION when the host's memory is exhausted.
template <class Handle>
void make(Handle** handle) {
  auto* made = new (std::nothrow) Handle{};
  if (made == nullptr) throw Failure(VECTIS_ALLOCATION, "the host is out of memory for a handle");
  *handle = made;
}

constexpr std::uint64_t devices_max = 1024;

// The device's clock counts recorded events.
std::atomic<std::uint64_t> events_recorded{0};

}  // namespace

const char* const backend_title = "the null backend";

std::string open(const VectisHost* host, VectisBackendState** state) {
  VectisBackendState wanted;
  const Host services(*host);
  wanted.devices = static_cast<std::uint32_t>(services.positive_setting("devices", "", devices_max).value_or(1));
  wanted.memory_bytes = services.positive_setting("memory_bytes", "bytes", UINT64_MAX).value_or(wanted.memory_bytes);
  if (const char* const driver = host->setting(host->state, "driver"); driver != nullptr) wanted.driver = driver;
  if (const char* const name = host->setting(host->state, "name"); name != nullptr) wanted.name = name;
  make(state);
  **state = wanted;
  return {};
}
void close(VectisBackendState* state) noexcept { delete state; }

void device_count(VectisBackendState* state, std::uint32_t* count) { *count = state->devices; }

void device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info) {
  std::snprintf(info->name, sizeof(info->name), "%s %u", state->name.c_str(), index);
  std::snprintf(info->vendor, sizeof(info->vendor), "Vectis");
  std::snprintf(info->driver, sizeof(info->driver), "%s", state->driver.c_str());
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
}

void context_create(VectisBackendState* /*state*/, std::uint32_t /*index*/, VectisContext** context) { make(context); }
void context_destroy(VectisContext* context) noexcept { delete context; }

void memory_allocate(VectisContext* /*context*/, std::uint64_t /*bytes*/, VectisMemory** memory) { make(memory); }
void memory_free(VectisContext* /*context*/, VectisMemory* memory) noexcept { delete memory; }
void memory_slice(VectisMemory* /*memory*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/, VectisMemory** slice) {
  make(slice);
}

void stream_create(VectisContext* /*context*/, VectisStream** stream) { make(stream); }
void stream_destroy(VectisStream* stream) noexcept { delete stream; }
void stream_synchronize(VectisStream* /*stream*/) {}
void stream_wait_event(VectisStream* /*stream*/, VectisEvent* /*event*/) {}

void copy_to_device(VectisStream* /*stream*/, VectisMemory* /*target*/, std::uint64_t /*offset*/,
                    const void* /*source*/, std::uint64_t /*bytes*/) {}
void copy_to_host(VectisStream* /*stream*/, void* /*target*/, VectisMemory* /*source*/, std::uint64_t /*offset*/,
                  std::uint64_t /*bytes*/) {}
void copy_on_device(VectisStream* /*stream*/, VectisMemory* /*target*/, std::uint64_t /*target_offset*/,
                    VectisMemory* /*source*/, std::uint64_t /*source_offset*/, std::uint64_t /*bytes*/) {}
void fill(VectisStream* /*stream*/, VectisMemory* /*target*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/,
          std::uint8_t /*value*/) {}

void event_create(VectisContext* /*context*/, VectisEvent** event) { make(event); }
void event_destroy(VectisEvent* event) noexcept { delete event; }
void event_record(VectisEvent* event, VectisStream* /*stream*/) { event->order = ++events_recorded; }
VectisStatus event_query(VectisEvent* /*event*/) { return VECTIS_OK; }
void event_synchronize(VectisEvent* /*event*/) {}
void event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds) { *nanoseconds = event->order; }

std::string program_create(VectisContext* /*context*/, const char* /*dialect*/, const void* /*text*/,
                           std::size_t /*bytes*/, const char* /*options*/, VectisProgram** program) {
  make(program);
  return {};
}
void program_destroy(VectisProgram* program) noexcept { delete program; }
void kernel_create(VectisProgram* /*program*/, const char* /*name*/, VectisKernel** kernel) { make(kernel); }
void kernel_destroy(VectisKernel* kernel) noexcept { delete kernel; }
void launch(VectisStream* /*stream*/, VectisKernel* /*kernel*/, const VectisLaunch* /*launch*/) {}

constexpr VectisBackend null_table = make_table<memory_slice, fill, event_timestamp, program_create>(
    {.name = "null", .requirement = "nothing", .install = nullptr, .version = "1"});

}  // namespace vectis::plugin

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry() { return &vectis::plugin::null_table; }
