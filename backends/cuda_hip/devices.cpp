#include "devices.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

constexpr std::uint64_t allocation_alignment = 256;  // what both makers promise

template <std::size_t Room>
void copy_text(char (&target)[Room], std::string_view text) {
  const std::size_t length = std::min(text.size(), Room - 1);
  text.copy(target, length);
  target[length] = '\0';
}

std::string bus_of(const VectisBackendState& state, const ListedDevice& device) {
  std::array<char, 32> bus{};
  VECTIS_CALL(state.api, DeviceGetPciBusId, bus.data(), static_cast<int>(bus.size() - 1), device.id);
  return bus.data();
}

// What was not there at first may be there when it is asked for again.
const Monitor& monitor_of(VectisBackendState& state) {
  const std::lock_guard lock(state.monitor_mutex);
  if (state.monitor == nullptr) state.monitor = open_monitor(state.host);
  return *state.monitor;
}

void describe_identity(const VectisBackendState& state, const ListedDevice& device, VectisDeviceInfo& info) {
  std::array<char, sizeof info.name> name{};
  VECTIS_CALL(state.api, DeviceGetName, name.data(), static_cast<int>(name.size() - 1), device.id);
  const std::string bus = bus_of(state, device);
  copy_text(info.name, name.data());
  copy_text(info.vendor, device_vendor);
  copy_text(info.driver, version_text(state.driver_version));
  copy_text(info.physical_id, std::string("pci-") + bus.data());
  copy_text(info.dialects, runs_kernels(device) ? device_language : "");
  info.kind = VECTIS_DEVICE_GPU;
  info.parent = -1;
  info.capabilities = capabilities(device.major, device.minor);
}

void describe_limits(const VectisBackendState& state, const ListedDevice& device, VectisDeviceInfo& info) {
  const auto ask = [&](Attribute which) {
    int value = 0;
    VECTIS_CALL(state.api, DeviceGetAttribute, &value, which, device.id);
    return static_cast<std::uint32_t>(value);
  };
  std::size_t bytes = 0;
  VECTIS_CALL(state.api, DeviceTotalMem, &bytes, device.id);
  info.memory_bytes = bytes;
  info.allocation_bytes_max = bytes;
  info.memory_alignment = allocation_alignment;
  info.compute_units = ask(attribute_compute_units);
  info.shared_bytes_max = ask(attribute_shared_bytes);
  info.group_items_max = ask(attribute_group_items);
  std::transform(attribute_group_size.begin(), attribute_group_size.end(), info.group_size_max, ask);
}

}  // namespace

const ListedDevice& device_at(const VectisBackendState& state, std::uint32_t index) {
  if (index < state.devices.size()) return state.devices[index];
  throw Failure(VECTIS_INVALID_INPUT,
                "there is no device " + std::to_string(index) + ", there are " + std::to_string(state.devices.size()));
}

VectisStatus device_count(VectisBackendState* state, std::uint32_t* count, VectisMessage*) noexcept {
  *count = static_cast<std::uint32_t>(state->devices.size());
  return VECTIS_OK;
}

VectisStatus device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info,
                         VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const ListedDevice& device = device_at(*state, index);
    VectisDeviceInfo answer{};
    describe_identity(*state, device, answer);
    describe_limits(*state, device, answer);
    answer.size = info->size;
    std::memcpy(info, &answer, std::min(info->size, sizeof answer));
    return VECTIS_OK;
  });
}

VectisStatus device_memory(VectisBackendState* state, std::uint32_t index, VectisMemoryInfo* info,
                           VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const ListedDevice& device = device_at(*state, index);
    if (!has_context(state->api, device.id)) {
      const MonitoredMemory memory = monitor_of(*state).memory(bus_of(*state, device));
      info->total_bytes = memory.total_bytes;
      info->free_bytes = memory.free_bytes;
      return VECTIS_OK;
    }
    const SharedContext context(state->api, device.id);
    const Current current(state->api, context.get());
    std::size_t free = 0;
    std::size_t total = 0;
    VECTIS_CALL(state->api, MemGetInfo, &free, &total);
    info->total_bytes = total;
    info->free_bytes = free;
    return VECTIS_OK;
  });
}

VectisStatus device_utilization(VectisBackendState* state, std::uint32_t index, double* share,
                                VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const ListedDevice& device = device_at(*state, index);
    *share = monitor_of(*state).utilization(bus_of(*state, device));
    return VECTIS_OK;
  });
}

}  // namespace vectis::cuda_hip
