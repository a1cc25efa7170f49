// What wgpu says of the calls one thread makes while a trap is open.
//
//   Trap trap(gpu);
//   Owned buffer(api.DeviceCreateBuffer(...), api.BufferRelease);
//   trap.check("a buffer of 8 bytes", VECTIS_INVALID_INPUT);
//
// wgpu-native keeps one stack of error scopes for a device, so the scope of one thread would catch the errors of
// another. Errors that no scope catches are told at once to a callback, on the thread that made the call: that is what
// a trap listens to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api.hpp"
#include "status.hpp"

namespace vectis::webgpu {

class Gpu;

class Trap {
 public:
  explicit Trap(Gpu& gpu) noexcept;
  ~Trap();
  Trap(const Trap&) = delete;
  Trap& operator=(const Trap&) = delete;

  // Throws when a call since the constructor failed: DEVICE_LOST when the device is gone, ALLOCATION for want of
  // memory, DRIVER_FAILURE for an error inside wgpu, and `refused` when wgpu found the call wrong.
  void check(std::string_view what, VectisStatus refused);

  // Keeps the error in this thread's innermost trap; false when there is none for the device.
  static bool keep(const Gpu& gpu, WGPUErrorType type, std::string_view words);

 private:
  struct Caught {
    WGPUErrorType type;
    std::string words;
  };

  Gpu& gpu_;
  Trap* outer_;
  std::optional<Caught> caught_;  // the first error
};

// wgpu's words without the lines that say nothing.
std::string tidy(std::string_view words);

}  // namespace vectis::webgpu
