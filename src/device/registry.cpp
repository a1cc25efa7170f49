#include "vectis/device/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>
#include <utility>

#include "device/call.hpp"
#include "device/cores.hpp"
#include "device/plugin.hpp"

namespace vectis::inline v0_1 {

struct DeviceRegistry::State {
  Runtime& runtime;
  std::vector<detail::OpenedBackend> opened;  // in automatic order
  std::vector<BackendStatus> statuses;
  std::vector<Device> devices;

  explicit State(Runtime& owner) : runtime(owner) {}

  void open_all();
  void add_missing();
  void number_devices();
  [[nodiscard]] detail::OpenedBackend* find_open(std::string_view backend);
};

std::string_view name(BackendState state) noexcept {
  switch (state) {
    case BackendState::ready:
      return "ready";
    case BackendState::not_installed:
      return "not installed";
    case BackendState::not_loadable:
      return "not loadable";
    case BackendState::incompatible:
      return "incompatible";
    case BackendState::crashed:
      return "crashed";
    case BackendState::no_library:
      return "no library";
    case BackendState::no_driver:
      return "no driver";
    case BackendState::no_device:
      return "no device";
    case BackendState::driver_too_old:
      return "driver too old";
    case BackendState::no_permission:
      return "no permission";
    case BackendState::failed:
      return "failed";
  }
  return "unknown";
}

namespace {

// Plug-ins of ours, then the CPU, then strangers': one that wraps another finds it open.
int opening_rank(const detail::PluginFile& file) {
  const int rank = detail::automatic_rank(file.name);
  return rank < detail::automatic_rank("opencl") + 1 ? 0 : 1;
}

// Real GPUs first, the CPU, then software drivers: the order of ids.
int use_rank(const DeviceInfo& info) {
  if (info.software) return 2;
  return info.kind == DeviceKind::cpu ? 1 : 0;
}

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

detail::OpenedBackend* DeviceRegistry::State::find_open(std::string_view backend) {
  const auto found = std::ranges::find_if(
      opened, [&](const detail::OpenedBackend& one) { return one.core != nullptr && one.status.name == backend; });
  return found == opened.end() ? nullptr : &*found;
}

void DeviceRegistry::State::open_all() {
  const auto finder = [this](const std::string& wanted, const VectisBackend** table, VectisBackendState** state) {
    const detail::OpenedBackend* found = find_open(wanted);
    if (found == nullptr) return false;
    *table = &found->core->slots;
    *state = found->core->state;
    return true;
  };
  std::vector<detail::PluginFile> files = detail::find_plugins(runtime.os(), runtime.settings());
  std::ranges::sort(files, {}, [](const auto& file) { return std::pair(opening_rank(file), file.name); });
  const auto strangers = std::ranges::find_if(files, [](const auto& file) { return opening_rank(file) == 1; });
  for (auto file = files.begin(); file != strangers; ++file)
    opened.push_back(detail::open_plugin(runtime, *file, finder));
  opened.push_back(detail::open_builtin_cpu(runtime));
  for (auto file = strangers; file != files.end(); ++file)
    opened.push_back(detail::open_plugin(runtime, *file, finder));
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
  // (use, automatic order, index): the key of a device's id.
  struct Place {
    int use;
    std::size_t backend;
    std::uint32_t index;
  };
  std::vector<Place> places;
  for (std::size_t backend = 0; backend < opened.size(); ++backend) {
    for (std::uint32_t index = 0; index < opened[backend].devices.size(); ++index) {
      places.push_back({use_rank(opened[backend].devices[index]), backend, index});
    }
  }
  std::ranges::sort(places, {}, [](const Place& place) { return std::tuple(place.use, place.backend, place.index); });
  const auto id_of = [&](std::size_t backend, int index) {
    const auto found = std::ranges::find_if(
        places, [&](const Place& place) { return place.backend == backend && static_cast<int>(place.index) == index; });
    return static_cast<int>(found - places.begin());
  };
  for (const Place& place : places) {
    const detail::OpenedBackend& backend = opened[place.backend];
    auto core = std::make_shared<detail::DeviceCore>();
    core->backend = backend.core;
    core->index = place.index;
    core->id = static_cast<int>(devices.size());
    core->info = backend.devices[place.index];
    if (core->info.parent) core->info.parent = id_of(place.backend, *core->info.parent);
    devices.emplace_back(std::move(core));
  }
}

DeviceRegistry::DeviceRegistry(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {
  runtime.check_fork("devices");
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
  const auto found = std::ranges::find_if(all, [&](const Device& device) {
    return device.label() == text || (device.backend() == text && device.core()->index == 0);
  });
  if (found == all.end()) return std::nullopt;
  return *found;
}

void DeviceRegistry::configure(std::string_view backend, std::string_view key, std::string_view value) {
  constexpr std::string_view op = "configure";
  state_->runtime.check_fork(op);
  const detail::OpenedBackend* found = state_->find_open(backend);
  if (found == nullptr) {
    throw Error(ErrorCode::unsupported_backend, op, fmt::format("there is no open backend '{}'", backend));
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
