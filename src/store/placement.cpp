#include "store/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"
#include "device/backend_names.hpp"
#include "search/device_set.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// Returns the device of the recorded backend and name; prefers the recorded label when several match. Throws
// BackendCreation when there is none, and what choose_device throws when the backend is missing or not allowed.
Device find_recorded_device(Runtime& runtime, const DeviceRecord& record) {
  const std::string backend = record.label.substr(0, record.label.find(':'));
  (void)choose_device(runtime, {.device = backend});  // throws with the reason when the backend is missing
  std::optional<Device> found;
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    if (device.backend() != backend || device.info().name != record.name) continue;
    if (!found || device.label() == record.label) found = device;
  }
  if (found) return *found;
  throw Error(
      ErrorCode::backend_creation, "load",
      fmt::format("backend {} has no device named '{}'; `vectis devices` lists the devices", backend, record.name));
}

}  // namespace

std::vector<DeviceRecord> records_of(std::span<const Device> devices) {
  std::vector<DeviceRecord> records;
  for (const Device& device : devices) {
    records.push_back({std::string(detail::cut_utf8(device.label(), text_bytes_max)),
                       std::string(detail::cut_utf8(device.info().name, text_bytes_max))});
  }
  return records;
}

std::string gpu_backend_of(const Device& device) {
  if (device.backend() == "hip") return "rocm";
  if (is_on_metal(device)) return "metal";
  return std::string(device.backend());
}

std::string join_labels(std::span<const Device> devices) {
  std::string all;
  for (const Device& device : devices) all += (all.empty() ? "" : ", ") + device.label();
  return all;
}

RestoredDevices restore_devices(Runtime& runtime, const CollectionRecord& record) {
  const CollectionConfig& config = record.config;
  const bool named = config.device && !config.device->empty() && *config.device != "auto";
  const bool set = !named && config.index != "gpu" && runtime.settings().text("device") != "auto";
  if (record.devices.empty() || set) return {{.device = config.device}, {}, false};
  std::string labels;
  try {
    for (const DeviceRecord& one : record.devices) {
      const Device device = find_recorded_device(runtime, one);
      check_usable(runtime, device, config.index == "auto");
      labels += (labels.empty() ? "" : ",") + device.label();
    }
  } catch (const Error& error) {
    return {{.device = "cpu"}, error.what(), false};
  }
  return {{.device = labels}, {}, true};
}

}  // namespace vectis::inline v0_1::detail
