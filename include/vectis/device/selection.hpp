// Choosing a device: automatically, by environment, file or API, and per thread.
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

// What may be chosen. Empty fields are taken from the Runtime's settings (`device`, `gpu.enabled`,
// `gpu.allow_software`).
struct DeviceRequest {
  // "auto"; "cpu"; "gpu": any GPU; a backend's name; a label such as "opencl:1"; a device id.
  std::optional<std::string> device = std::nullopt;
  std::optional<bool> gpu_enabled = std::nullopt;     // false: only the CPU
  std::optional<bool> allow_software = std::nullopt;  // true: software drivers (PoCL, llvmpipe) count as GPUs
};

struct DeviceChoice {
  Device device;
  std::string reason;  // one sentence: who asked for it, or why nothing before it in the order would do
};

// The device a request means, without touching it. Under "auto" the first allowed one in the automatic order; the CPU
// is always allowed. A forced device that is not there is UnsupportedBackend (no such backend), BackendCreation (there,
// but unusable: the doctor's reason) or InvalidInput (no such number).
VECTIS_API DeviceChoice choose_device(Runtime& runtime, const DeviceRequest& request = {});

// Every device a request allows, the one choose_device returns first: under "auto" all allowed ones in the automatic
// order, under "gpu" all that count as one, else the one that was forced. Fails as choose_device does.
VECTIS_API std::vector<Device> allowed_devices(Runtime& runtime, const DeviceRequest& request = {});

// Chooses and creates a context. Under "auto" a device whose context cannot be created is passed over with a warning
// that carries the reason; a forced device that fails is an Error.
VECTIS_API DeviceContext open_device(Runtime& runtime, const DeviceRequest& request = {});

// The names the documents use, on the default Runtime unless one is given.
VECTIS_API Device default_device(Runtime& runtime = Runtime::get_default());
// True when a real GPU is there and usable; a software driver never counts.
VECTIS_API bool is_gpu_available(Runtime& runtime = Runtime::get_default());
// The backend of the first real GPU in the automatic order, or "cpu".
VECTIS_API std::string detect_best_backend(Runtime& runtime = Runtime::get_default());

// This thread's device: the one set last by this thread, else default_device.
VECTIS_API Device active_device(Runtime& runtime = Runtime::get_default());
// InvalidInput, with the ids that exist, when there is no such device.
VECTIS_API void set_active_device(int id, Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
