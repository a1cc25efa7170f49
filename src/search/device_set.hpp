// The devices that an index may use. They are chosen and opened when the index is made, so that a device that cannot be
// used is reported then, and not by leaving it out of searches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::detail {

// Returns the devices of a list of names separated by commas. Throws as choose_device does for each name.
[[nodiscard]] std::vector<Device> named_devices(Runtime& runtime, std::string_view names);

// Returns the devices that the options name, and the reason; nothing when the options leave the choice open.
// IndexDevices::host is true when the names include the CPU. Throws as choose_device does for each name.
[[nodiscard]] std::optional<IndexDevices> asked_devices(Runtime& runtime, const IndexOptions& options);
// Returns the device that the setting `device` (VECTIS_DEVICE) names, and the reason; nothing for "auto".
// IndexDevices::host is true for the CPU. Throws as choose_device does.
[[nodiscard]] std::optional<IndexDevices> device_of_setting(Runtime& runtime);
// Returns whether there is no device but the CPU.
[[nodiscard]] bool only_cpu(const IndexDevices& asked);

// Opens `device` as searches use it. `planned`: also measures its speed, unless that is known, since the planner
// cannot choose a device without it. Throws the device's own error when it cannot be used, DeviceLost when it was lost
// before.
void check_usable(Runtime& runtime, const Device& device, bool planned);

// Returns whether the device was lost since searches use it; false where that cannot be asked, as in a forked child.
[[nodiscard]] bool is_lost(Runtime& runtime, const Device& device);

// The devices that can be used, and why the others cannot.
struct UsableDevices {
  std::vector<Device> devices;
  std::string failures;  // "opencl:0 cannot be used: ...", several joined by "; "; empty: all can be used
};
// Opens each device as check_usable does, and leaves out those that fail, with a warning in the log, and those that are
// the same card as an earlier one that works through another backend.
[[nodiscard]] UsableDevices usable_devices(Runtime& runtime, const std::vector<Device>& devices, bool planned);

// Logs, at level info, which devices the index may use and why.
void log_devices(const Runtime& runtime, const Index& index);

}  // namespace vectis::inline v0_1::detail
