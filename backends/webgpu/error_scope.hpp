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

// Captures the first error of the wgpu calls that this thread makes on one device while the scope exists. Scopes of
// one thread nest and are destroyed in reverse order; a scope is used by the thread that created it.
class ErrorScope {
 public:
  // Opens a scope for `gpu`, which must outlive it; it is now the thread's innermost one. Does not throw.
  explicit ErrorScope(Gpu& gpu) noexcept;
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  // Does nothing when no call since the constructor failed. Otherwise throws Failure: VECTIS_DEVICE_LOST when the
  // device is lost, VECTIS_ALLOCATION when memory is exhausted, `invalid` for a validation error,
  // VECTIS_DRIVER_FAILURE for any other error. `what` begins the message.
  void check(std::string_view what, VectisStatus invalid);

  // Stores an error in this thread's innermost scope, which keeps the first, and returns true. Returns false, with
  // nothing stored, when the thread has no scope or its innermost one belongs to another device. Does not throw: an
  // error without host memory for its text counts as exhausted memory.
  static bool capture(const Gpu& gpu, WGPUErrorType type, std::string_view text) noexcept;

 private:
  struct CapturedError {
    WGPUErrorType type;
    std::string text;
  };

  Gpu& gpu_;
  ErrorScope* outer_;
  std::optional<CapturedError> first_;
};

// Returns wgpu's error text without its constant first lines ("Validation Error", "Caused by:", "In wgpu...") and
// without blanks around it. Other texts are only trimmed.
std::string trim_error(std::string_view text);

// Returns trim_error(text), or "no host memory" when the host has no memory for it. For wgpu's callbacks: an exception
// that reaches wgpu aborts the process. Does not throw.
std::string copy_error(std::string_view text) noexcept;

// Returns the error text of a failed shader module with a first line "wgsl:LINE:COLUMN: error: MESSAGE" added. A text
// without message or location comes back unchanged.
std::string describe_shader_error(std::string_view text);

}  // namespace vectis::webgpu
