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

// Outcome of opening one backend. A backend that is not ready is a status, never an exception.
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

// "no driver", as doctor and logs print it.
VECTIS_API std::string_view name(BackendState state) noexcept;

// One backend and the outcome of opening it.
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

// Opens every backend once, when it is made. Get it with runtime.service<DeviceRegistry>(). Thread-safe.
class VECTIS_API DeviceRegistry {
 public:
  // Never throws for a backend that cannot be opened. Throws Forked in a child process.
  explicit DeviceRegistry(Runtime& runtime);
  ~DeviceRegistry();
  DeviceRegistry(const DeviceRegistry&) = delete;
  DeviceRegistry& operator=(const DeviceRegistry&) = delete;

  // In the automatic order: CUDA, ROCm (hip), Metal, WebGPU, OpenCL, others by name, CPU.
  [[nodiscard]] const std::vector<BackendStatus>& backends() const noexcept;
  // In the order of their ids: real GPUs and accelerators, then the CPU, then software drivers. Device 0 is therefore
  // always one that may be chosen automatically.
  [[nodiscard]] const std::vector<Device>& devices() const noexcept;
  // The device with this id ("1"), label ("opencl:1"), or the first one of this backend ("opencl"). Empty when there is
  // none.
  [[nodiscard]] std::optional<Device> find(std::string_view text) const;
  // The device with this id. Throws InvalidInput, naming `op` and the valid ids, when there is none.
  [[nodiscard]] const Device& at(int id, std::string_view op) const;

  // Changes a setting of an open backend. Throws UnsupportedBackend when the backend is not ready, Unsupported when it
  // has no settings that can change while open, InvalidInput when it rejects the key or the value.
  void configure(std::string_view backend, std::string_view key, std::string_view value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
