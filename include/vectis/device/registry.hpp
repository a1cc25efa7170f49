// The backends and devices of a Runtime, and the reasons why others are missing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1 {

// The outcome of opening one backend, in BackendStatus and Diagnosis. A backend that is not ready is a state, never
// an exception.
enum class BackendState : std::uint8_t {
  ready,           // open, with at least one device
  not_installed,   // no plug-in file of that name was found
  not_loadable,    // the file is not a loadable library or lacks the entry function
  incompatible,    // another ABI version, or a required slot is missing
  misnamed,        // the file's name and the name in the plug-in's table differ
  crashed,         // the probe process died while loading it (doctor only)
  no_library,      // the driver's loader library is missing
  no_driver,       // the loader library found no driver
  no_device,       // the driver offers no device
  driver_too_old,  // the driver's version is below the plug-in's requirement
  no_permission,   // a device node exists and this user may not open it
  failed,          // any other failure of its open
};

// Returns the state's name as doctor and logs print it, such as "no driver"; "unknown" for a value that is not in the
// enum. Does not throw.
VECTIS_API std::string_view name(BackendState state) noexcept;

// One backend and the outcome of opening it. `devices` is empty unless `state` is BackendState::ready.
struct BackendStatus {
  std::string name;
  std::string path;  // of the plug-in; "built in" for the CPU
  std::string version;
  std::string requirement;  // minimum versions, as the plug-in states them
  std::string install;      // what to install, as the plug-in states it
  BackendState state = BackendState::failed;
  std::string reason;  // when not ready, one sentence; when ready, a note of the plug-in, or empty
  std::vector<Device> devices;
};

// The backends and devices of a Runtime. Opens every backend once, when it is made; a backend that cannot be opened
// is a BackendStatus, not an exception. Get it with runtime.service<DeviceRegistry>(). Thread-safe.
class VECTIS_API DeviceRegistry {
 public:
  // Opens every plug-in found and the built-in CPU backend of `runtime`, which must outlive the registry. A backend
  // that cannot be opened becomes a BackendStatus with a reason. Throws Forked in a child process forked after the
  // Runtime was made.
  explicit DeviceRegistry(Runtime& runtime);
  ~DeviceRegistry();
  DeviceRegistry(const DeviceRegistry&) = delete;
  DeviceRegistry& operator=(const DeviceRegistry&) = delete;

  // Returns the status of every backend in the automatic order: CUDA, ROCm (hip), Metal, WebGPU, OpenCL, others by
  // name, CPU. Valid as long as the registry. Does not throw.
  [[nodiscard]] const std::vector<BackendStatus>& backends() const noexcept;
  // Returns all devices in the order of their ids: real GPUs and accelerators, then the CPU, then software drivers,
  // so that device 0 may always be chosen automatically. Valid as long as the registry. Does not throw.
  [[nodiscard]] const std::vector<Device>& devices() const noexcept;
  // Returns the device with the id ("1") or label ("opencl:1") `text`, or the first device of the backend `text`
  // ("opencl"); an empty optional when there is none. "rocm" is the backend "hip", and "metal" the GPUs that "webgpu"
  // drives through Metal. Does not know "auto" and "gpu": see choose_device.
  [[nodiscard]] std::optional<Device> find(std::string_view text) const;
  // Returns the device with this id, valid as long as the registry; ids go from 0 to devices().size() - 1. Throws
  // InvalidInput, naming `op` and the valid ids, when there is no such device.
  [[nodiscard]] const Device& at(int id, std::string_view op) const;

  // Changes the setting `key` of the open backend `backend` ("rocm" is "hip") to `value`. Throws UnsupportedBackend
  // when the backend is not ready, Unsupported when it has no settings that can change while open, InvalidInput when it
  // rejects the key or the value, Forked in a child process.
  void configure(std::string_view backend, std::string_view key, std::string_view value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
