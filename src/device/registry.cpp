#include "vectis/device/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <functional>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>

#include "device/backend_names.hpp"
#include "device/call.hpp"
#include "device/cores.hpp"
#include "device/plugin.hpp"
#include "device/ranking.hpp"

namespace vectis::inline v0_1 {

struct DeviceRegistry::State {
  Runtime& runtime;
  std::vector<std::shared_ptr<detail::BackendCore>> open_cores;  // in the order of their opening
  std::vector<detail::OpenedBackend> opened;                     // in automatic order
  std::vector<BackendStatus> statuses;
  std::vector<Device> devices;
  std::atomic<bool> lookup_failed{false};  // a plug-in asked for a backend that is not open

  explicit State(Runtime& owner) : runtime(owner) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Closes the backends in the reverse order of their opening: a wrapper before the backend that it wraps.
  ~State() {
    devices.clear();
    statuses.clear();
    opened.clear();
    while (!open_cores.empty()) open_cores.pop_back();
  }

  void add(detail::OpenedBackend one) {
    if (one.core != nullptr) open_cores.push_back(one.core);
    opened.push_back(std::move(one));
  }
  void open_all();
  void add_missing();
  void number_devices();
  [[nodiscard]] detail::OpenedBackend* find_open(std::string_view backend);
};

std::string_view name(BackendState state) noexcept {
  constexpr std::array<std::string_view, 12> names = {"ready",     "not installed",  "not loadable",  "incompatible",
                                                      "misnamed",  "crashed",        "no library",    "no driver",
                                                      "no device", "driver too old", "no permission", "failed"};
  const auto index = static_cast<std::size_t>(state);
  return index < names.size() ? names[index] : "unknown";
}

namespace {

// Backends of the automatic order are opened before the CPU, others after it.
bool opens_before_cpu(const detail::PluginFile& file) {
  return detail::automatic_rank(file.name) <= detail::automatic_rank("opencl");
}

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The device of "metal" or "metal:<n>": the first or the n-th GPU that WebGPU drives through Metal.
std::optional<Device> find_on_metal(const std::vector<Device>& all, std::string_view text) {
  constexpr std::string_view first = "metal:";
  int left = text.starts_with(first) ? parse_number(text.substr(first.size())).value_or(-1) : 0;
  if (left < 0) return std::nullopt;
  for (const Device& device : all) {
    if (detail::is_on_metal(device) && left-- == 0) return device;
  }
  return std::nullopt;
}

}  // namespace

detail::OpenedBackend* DeviceRegistry::State::find_open(std::string_view backend) {
  const auto found = std::ranges::find_if(
      opened, [&](const detail::OpenedBackend& one) { return one.core != nullptr && one.status.name == backend; });
  return found == opened.end() ? nullptr : &*found;
}

// A plug-in that wraps another backend looks that backend up while it opens. If the other backend is not open yet, the
// wrapper is opened again after all others.
void DeviceRegistry::State::open_all() {
  const auto finder = [this](const std::string& wanted, const VectisBackend** table, VectisBackendState** state) {
    const detail::OpenedBackend* found = find_open(wanted);
    if (found == nullptr) {
      lookup_failed = true;
      return false;
    }
    *table = &found->core->slots;
    *state = found->core->state;
    return true;
  };
  std::vector<detail::PluginFile> files = detail::find_plugins(runtime.os(), runtime.settings());
  std::ranges::sort(files, {}, &detail::PluginFile::name);
  std::vector<detail::PluginFile> wrappers;
  const auto open = [&](const detail::PluginFile& file) {
    lookup_failed = false;
    detail::OpenedBackend one = detail::open_plugin(runtime, file, finder);
    if (one.core == nullptr && lookup_failed) {
      wrappers.push_back(file);
    } else {
      add(std::move(one));
    }
  };
  for (const detail::PluginFile& file : files | std::views::filter(opens_before_cpu)) open(file);
  add(detail::open_builtin_cpu(runtime));
  for (const detail::PluginFile& file : files | std::views::filter(std::not_fn(opens_before_cpu))) open(file);
  for (const detail::PluginFile& file : wrappers) add(detail::open_plugin(runtime, file, finder));
}

void DeviceRegistry::State::add_missing() {
  for (const std::string& wanted : detail::shipped_plugins(runtime.os())) {
    if (std::ranges::any_of(opened, [&](const auto& one) { return one.status.name == wanted; })) continue;
    detail::OpenedBackend missing;
    missing.status.name = wanted;
    missing.status.state = BackendState::not_installed;
    missing.status.reason = fmt::format("no plug-in libvectis_backend_{}.so was found", wanted);
    opened.push_back(std::move(missing));
  }
}

void DeviceRegistry::State::number_devices() {
  struct SortKey {
    int use;
    std::size_t backend;  // its position in the automatic order
    bool integrated;      // shares the host's memory, and is slower than a card with its own
    std::uint32_t index;  // of the device in the backend
  };
  std::vector<SortKey> keys;
  for (std::size_t backend = 0; backend < opened.size(); ++backend) {
    for (std::uint32_t index = 0; index < opened[backend].devices.size(); ++index) {
      const DeviceInfo& info = opened[backend].devices[index];
      keys.push_back({detail::use_rank(info), backend, info.capabilities.unified_memory, index});
    }
  }
  std::ranges::sort(keys, {},
                    [](const SortKey& key) { return std::tuple(key.use, key.backend, key.integrated, key.index); });
  const auto id_of = [&](std::size_t backend, int index) {
    const auto found = std::ranges::find_if(
        keys, [&](const SortKey& key) { return key.backend == backend && static_cast<int>(key.index) == index; });
    return static_cast<int>(found - keys.begin());
  };
  for (const SortKey& key : keys) {
    const detail::OpenedBackend& backend = opened[key.backend];
    auto core = std::make_shared<detail::DeviceCore>();
    core->backend = backend.core;
    core->index = key.index;
    core->id = static_cast<int>(devices.size());
    core->info = backend.devices[key.index];
    if (core->info.parent) core->info.parent = id_of(key.backend, *core->info.parent);
    devices.emplace_back(std::move(core));
  }
}

DeviceRegistry::DeviceRegistry(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {
  runtime.check_fork("devices");
  for (const std::string& warning : detail::configuration_warnings(runtime.os(), runtime.settings())) {
    runtime.logger().log(LogLevel::warning, "settings", warning);
  }
  state_->open_all();
  state_->add_missing();
  std::ranges::sort(state_->opened, {}, [](const detail::OpenedBackend& one) {
    return std::pair(detail::automatic_rank(one.status.name), one.status.name);
  });
  state_->number_devices();
  for (const detail::OpenedBackend& one : state_->opened) {
    BackendStatus status = one.status;
    std::ranges::copy_if(state_->devices, std::back_inserter(status.devices),
                         [&](const Device& device) { return device.core()->backend == one.core; });
    if (status.state != BackendState::ready) {
      runtime.logger().log(LogLevel::info, "device",
                           fmt::format("backend {}: {}: {}", status.name, name(status.state), status.reason));
    }
    state_->statuses.push_back(std::move(status));
  }
}

DeviceRegistry::~DeviceRegistry() = default;

const std::vector<BackendStatus>& DeviceRegistry::backends() const noexcept { return state_->statuses; }
const std::vector<Device>& DeviceRegistry::devices() const noexcept { return state_->devices; }

std::optional<Device> DeviceRegistry::find(std::string_view text) const {
  const std::vector<Device>& all = state_->devices;
  if (const auto id = parse_number(text)) {
    if (*id < 0 || static_cast<std::size_t>(*id) >= all.size()) return std::nullopt;
    return all[static_cast<std::size_t>(*id)];
  }
  for (const std::string& name : {std::string(text), detail::with_plugin_name(text)}) {
    const auto found = std::ranges::find_if(
        all, [&](const Device& device) { return device.label() == name || device.backend() == name; });
    if (found != all.end()) return *found;
  }
  return detail::backend_part(text) == "metal" ? find_on_metal(all, text) : std::nullopt;
}

const Device& DeviceRegistry::at(int id, std::string_view op) const {
  const std::vector<Device>& all = state_->devices;
  if (id >= 0 && static_cast<std::size_t>(id) < all.size()) return all[static_cast<std::size_t>(id)];
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("device {} does not exist, the ids go from 0 to {}; `vectis devices` lists them", id,
                          all.size() - 1));
}

void DeviceRegistry::configure(std::string_view backend, std::string_view key, std::string_view value) {
  constexpr std::string_view op = "configure";
  state_->runtime.check_fork(op);
  const detail::OpenedBackend* found = state_->find_open(backend);
  if (found == nullptr) found = state_->find_open(detail::plugin_name(backend));
  if (found == nullptr) {
    throw Error(ErrorCode::unsupported_backend, op,
                fmt::format("backend '{}' is not open; `vectis doctor` says why", backend));
  }
  const detail::BackendCore& core = *found->core;
  if (core.slots.configure == nullptr) {
    throw Error(ErrorCode::unsupported, op, fmt::format("backend '{}' has no settings to change while open", backend));
  }
  detail::SlotMessage message;
  const VectisStatus status =
      core.slots.configure(core.state, std::string(key).c_str(), std::string(value).c_str(), message.get());
  if (status != VECTIS_OK) throw detail::slot_error(op, std::string(backend), status, message);
}

}  // namespace vectis::inline v0_1
