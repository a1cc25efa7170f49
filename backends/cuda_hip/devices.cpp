// Opening the driver, and the devices it lists.
#include "backends/plugin/devices.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::cuda_hip {

namespace {

// The failure of the driver's Init, with the reason that the doctor reads.
Failure failed_init(const Api& api, Code code) {
  const std::string text = std::string(symbol_of_Init) + " failed with " + describe(api, code);
  switch (static_cast<int>(code)) {
    case code_stub_library:
      return {VECTIS_BACKEND_CREATION,
              text + ": this is the stub library for linking, not the driver; remove it from the library path",
              VECTIS_REASON_NO_DRIVER};
    case code_no_device:
    case code_invalid_device:
      return {VECTIS_BACKEND_CREATION, text, VECTIS_REASON_NO_DEVICE};
    case code_no_forward_compatibility:
      return {VECTIS_BACKEND_CREATION, text, VECTIS_REASON_DRIVER_TOO_OLD};
    case code_driver_mismatch:
      return {VECTIS_BACKEND_CREATION, text + ": the driver's library and its kernel module differ; restart",
              VECTIS_REASON_DRIVER_TOO_OLD};
    case code_unknown:  // returned when the kernel module is missing or its device node may not be opened
      return {VECTIS_BACKEND_CREATION, text + ": its kernel module is not loaded, or may not be opened",
              VECTIS_REASON_NO_DRIVER};
    default:
      return {VECTIS_BACKEND_CREATION, text, VECTIS_REASON_OTHER};
  }
}

int require_version(const Api& api) {
  int version = 0;
  VECTIS_CALL(api, DriverGetVersion, &version);
  if (version < version_min) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  "the driver states " + version_text(version) + ", " + version_text(version_min) + " is needed",
                  VECTIS_REASON_DRIVER_TOO_OLD);
  }
  return version;
}

int attribute(const Api& api, DeviceId device, Attribute which) {
  int value = 0;
  VECTIS_CALL(api, DeviceGetAttribute, &value, which, device);
  return value;
}

// How to compile for a device; logs a warning when nothing can be compiled for it.
CompileTarget target_of(const VectisBackendState& state, const ListedDevice& device, int index) {
  CompileTarget target;
  target.obstacle = state.compiler.obstacle;
  if (state.compiler.obstacle.empty()) {
    try {
      target = choose_target(state.compiler.api, device.major, device.minor, device.architecture);
    } catch (const Failure& failure) {
      target.obstacle = failure.what();
    }
  }
  if (target.obstacle) {
    const bool embedded = has_embedded_kernels(device.major, device.minor);
    state.host.log(VECTIS_LOG_WARNING,
                   "device " + std::to_string(index) +
                       (embedded ? " runs built-in kernels and compiles no others: " : " compiles no kernels: ") +
                       compiler_title + ": " + *target.obstacle + "; " + state.compiler.advice);
  }
  return target;
}

void find_devices(VectisBackendState& state) {
  const Api& api = state.api;
  int count = 0;
  const Code code = api.DeviceGetCount(&count);
  if (static_cast<int>(code) == code_no_device) count = 0;
  if (static_cast<int>(code) != code_no_device) check(api, code, symbol_of_DeviceGetCount);
  if (count == 0) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string("the ") + driver_title + " driver offers no device" + no_device_advice,
                  VECTIS_REASON_NO_DEVICE);
  }
  for (int index = 0; index < count; ++index) {
    ListedDevice device;
    VECTIS_CALL(api, DeviceGet, &device.id, index);
    device.major = attribute(api, device.id, attribute_major);
    device.minor = attribute(api, device.id, attribute_minor);
    device.architecture = architecture_name(api, device.id, device.major, device.minor);
    device.slice = slice_id(api, device.id);
    device.target = target_of(state, device, index);
    state.devices.push_back(std::move(device));
  }
}

// A note for the doctor: which kernels are embedded, and whether others can be compiled.
std::string kernel_note(const VectisBackendState& state) {
  std::string text = describe_embedded_kernels();
  if (!state.compiler.obstacle.empty()) {
    text += (text.empty() ? "kernels need " : "; other kernels need ") + std::string(compiler_title) +
            ", which cannot be used: " + state.compiler.obstacle + "; " + state.compiler.advice;
    return text;
  }
  for (std::size_t index = 0; index < state.devices.size(); ++index) {
    const auto& obstacle = state.devices[index].target.obstacle;
    if (obstacle) text += "; device " + std::to_string(index) + ": " + compiler_title + ": " + *obstacle;
  }
  return text;
}

constexpr std::uint64_t allocation_alignment = 256;  // bytes, guaranteed by both vendors

