// The WebGPU backend: its table, opening, configuration, devices and contexts.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "backends/plugin/devices.hpp"
#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::webgpu {

namespace {

bool is_software(const ListedAdapter& adapter) {
  return adapter.type == WGPUAdapterType_CPU || plugin::is_software_renderer(adapter.name);
}

bool shares_host_memory(const ListedAdapter& adapter) {
  return is_software(adapter) || adapter.type == WGPUAdapterType_IntegratedGPU;
}

// 0 where the system has no such file.
std::uint64_t host_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  return file >> name >> kilobytes && name == "MemTotal:" ? kilobytes << 10U : 0;
}

// WebGPU does not report the size of a device's memory, and its largest buffer says nothing about it. The setting
// `memory_mb` states it; else it is that of the host or of the card. 0: unknown.
std::uint64_t memory_bytes(const Host& host, const ListedAdapter& adapter) {
  const auto megabytes = host.positive_setting("memory_mb", "MiB", std::uint64_t{1} << 40U);
  if (megabytes) return *megabytes << 20U;
  return shares_host_memory(adapter) ? host_memory_bytes() : adapter.card.memory_bytes;
}

// WebGPU does not report it: the threads of a software driver, else 0 for unknown.
std::uint32_t compute_units(const ListedAdapter& adapter) {
  return is_software(adapter) ? std::thread::hardware_concurrency() : 0;
}

// A buffer may be larger than a binding (usually 128 MiB at most): the host splits its operations accordingly.
void describe_limits(const WGPULimits& limits, VectisDeviceInfo& info) {
  info.allocation_bytes_max = limits.maxBufferSize / 4 * 4;
  info.binding_bytes_max = limits.maxStorageBufferBindingSize / 4 * 4;
  info.memory_alignment = limits.minStorageBufferOffsetAlignment;
  info.shared_bytes_max = limits.maxComputeWorkgroupStorageSize;
  info.group_items_max = limits.maxComputeInvocationsPerWorkgroup;
  info.group_size_max[0] = limits.maxComputeWorkgroupSizeX;
  info.group_size_max[1] = limits.maxComputeWorkgroupSizeY;
  info.group_size_max[2] = limits.maxComputeWorkgroupSizeZ;
}

}  // namespace

}  // namespace vectis::webgpu

namespace vectis::plugin {

using namespace webgpu;

const char* const backend_title = "the WebGPU backend";

std::string open(const VectisHost* host, VectisBackendState** state) {
  const Host services(*host);
  auto opened =
      std::unique_ptr<VectisBackendState>(new VectisBackendState{services, load_api(services), {}, {}, {}, {}});
  find_adapters(*opened);
  *state = opened.release();
  return {};
}

void close(VectisBackendState* state) noexcept { delete state; }

// The only key is `lose`, for tests: every context of the device with index `value` loses it, as when a driver fails.
void configure(VectisBackendState* state, const char* key, const char* value) {
  if (std::string_view(key) != "lose") {
    throw Failure(VECTIS_INVALID_INPUT, std::string("there is no key '") + key + "', there is: lose");
  }
  std::uint32_t index = 0;
  const char* end = value + std::strlen(value);
  const auto [stopped, error] = std::from_chars(value, end, index);
  if (error != std::errc() || stopped != end) {
    throw Failure(VECTIS_INVALID_INPUT, std::string("lose takes the index of a device, not '") + value + "'");
  }
  device_at(state->adapters, index);
  const std::lock_guard lock(state->mutex);
  for (VectisContext* context : state->contexts) {
    if (context->index == index) context->gpu.destroy_device();
  }
}

void device_count(VectisBackendState* state, std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(state->adapters.size());
}

void device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info) {
  const ListedAdapter& adapter = device_at(state->adapters, index);
  VectisDeviceInfo described{};
  copy_text(described.name, adapter.name + " over " + adapter.api);
  copy_text(described.vendor, adapter.vendor);
  copy_text(described.driver, adapter.driver + ", wgpu-native " + version_text(state->api));
  copy_text(described.physical_id,
            adapter.card.address ? "pci-" + *adapter.card.address : "webgpu-" + std::to_string(index));
  copy_text(described.dialects, "wgsl,glsl-webgpu");
  described.kind = adapter.type == WGPUAdapterType_CPU ? VECTIS_DEVICE_CPU : VECTIS_DEVICE_GPU;
  described.software = is_software(adapter) ? 1 : 0;
  described.parent = -1;
  described.compute_units = compute_units(adapter);
  described.memory_bytes = memory_bytes(state->host, adapter);
  describe_limits(adapter.limits, described);
  if (shares_host_memory(adapter)) described.capabilities |= VECTIS_CAN_UNIFIED_MEMORY;
  copy_info(described, info);
}

void context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context) {
  auto created = std::make_unique<VectisContext>(*state, index, device_at(state->adapters, index));
  const std::lock_guard lock(state->mutex);
  state->contexts.push_back(created.get());
  *context = created.release();
}

void context_destroy(VectisContext* context) noexcept {
  {
    const std::lock_guard lock(context->state.mutex);
    std::erase(context->state.contexts, context);
  }
  delete context;
}

constexpr VectisBackend webgpu_table = make_table<configure, memory_slice, fill, program_create>(
    {"webgpu", "wgpu-native 29 and a Vulkan, Metal, Direct3D 12 or OpenGL ES 3.1 driver",
     "Install the library wgpu-native 29: `pip install wgpu==0.32.0` (Linux, macOS and Windows) and set "
     "VECTIS_BACKENDS_WEBGPU_LIBRARY to the file libwgpu_native-release.so, .dylib or .dll in the package's folder "
     "wgpu/resources, or take libwgpu_native from https://github.com/gfx-rs/wgpu-native/releases. Linux also needs a "
     "Vulkan driver (Debian: mesa-vulkan-drivers); macOS (Metal) and Windows (Direct3D 12) bring theirs."});

}  // namespace vectis::plugin

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry() { return &vectis::plugin::webgpu_table; }
