#include "search/device_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/ranking.hpp"
#include "memory/device_pool.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/memory/pool.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1::detail {

namespace {

bool is_cpu(const Device& device) { return device.backend() == "cpu"; }

}  // namespace

std::vector<Device> named_devices(Runtime& runtime, std::string_view names) {
  std::vector<Device> devices;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    std::string_view one = names.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    devices.push_back(choose_device(runtime, {.device = std::string(one)}).device);
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return devices;
}

std::optional<IndexDevices> asked_devices(Runtime& runtime, const IndexOptions& options) {
  if (!options.device || options.device->empty() || *options.device == "auto") return std::nullopt;
  IndexDevices asked{named_devices(runtime, *options.device),
                     fmt::format("'{}' was requested by the call", *options.device)};
  asked.host = std::ranges::any_of(asked.devices, is_cpu);
  return asked;
}

std::optional<IndexDevices> device_of_setting(Runtime& runtime) {
  if (runtime.settings().text("device") == "auto") return std::nullopt;
  const DeviceChoice choice = choose_device(runtime);
  IndexDevices asked{{choice.device}, choice.reason};
  asked.host = is_cpu(choice.device);
  return asked;
}

bool only_cpu(const IndexDevices& asked) { return std::ranges::all_of(asked.devices, is_cpu); }

bool is_lost(Runtime& runtime, const Device& device) {
  try {
    return memory_pool(runtime).device_pool(device.id())->context().lost();
  } catch (const Error&) {
    return false;
  }
}

void check_usable(Runtime& runtime, const Device& device, bool planned) {
  if (memory_pool(runtime).device_pool(device.id())->context().lost()) {
    throw Error(ErrorCode::device_lost, "make_index",
                fmt::format("{} was lost; use it with a new Runtime, or name another device", device.label()));
  }
  if (planned) (void)profile(device);
}

UsableDevices usable_devices(Runtime& runtime, const std::vector<Device>& devices, bool planned) {
  UsableDevices result;
  for (const Device& device : devices) {
    const auto same =
        std::ranges::find_if(result.devices, [&](const Device& used) { return is_same_card(used, device); });
    if (same != result.devices.end()) {
      runtime.logger().log(
          LogLevel::info, "search",
          fmt::format("an index is made without {}, the same card as {}", device.label(), same->label()));
      continue;
    }
    try {
      check_usable(runtime, device, planned);
      result.devices.push_back(device);
    } catch (const Error& error) {
      const std::string failure = fmt::format("{} cannot be used: {}", device.label(), error.what());
      runtime.logger().log(LogLevel::warning, "search", fmt::format("an index is made without {}", failure));
      result.failures += (result.failures.empty() ? "" : "; ") + failure;
    }
  }
  return result;
}

void log_devices(const Runtime& runtime, const Index& index) {
  if (!runtime.logger().wants(LogLevel::info)) return;
  const IndexDevices devices = index.devices();
  runtime.logger().log(
      LogLevel::info, "search",
      fmt::format("an index of kind '{}' may use {}: {}", index.kind(), devices.labels(), devices.reason));
}

}  // namespace vectis::inline v0_1::detail
