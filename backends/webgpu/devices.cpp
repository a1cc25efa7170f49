#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "discovery.hpp"
#include "objects.hpp"
#include "settings.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::webgpu {

namespace {

template <std::size_t Room>
void put_text(char (&target)[Room], std::string_view text) {
  const std::size_t length = std::min(text.size(), Room - 1);
  text.copy(target, length);
  target[length] = '\0';
}

bool is_software(const ListedAdapter& adapter) {
  const auto says = [&](std::string_view word) { return adapter.name.find(word) != std::string::npos; };
  return adapter.type == WGPUAdapterType_CPU || says("llvmpipe") || says("softpipe") || says("SwiftShader") ||
         says("Basic Render Driver");
}

// WebGPU does not tell how much memory a device has. The setting `memory_mb` does; without it the largest buffer is
// what is known to be there.
std::uint64_t memory_bytes(const Host& host, const WGPULimits& limits) {
  const auto megabytes = number_setting(host, "memory_mb", "MiB");
  return megabytes ? *megabytes << 20U : limits.maxBufferSize;
}

// A buffer may be larger than what a kernel can be given of it (128 MiB are usual for that): the host cuts its
// operations to fit.
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

VectisStatus device_count(VectisBackendState* state, std::uint32_t* count, VectisMessage*) noexcept {
  *count = static_cast<std::uint32_t>(state->adapters.size());
  return VECTIS_OK;
}

VectisStatus device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info,
                         VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const ListedAdapter& adapter = adapter_at(*state, index);
    VectisDeviceInfo answer{};
    put_text(answer.name, adapter.name + " over " + adapter.api);
    put_text(answer.vendor, adapter.vendor);
    put_text(answer.driver, adapter.driver + ", wgpu-native " + version_text(state->api));
    put_text(answer.physical_id, "webgpu-" + std::to_string(index));
    put_text(answer.dialects, "wgsl,glsl-webgpu");
    answer.kind = adapter.type == WGPUAdapterType_CPU ? VECTIS_DEVICE_CPU : VECTIS_DEVICE_GPU;
    answer.software = is_software(adapter) ? 1 : 0;
    answer.parent = -1;
    answer.compute_units = 16;  // WebGPU does not tell; a usual number shapes launches well
    answer.memory_bytes = memory_bytes(state->host, adapter.limits);
    describe_limits(adapter.limits, answer);
    if (adapter.type == WGPUAdapterType_IntegratedGPU || adapter.type == WGPUAdapterType_CPU) {
      answer.capabilities |= VECTIS_CAN_UNIFIED_MEMORY;
    }
    answer.size = info->size;
    std::memcpy(info, &answer, std::min(info->size, sizeof answer));
    return VECTIS_OK;
  });
}

}  // namespace vectis::webgpu
