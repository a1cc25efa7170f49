#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "device/call.hpp"
#include "device/plugin.hpp"
#include "device/slots.hpp"

// The CPU backend, linked in from backends/cpu.
extern "C" const VectisBackend* vectis_cpu_backend_entry(void);

namespace vectis::inline v0_1::detail {

namespace {

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return {field, std::find(field, field + N, '\0')};
}

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) result.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

Capabilities capabilities_of(std::uint64_t bits) {
  const auto has = [bits](std::uint64_t bit) { return (bits & bit) != 0; };
  return {.fp16 = has(VECTIS_CAN_FP16),
          .bf16 = has(VECTIS_CAN_BF16),
          .fp64 = has(VECTIS_CAN_FP64),
          .int8_dot = has(VECTIS_CAN_INT8_DOT),
          .matrix = has(VECTIS_CAN_MATRIX),
          .subgroups = has(VECTIS_CAN_SUBGROUPS),
          .unified_memory = has(VECTIS_CAN_UNIFIED_MEMORY),
          .timestamps = has(VECTIS_CAN_TIMESTAMPS)};
}

DeviceKind kind_of(VectisDeviceKind kind) {
  if (kind == VECTIS_DEVICE_GPU) return DeviceKind::gpu;
  return kind == VECTIS_DEVICE_ACCELERATOR ? DeviceKind::accelerator : DeviceKind::cpu;
}

DeviceInfo info_of(const VectisDeviceInfo& raw) {
  DeviceInfo info;
  info.name = text_of(raw.name);
  info.vendor = text_of(raw.vendor);
  info.driver = text_of(raw.driver);
  info.physical_id = text_of(raw.physical_id);
  info.dialects = words(text_of(raw.dialects));
  info.kind = kind_of(raw.kind);
  info.software = raw.software != 0;
  if (raw.parent >= 0) info.parent = raw.parent;
  info.compute_units = raw.compute_units;
  info.memory_bytes = raw.memory_bytes;
  info.limits.allocation_bytes_max = raw.allocation_bytes_max;
  info.limits.memory_alignment = std::max<std::uint64_t>(raw.memory_alignment, 1);
  info.limits.shared_bytes_max = raw.shared_bytes_max;
  info.limits.group_items_max = std::max(raw.group_items_max, 1U);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    info.limits.group_size_max[axis] = std::max(raw.group_size_max[axis], 1U);
  }
  if (raw.binding_bytes_max > 0) info.limits.binding_bytes_max = raw.binding_bytes_max;
  info.capabilities = capabilities_of(raw.capabilities);
  return info;
}

BackendState state_of(VectisReason reason) {
  switch (reason) {
    case VECTIS_REASON_NO_LIBRARY:
      return BackendState::no_library;
    case VECTIS_REASON_NO_DRIVER:
      return BackendState::no_driver;
    case VECTIS_REASON_NO_DEVICE:
      return BackendState::no_device;
    case VECTIS_REASON_DRIVER_TOO_OLD:
      return BackendState::driver_too_old;
    case VECTIS_REASON_NO_PERMISSION:
      return BackendState::no_permission;
    default:
      return BackendState::failed;
  }
}

OpenedBackend refuse(OpenedBackend opened, BackendState state, std::string reason) {
  opened.core.reset();
  opened.devices.clear();
  opened.status.state = state;
  opened.status.reason = std::move(reason);
  return opened;
}

std::string sentence(const SlotMessage& message, std::string_view slot, VectisStatus status) {
  const std::string text = message.text();
  return text.empty() ? fmt::format("{} failed with status {} and no message", slot, status) : text;
}

// Opens a checked table and reads its devices.
OpenedBackend open_table(Runtime& runtime, const VectisBackend& table, BackendStatus status,
                         HostServices::Finder finder) {
  OpenedBackend opened{std::move(status), std::make_shared<BackendCore>(runtime, table, std::move(finder)), {}};
  opened.status.version = table.version;
  opened.status.requirement = table.requirement;
  opened.status.install = table.install;

  BackendCore& core = *opened.core;
  SlotMessage message;
  VectisStatus code = table.open(core.host.table(), &core.state, message.get());
  if (code != VECTIS_OK) {
    core.state = nullptr;
    return refuse(std::move(opened), state_of(message.reason()), sentence(message, "open", code));
  }
  opened.status.reason = message.text();
  std::uint32_t count = 0;
  code = table.device_count(core.state, &count, message.get());
  if (code != VECTIS_OK)
    return refuse(std::move(opened), BackendState::failed, sentence(message, "device_count", code));
  if (count == 0) return refuse(std::move(opened), BackendState::no_device, "its driver offers no device");
  for (std::uint32_t index = 0; index < count; ++index) {
    VectisDeviceInfo raw{};
    raw.size = sizeof(raw);
    raw.parent = -1;
    code = table.device_info(core.state, index, &raw, message.get());
    if (code != VECTIS_OK)
      return refuse(std::move(opened), BackendState::failed, sentence(message, "device_info", code));
    opened.devices.push_back(info_of(raw));
  }
  opened.status.state = BackendState::ready;
  return opened;
}

}  // namespace

OpenedBackend open_plugin(Runtime& runtime, const PluginFile& file, HostServices::Finder finder) {
  OpenedBackend opened;
  opened.status.name = file.name;
  opened.status.path = file.path;
  const OpenedLibrary library = runtime.os().open_library(file.path);
  if (library.handle == nullptr) return refuse(std::move(opened), BackendState::not_loadable, library.error);
  const auto entry = reinterpret_cast<VectisBackendEntry>(runtime.os().symbol(library.handle, VECTIS_ENTRY_NAME));
  if (entry == nullptr) {
    return refuse(std::move(opened), BackendState::not_loadable, "it exports no function " VECTIS_ENTRY_NAME);
  }
  const VectisBackend* table = entry();
  if (table == nullptr)
    return refuse(std::move(opened), BackendState::incompatible, VECTIS_ENTRY_NAME " returned NULL");
  CheckedTable checked = check_table(*table);
  if (!checked.table) return refuse(std::move(opened), BackendState::incompatible, std::move(checked.problem));
  if (file.name != checked.table->name) {
    return refuse(
        std::move(opened), BackendState::incompatible,
        fmt::format("its file says '{}' and its table '{}'; the two must agree", file.name, checked.table->name));
  }
  return open_table(runtime, *checked.table, std::move(opened.status), std::move(finder));
}

OpenedBackend open_builtin_cpu(Runtime& runtime) {
  const CheckedTable checked = check_table(*vectis_cpu_backend_entry());
  BackendStatus status;
  status.name = "cpu";
  status.path = "built in";
  return open_table(runtime, *checked.table, std::move(status), {});
}

}  // namespace vectis::inline v0_1::detail