std::string bus_of(const VectisBackendState& state, const ListedDevice& device) {
  std::array<char, 32> bus{};
  VECTIS_CALL(state.api, DeviceGetPciBusId, bus.data(), static_cast<int>(bus.size() - 1), device.id);
  return bus.data();
}

// Retried at each call until it opens: the library may be installed later. Throws UNSUPPORTED for a slice: the library
// finds devices by their bus, and would report the whole one.
const Monitor& monitor_of(VectisBackendState& state, const ListedDevice& device) {
  if (!device.slice.empty()) {
    throw Failure(VECTIS_UNSUPPORTED, "the device is the MIG slice " + device.slice +
                                          ": its utilization is unknown, and its free memory until it has a context");
  }
  const std::lock_guard lock(state.monitor_mutex);
  if (state.monitor == nullptr) state.monitor = open_monitor(state.host);
  return *state.monitor;
}

void describe_identity(const VectisBackendState& state, const ListedDevice& device, VectisDeviceInfo& info) {
  std::array<char, sizeof info.name> name{};
  VECTIS_CALL(state.api, DeviceGetName, name.data(), static_cast<int>(name.size() - 1), device.id);
  const std::string id = device.slice.empty() ? "pci-" + bus_of(state, device) : device.slice;
  plugin::copy_text(info.name, name.data());
  plugin::copy_text(info.vendor, device_vendor);
  plugin::copy_text(info.driver, version_text(state.driver_version));
  plugin::copy_text(info.physical_id, id);
  plugin::copy_text(info.dialects, runs_kernels(device) ? device_language : "");
  info.kind = VECTIS_DEVICE_GPU;
  info.parent = -1;
  info.capabilities = capabilities(device.major, device.minor, device.architecture);
  if (attribute(state.api, device.id, attribute_integrated) != 0) info.capabilities |= VECTIS_CAN_UNIFIED_MEMORY;
}

void describe_limits(const VectisBackendState& state, const ListedDevice& device, VectisDeviceInfo& info) {
  const auto limit = [&](Attribute which) {
    return static_cast<std::uint32_t>(attribute(state.api, device.id, which));
  };
  std::size_t bytes = 0;
  VECTIS_CALL(state.api, DeviceTotalMem, &bytes, device.id);
  info.memory_bytes = bytes;
  info.allocation_bytes_max = bytes;
  info.memory_alignment = allocation_alignment;
  info.compute_units = limit(attribute_compute_units);
  info.shared_bytes_max = limit(attribute_shared_bytes);
  info.group_items_max = limit(attribute_block_items);
  std::transform(attribute_block_size.begin(), attribute_block_size.end(), info.group_size_max, limit);
}

}  // namespace

}  // namespace vectis::cuda_hip

namespace vectis::plugin {

using namespace cuda_hip;

std::string open(const VectisHost* host, VectisBackendState** state) {
  const Host services(*host);
  auto opened = std::unique_ptr<VectisBackendState>(new VectisBackendState{services, load_api(services), 0, {}, {}});
  const Code code = opened->api.Init(0);
  if (static_cast<int>(code) != 0) throw failed_init(opened->api, code);
  opened->driver_version = require_version(opened->api);
  opened->compiler = find_compiler(services, opened->driver_version);
  find_devices(*opened);
  std::string note = kernel_note(*opened);
  *state = opened.release();
  return note;
}

void close(VectisBackendState* state) noexcept { delete state; }

void device_count(VectisBackendState* state, std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(state->devices.size());
}

void device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info) {
  const ListedDevice& device = device_at(state->devices, index);
  VectisDeviceInfo described{};
  describe_identity(*state, device, described);
  describe_limits(*state, device, described);
  copy_info(described, info);
}

void device_memory(VectisBackendState* state, std::uint32_t index, VectisMemoryInfo* info) {
  const ListedDevice& device = device_at(state->devices, index);
  if (!has_context(state->api, device.id)) {
    const MonitoredMemory memory = monitor_of(*state, device).memory(bus_of(*state, device));
    info->total_bytes = memory.total_bytes;
    info->free_bytes = memory.free_bytes;
    return;
  }
  const PrimaryContext context(state->api, device.id);
  const CurrentContext current(state->api, context.get());
  std::size_t free = 0;
  std::size_t total = 0;
  VECTIS_CALL(state->api, MemGetInfo, &free, &total);
  info->total_bytes = total;
  info->free_bytes = free;
}

void device_utilization(VectisBackendState* state, std::uint32_t index, double* share) {
  const ListedDevice& device = device_at(state->devices, index);
  *share = monitor_of(*state, device).utilization(bus_of(*state, device));
}

}  // namespace vectis::plugin
