#include "store/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// The device of that name and backend, the one with the recorded label before others.
Device find_again(Runtime& runtime, const DeviceRecord& record) {
  const std::string backend = record.label.substr(0, record.label.find(':'));
  (void)choose_device(runtime, {.device = backend});  // says why there is none, or who forbids it
  std::optional<Device> found;
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    if (device.backend() != backend || device.info().name != record.name) continue;
    if (!found || device.label() == record.label) found = device;
  }
  if (found) return *found;
  throw Error(ErrorCode::backend_creation, "load", fmt::format("no device of {} is a '{}'", backend, record.name));
}

}  // namespace

std::vector<DeviceRecord> records_of(std::span<const Device> devices) {
  std::vector<DeviceRecord> records;
  for (const Device& device : devices) {
    records.push_back({device.label().substr(0, text_bytes_max), device.info().name.substr(0, text_bytes_max)});
  }
  return records;
}

std::string gpu_backend_of(const Device& device) {
  if (device.backend() == "hip") return "rocm";
  if (device.backend() == "webgpu" && device.info().driver.starts_with("Metal")) return "metal";
  return std::string(device.backend());
}

std::string labels_of(std::span<const Device> devices) {
  std::string all;
  for (const Device& device : devices) all += (all.empty() ? "" : ", ") + device.label();
  return all.empty() ? "cpu" : all;
}

Reopening reopen(Runtime& runtime, const CollectionRecord& record) {
  if (record.devices.empty()) return {{record.config.device}, {}};
  std::string labels;
  try {
    for (const DeviceRecord& device : record.devices) {
      labels += (labels.empty() ? "" : ",") + find_again(runtime, device).label();
    }
  } catch (const Error& error) {
    return {{"cpu"}, error.what()};
  }
  return {{labels}, {}};
}

}  // namespace vectis::inline v0_1::detail
