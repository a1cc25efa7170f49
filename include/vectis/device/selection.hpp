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

// Which device choose_device() should select. Empty fields are taken from the Runtime's settings (`device`,
// `gpu.enabled`, `gpu.allow_software`).
struct DeviceRequest {
  // "auto", "cpu", "gpu" (the first GPU), a backend ("opencl"), a label ("opencl:1") or a device id ("2"). "rocm" is
  // another name of the backend "hip"; "metal" stands for the GPUs that "webgpu" drives through Metal.
  std::optional<std::string> device = std::nullopt;
  std::optional<bool> gpu_enabled = std::nullopt;     // false: only the CPU
  std::optional<bool> allow_software = std::nullopt;  // true: software drivers (PoCL, llvmpipe) count as GPUs
};

// The result of choose_device(): the device and one sentence that says why it was selected.
struct DeviceChoice {
  Device device;
  std::string reason;  // one sentence: what requested it, or why the automatic selection ended here
};

// Selects a device without creating a context; "auto" selects the first allowed device in the automatic order, which
// ends with the CPU. "auto" and "gpu" select no device that can run no kernels (DeviceInfo::dialects is empty). Throws
// UnsupportedBackend when no backend has the requested name, BackendCreation when it is not usable or `gpu.enabled`
// forbids it, InvalidInput for an unknown id or an invalid setting, Forked in a child process.
VECTIS_API DeviceChoice choose_device(Runtime& runtime, const DeviceRequest& request = {});

// Returns every device that `request` allows, the result of choose_device first: for "auto" all allowed devices in
// the automatic order, for "gpu" all GPUs, otherwise the named device. A card that several backends see is returned
// once, by its first backend. Throws UnsupportedBackend for an unknown name,
// BackendCreation when the device is not usable, InvalidInput for an unknown id, Forked in a child process.
VECTIS_API std::vector<Device> allowed_devices(Runtime& runtime, const DeviceRequest& request = {});

// Selects a device like choose_device and creates a context on it. For "auto", devices whose context cannot be
// created are skipped with a logged warning. Throws UnsupportedBackend for an unknown name, InvalidInput for an
// unknown id, BackendCreation when the named device is not usable or its context cannot be created, Forked in a child
// process.
VECTIS_API DeviceContext open_device(Runtime& runtime, const DeviceRequest& request = {});

// Returns the device that the Runtime's settings select: choose_device(runtime).device. Throws UnsupportedBackend,
// BackendCreation or InvalidInput when the setting `device` names a device that does not exist or is not usable,
// Forked in a child process.
VECTIS_API Device default_device(Runtime& runtime = Runtime::get_default());
// Returns true when a backend is ready that has a real GPU or accelerator that can run kernels. Software drivers do not
// count, also when `gpu.allow_software` is true; `gpu.enabled` is not considered. Throws Forked in a child process.
VECTIS_API bool is_gpu_available(Runtime& runtime = Runtime::get_default());
// Returns true when CUDA is ready with a real GPU that can run kernels. Software drivers and `gpu.enabled` count as in
// is_gpu_available, for this and the functions below, which all throw Forked in a child process.
VECTIS_API bool is_cuda_available(Runtime& runtime = Runtime::get_default());
// Returns true when HIP (AMD's ROCm) is ready with a real GPU. Throws Forked in a child process.
VECTIS_API bool is_hip_available(Runtime& runtime = Runtime::get_default());
// Returns is_hip_available(runtime): ROCm is the name of AMD's driver and tools, HIP that of its programming interface.
VECTIS_API bool is_rocm_available(Runtime& runtime = Runtime::get_default());
// Returns true when a GPU can be used through Metal: by WebGPU on Apple's systems, or by a third-party backend "metal".
// Vectis has no Metal backend of its own yet. Throws Forked in a child process.
VECTIS_API bool is_metal_available(Runtime& runtime = Runtime::get_default());
// Returns true when WebGPU is ready with a real GPU. Throws Forked in a child process.
VECTIS_API bool is_webgpu_available(Runtime& runtime = Runtime::get_default());
// Returns true when OpenCL is ready with a real GPU; false with PoCL alone. Throws Forked in a child process.
VECTIS_API bool is_opencl_available(Runtime& runtime = Runtime::get_default());
// Returns the name of the backend of the first real GPU or accelerator that can run kernels in the automatic order;
// "cpu" when there is none. The settings are not considered. Throws Forked in a child process.
VECTIS_API std::string detect_best_backend(Runtime& runtime = Runtime::get_default());

// Returns the device that this thread set last with set_active_device for `runtime`, else default_device(runtime).
// Throws Forked in a child process and, when this thread set none, what default_device throws.
VECTIS_API Device active_device(Runtime& runtime = Runtime::get_default());
// Sets the device that active_device() returns in the calling thread for `runtime`; other threads keep theirs. An index
// on several devices puts the vectors that the thread adds on that device. Throws InvalidInput, naming the valid ids,
// when there is no device `id`, Forked in a child process.
VECTIS_API void set_active_device(int id, Runtime& runtime = Runtime::get_default());
// Undoes set_active_device in the calling thread, so that active_device() returns the default device again. Throws
// Forked in a child process.
VECTIS_API void reset_active_device(Runtime& runtime = Runtime::get_default());
// Returns the device that this thread set last with set_active_device for `runtime`; nothing when it set none. Throws
// Forked in a child process.
VECTIS_API std::optional<Device> thread_device(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
