// Which devices search a collection: recording them in a file, naming them, and finding them again after loading.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/store_format.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::detail {

// Returns the label and name of each device, each cut to text_bytes_max bytes, to be saved with a collection.
[[nodiscard]] std::vector<DeviceRecord> records_of(std::span<const Device> devices);
// Returns the name of the device's backend for users: "cuda", "rocm", "metal", "webgpu", "opencl", or that of a
// third-party backend.
[[nodiscard]] std::string gpu_backend_of(const Device& device);
// Returns the labels of the devices joined by ", ", such as "opencl:0, opencl:1".
[[nodiscard]] std::string join_labels(std::span<const Device> devices);

// The devices on which a loaded collection is searched, as restore_devices finds them.
struct RestoredDevices {
  IndexOptions options;   // for load_index; names the CPU when the recorded devices cannot be used
  std::string missing;    // why the recorded devices cannot be used; empty: they can, or are not used
  bool recorded = false;  // whether the options name the recorded devices
};
// Finds the devices that `record` names on this machine and opens them. When one of them does not exist, is not allowed
// by the settings or cannot be opened, returns the CPU and the reason in `missing` instead of throwing an Error. The
// setting `device` replaces recorded devices that the collection's configuration does not name.
[[nodiscard]] RestoredDevices restore_devices(Runtime& runtime, const CollectionRecord& record);

}  // namespace vectis::inline v0_1::detail
