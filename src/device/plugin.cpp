#include "device/plugin.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "base/backend_variable.hpp"
#include "device/call.hpp"
#include "device/slots.hpp"
#include "device/system.hpp"

// The CPU backend, linked in from backends/cpu.
extern "C" const VectisBackend* vectis_cpu_backend_entry(void);

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::string_view file_prefix = "libvectis_backend_";
constexpr std::string_view file_suffix = ".so";
constexpr std::string_view variables_prefix = "VECTIS_BACKENDS_";
constexpr std::array<std::string_view, 5> automatic_order = {"cuda", "hip", "metal", "webgpu", "opencl"};

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool is_plugin_name(std::string_view file) {
  return file.size() > file_prefix.size() + file_suffix.size() && file.starts_with(file_prefix) &&
         file.ends_with(file_suffix);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return {field, std::find(field, field + N, '\0')};
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

Capabilities capabilities_of(std::uint64_t bits) {
  const auto has = [bits](std::uint64_t bit) { return (bits & bit) != 0; };
  return {.fp16 = has(VECTIS_CAN_FP16),
          .bf16 = has(VECTIS_CAN_BF16),
          .fp64 = has(VECTIS_CAN_FP64),
          .int8_dot = has(VECTIS_CAN_INT8_DOT),
          .matrix = has(VECTIS_CAN_MATRIX),
          .int8_matrix = has(VECTIS_CAN_INT8_MATRIX),
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
  info.physical_id = lower_case(text_of(raw.physical_id));  // drivers disagree on the case of PCI addresses
  info.dialects = split(text_of(raw.dialects), ',');
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

bool is_pocl(const DeviceInfo& device) { return device.driver.starts_with("Portable Computing Language"); }

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

OpenedBackend not_ready(OpenedBackend opened, BackendState state, std::string reason) {
  opened.core.reset();
  opened.devices.clear();
  opened.status.state = state;
  opened.status.reason = std::move(reason);
  return opened;
}

std::string failure_text(const SlotMessage& message, std::string_view slot, VectisStatus status) {
  const std::string text = message.text();
  return text.empty() ? fmt::format("{} failed with status {} and no message", slot, status) : text;
}

// Opens a backend by its checked table and reads its devices.
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
    return not_ready(std::move(opened), state_of(message.reason()), failure_text(message, "open", code));
  }
  opened.status.reason = message.text();
  std::uint32_t count = 0;
  code = table.device_count(core.state, &count, message.get());
  if (code != VECTIS_OK)
    return not_ready(std::move(opened), BackendState::failed, failure_text(message, "device_count", code));
  if (count == 0) return not_ready(std::move(opened), BackendState::no_device, "its driver offers no device");
  for (std::uint32_t index = 0; index < count; ++index) {
    VectisDeviceInfo raw{};
    raw.size = sizeof(raw);
    raw.parent = -1;
    code = table.device_info(core.state, index, &raw, message.get());
    if (code != VECTIS_OK)
      return not_ready(std::move(opened), BackendState::failed, failure_text(message, "device_info", code));
    opened.devices.push_back(info_of(raw));
  }
  opened.status.state = BackendState::ready;
  return opened;
}

// How the variables of a backend's settings begin: VECTIS_BACKENDS_OPENCL_.
std::string variable_prefix(std::string_view backend) { return backend_variable(fmt::format("backends.{}.", backend)); }

// The keys of a shipped backend when `variable` sets none of them; otherwise empty, also for backends of others.
std::vector<std::string_view> keys_instead_of(std::string_view variable) {
  std::vector<std::string_view> keys;
  for (const BackendSettingEntry& entry : backend_setting_catalog()) {
    if (!variable.starts_with(variable_prefix(entry.backend))) continue;
    if (variable == backend_variable(fmt::format("backends.{}.{}", entry.backend, entry.key))) return {};
    keys.push_back(entry.key);
  }
  return keys;
}

std::vector<std::string> unknown_backend_variables(const Os& os, const Settings& settings) {
  std::vector<std::string> backends{"cpu"};
  backends.insert(backends.end(), automatic_order.begin(), automatic_order.end());
  for (const PluginFile& file : find_plugins(os, settings)) {
    if (std::ranges::find(backends, file.name) == backends.end()) backends.push_back(file.name);
  }
  std::vector<std::string> warnings;
  for (const std::string& variable : os.environment_names()) {
    if (!variable.starts_with(variables_prefix)) continue;
    const auto sets = [&](const std::string& backend) { return variable.starts_with(variable_prefix(backend)); };
    const std::vector<std::string_view> keys = keys_instead_of(variable);
    if (!std::ranges::any_of(backends, sets) && !sets("rocm")) {
      warnings.push_back(fmt::format(
          "the environment variable {} is ignored: it is not VECTIS_BACKENDS_<BACKEND>_<KEY> with one of the backends "
          "{}; correct or remove it",
          variable, fmt::join(backends, ", ")));
    } else if (!keys.empty()) {
      warnings.push_back(
          fmt::format("the environment variable {} is ignored: the backend's keys are {}; correct or "
                      "remove it",
                      variable, fmt::join(keys, ", ")));
    }
  }
  return warnings;
}

}  // namespace

PluginFile plugin_at(std::string path) {
  std::string name = base_name(path);
  if (is_plugin_name(name))
    name = name.substr(file_prefix.size(), name.size() - file_prefix.size() - file_suffix.size());
  return {std::move(name), std::move(path)};
}

