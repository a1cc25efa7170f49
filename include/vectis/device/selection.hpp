// Selects a device: automatically, by environment, file or API, or per thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1 {

// Which device to select. Empty fields are taken from the Runtime's settings (`device`, `gpu.enabled`,
// `gpu.allow_software`).
struct DeviceRequest {
  // "auto", "cpu", "gpu" (the first GPU), a backend ("opencl"), a label ("opencl:1") or a device id ("2").
  std::optional<std::string> device = std::nullopt;
  std::optional<bool> gpu_enabled = std::nullopt;     // false: only the CPU
  std::optional<bool> allow_software = std::nullopt;  // true: software drivers (PoCL, llvmpipe) count as GPUs
};

// Result of choose_device.
struct DeviceChoice {
  Device device;
  std::string reason;  // one sentence: what requested it, or why the automatic selection ended here
};

// Selects a device without creating a context on it. "auto" selects the first allowed device in the automatic order,
// which ends with the CPU. A named device that does not exist throws: UnsupportedBackend when there is no such backend,
// BackendCreation with the doctor's reason when the backend is not usable, InvalidInput when there is no such id.
VECTIS_API DeviceChoice choose_device(Runtime& runtime, const DeviceRequest& request = {});

// Every device that a request allows, the result of choose_device first: for "auto" all allowed devices in the
// automatic order, for "gpu" all GPUs, otherwise the named device alone. Throws as choose_device.
VECTIS_API std::vector<Device> allowed_devices(Runtime& runtime, const DeviceRequest& request = {});

// Selects a device as choose_device and creates a context on it. For "auto" a device whose context cannot be created is
// skipped with a logged warning; for a named device the failure is thrown.
VECTIS_API DeviceContext open_device(Runtime& runtime, const DeviceRequest& request = {});

// choose_device(runtime).device.
VECTIS_API Device default_device(Runtime& runtime = Runtime::get_default());
// True when a real GPU is usable. Software drivers do not count, also when gpu.allow_software is true.
VECTIS_API bool is_gpu_available(Runtime& runtime = Runtime::get_default());
// The backend of the first real GPU in the automatic order, or "cpu".
VECTIS_API std::string detect_best_backend(Runtime& runtime = Runtime::get_default());

// The device set last by this thread with set_active_device, else default_device(). Thread-local.
VECTIS_API Device active_device(Runtime& runtime = Runtime::get_default());
// Sets the active device of the calling thread. Throws InvalidInput, naming the valid ids, when there is no such
// device.
VECTIS_API void set_active_device(int id, Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
