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

[[nodiscard]] std::vector<DeviceRecord> records_of(std::span<const Device> devices);
// Returns "cuda", "rocm", "metal", "webgpu", "opencl", or the name of a third-party backend.
[[nodiscard]] std::string gpu_backend_of(const Device& device);
// Returns the labels joined by ", ", such as "opencl:0, opencl:1"; "cpu" when there is no device.
[[nodiscard]] std::string join_labels(std::span<const Device> devices);

struct RestoredDevices {
  IndexOptions options;  // for load_index; names the CPU when the recorded devices cannot be used
  std::string missing;   // why the recorded devices cannot be used; empty: they can, or none were recorded
};
// Finds the recorded devices on this machine. All of them must exist and be allowed by the settings.
[[nodiscard]] RestoredDevices restore_devices(Runtime& runtime, const CollectionRecord& record);

}  // namespace vectis::inline v0_1::detail