std::vector<std::string> plugin_directories(const Os& os, const Settings& settings) {
  std::vector<std::string> directories = split(settings.text("backend_path"), ':');
  const std::string module = os.module_directory();
  directories.push_back(module + "/vectis/backends");         // beside the shared library
  directories.push_back(module + "/../lib/vectis/backends");  // beside a program that holds the static one
  directories.emplace_back(VECTIS_INSTALLED_BACKENDS);
  std::set<std::string> seen;
  for (std::string& directory : directories) directory = std::filesystem::path(directory).lexically_normal();
  std::erase_if(directories, [&](const std::string& directory) { return !seen.insert(directory).second; });
  return directories;
}

OpenedLibrary open_library(const Os& os, const Settings& settings, const std::string& name) {
  OpenedLibrary library = os.open_library(name);
  if (library.handle != nullptr || name.find('/') != std::string::npos) return library;
  for (const std::string& directory : plugin_directories(os, settings)) {
    OpenedLibrary beside = os.open_library(directory + "/" + name);
    if (beside.handle != nullptr) return beside;
  }
  return library;
}

std::vector<std::string> configuration_warnings(const Os& os, const Settings& settings) {
  const Setting setting = settings.get("backend_path");
  std::vector<std::string> warnings = unknown_backend_variables(os, settings);
  for (const std::string& path : split(setting.value, ':')) {
    if (os.access(path) != FileAccess::absent) continue;
    warnings.push_back(fmt::format("backend_path (from {}) names {}, which does not exist; correct or remove it",
                                   setting.source, path));
  }
  return warnings;
}

std::vector<PluginFile> find_plugins(const Os& os, const Settings& settings) {
  std::vector<PluginFile> found;
  std::set<std::string> names;
  const auto add = [&](std::string path) {
    PluginFile file = plugin_at(std::move(path));
    if (names.insert(file.name).second) found.push_back(std::move(file));
  };
  for (const std::string& place : plugin_directories(os, settings)) {
    if (is_plugin_name(base_name(place))) {
      add(place);  // `backend_path` may name a file
      continue;
    }
    for (const std::string& name : os.list_directory(place)) {
      if (is_plugin_name(name)) add(fmt::format("{}/{}", place, name));
    }
  }
  return found;
}

int automatic_rank(std::string_view backend) noexcept {
  if (backend == "cpu") return static_cast<int>(automatic_order.size()) + 1;
  return static_cast<int>(std::ranges::find(automatic_order, backend) - automatic_order.begin());
}

std::vector<std::string> shipped_plugins(const Os& os) {
  std::vector<std::string> names{"opencl"};
  if (!device_nodes(os, "cuda").empty()) names.emplace_back("cuda");
  if (os.is_character_device("/dev/kfd")) names.emplace_back("hip");
  return names;
}

// Opens the backend of a plug-in. Drivers are not made to be started by several threads at once, and change the
// environment meanwhile (PoCL does both), so that all runtimes of a process take turns.
OpenedBackend open_in_turn(Runtime& runtime, const VectisBackend& table, BackendStatus status,
                           HostServices::Finder finder) {
  const std::lock_guard lock(environment_mutex());
  return open_table(runtime, table, std::move(status), std::move(finder));
}

OpenedBackend open_plugin(Runtime& runtime, const PluginFile& file, HostServices::Finder finder) {
  OpenedBackend opened;
  opened.status.name = file.name;
  opened.status.path = file.path;
  const OpenedLibrary library = runtime.os().open_library(file.path);
  if (library.handle == nullptr) return not_ready(std::move(opened), BackendState::not_loadable, library.error);
  const auto entry = reinterpret_cast<VectisBackendEntry>(runtime.os().symbol(library.handle, VECTIS_ENTRY_NAME));
  if (entry == nullptr) {
    return not_ready(std::move(opened), BackendState::not_loadable, "it exports no function " VECTIS_ENTRY_NAME);
  }
  const VectisBackend* table = entry();
  if (table == nullptr)
    return not_ready(std::move(opened), BackendState::incompatible, VECTIS_ENTRY_NAME " returned NULL");
  CheckedTable checked = check_table(*table);
  if (!checked.table) return not_ready(std::move(opened), BackendState::incompatible, std::move(checked.problem));
  if (file.name != checked.table->name) {
    return not_ready(
        std::move(opened), BackendState::misnamed,
        fmt::format("its file is named for '{}', but its table says '{}'", file.name, checked.table->name));
  }
  opened = open_in_turn(runtime, *checked.table, std::move(opened.status), std::move(finder));
  const bool has_path = !runtime.os().environment("PATH").value_or("").empty();
  if (has_path || !std::ranges::any_of(opened.devices, is_pocl)) return opened;
  opened.status.install = "set PATH, for example to /usr/bin:/bin";
  return not_ready(
      std::move(opened), BackendState::failed,
      "PATH is not set: its driver PoCL runs the linker `ld` and aborts the process when it cannot find it");
}

OpenedBackend open_builtin_cpu(Runtime& runtime) {
  const CheckedTable checked = check_table(*vectis_cpu_backend_entry());
  BackendStatus status;
  status.name = "cpu";
  status.path = "built in";
  return open_table(runtime, *checked.table, std::move(status), {});
}

}  // namespace vectis::inline v0_1::detail
