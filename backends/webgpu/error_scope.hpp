// The errors of the wgpu calls that one thread makes while a scope is open.
//
//   ErrorScope scope(gpu);
//   Owned<WGPUBuffer> buffer(api.DeviceCreateBuffer(...), api.BufferRelease);
//   scope.check("a buffer of 8 bytes", VECTIS_INVALID_INPUT);
//
// This replaces wgpuDevicePushErrorScope: wgpu-native keeps one stack of scopes for a device, so the scope of one
// thread would catch the errors of another. Errors outside of any wgpu scope are reported at once to the device's
// callback, on the thread that made the call, and Gpu's callback passes them to that thread's innermost ErrorScope.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api.hpp"

namespace vectis::webgpu {

class Gpu;

// One thread at a time; scopes of one thread nest.
class ErrorScope {
 public:
  explicit ErrorScope(Gpu& gpu) noexcept;
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  // Throws when a call since the constructor failed: DEVICE_LOST when the device is lost, ALLOCATION when memory is
  // exhausted, DRIVER_FAILURE for an error inside wgpu, and `invalid` for a validation error. `what` begins the
  // message.
  void check(std::string_view what, VectisStatus invalid);

  // Stores the error in this thread's innermost scope; false when the thread has none for this device.
  static bool capture(const Gpu& gpu, WGPUErrorType type, std::string_view text);

 private:
  struct CapturedError {
    WGPUErrorType type;
    std::string text;
  };

  Gpu& gpu_;
  ErrorScope* outer_;
  std::optional<CapturedError> first_;
};

// wgpu's error text without its constant first lines.
std::string trim_error(std::string_view text);

// The text of a failed shader module with a first line of the form "wgsl:LINE:COLUMN: error: MESSAGE". A text without a
// location comes back unchanged.
std::string describe_shader_error(std::string_view text);

}  // namespace vectis::webgpu
