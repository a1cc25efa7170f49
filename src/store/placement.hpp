// Where a collection is searched: how devices are recorded, called, and found again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/collection_record.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::detail {

[[nodiscard]] std::vector<DeviceRecord> records_of(std::span<const Device> devices);

// "cuda", "rocm", "metal", "webgpu", "opencl", or a foreign backend's own name.
[[nodiscard]] std::string gpu_backend_of(const Device& device);
// "opencl:0, opencl:1"; "cpu" for none.
[[nodiscard]] std::string labels_of(std::span<const Device> devices);

struct Reopening {
  IndexOptions options;
  std::string missing;  // why the recorded devices cannot be used; empty: they can, or there are none
};

// The devices of the record if all of them are here and allowed, else this processor.
[[nodiscard]] Reopening reopen(Runtime& runtime, const CollectionRecord& record);

}  // namespace vectis::inline v0_1::detail
