// Which backends and devices this Runtime has, and why the others are missing.
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

// What became of one backend. A missing one is a record, never a failure.
enum class BackendState : std::uint8_t {
  ready,          // open, with at least one device
  not_installed,  // no plug-in file of that name was found
  not_loadable,   // the file is no loadable library or exports no entry
  incompatible,   // another contract version, or a required slot is missing
  crashed,        // the probe died loading it (doctor only)
  no_library,     // the driver's loader library is missing
  no_driver,
  no_device,
  driver_too_old,
  no_permission,
  failed,  // any other reason its open gave
};

VECTIS_API std::string_view name(BackendState state) noexcept;

struct BackendStatus {
  std::string name;
  std::string path;  // of the plug-in; "built in" for the CPU
  std::string version;
  std::string requirement;  // minimum versions, in the plug-in's words
  std::string install;      // what to install, in the plug-in's words
  BackendState state = BackendState::failed;
  std::string reason;  // one sentence when not ready; when ready, what the plug-in has to tell, or nothing
  std::vector<Device> devices;
};

// Backends in their automatic order (CUDA, ROCm, Metal, WebGPU, OpenCL, CPU, then others by name), each opened once
// when the registry is made. A service of the Runtime: runtime.service<DeviceRegistry>(). Thread-safe.
class VECTIS_API DeviceRegistry {
 public:
  explicit DeviceRegistry(Runtime& runtime);
  ~DeviceRegistry();
  DeviceRegistry(const DeviceRegistry&) = delete;
  DeviceRegistry& operator=(const DeviceRegistry&) = delete;

  [[nodiscard]] const std::vector<BackendStatus>& backends() const noexcept;
  // All devices in the order of their ids: real GPUs and accelerators, then the CPU, then software drivers, so that
  // device 0 is always one that may be used unasked.
  [[nodiscard]] const std::vector<Device>& devices() const noexcept;
  // By id, by label ("opencl:1"), or by backend name, which means its first device. Empty when there is none.
  [[nodiscard]] std::optional<Device> find(std::string_view text) const;

  // Changes a setting of an open backend. UnsupportedBackend when it is not ready, Unsupported when it takes none,
  // InvalidInput when it does not know the key or the value.
  void configure(std::string_view backend, std::string_view key, std::string_view value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
