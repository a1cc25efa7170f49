// The error of a device that failed during a search.
#pragma once

#include "vectis/base/error.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::detail {

// An Error that a device caused during a search, with the device's label in its message. Its code is that of the
// device's error, which may also be InvalidInput or Unsupported: the type separates such errors from errors of the
// caller. Immutable, thread-safe.
class DeviceFailure final : public Error {
 public:
  // Makes the error of `device` from the one that the device threw; code and detail stay the same. Throws
  // std::bad_alloc when memory runs out.
  DeviceFailure(const Error& error, const Device& device);
};

// Throws the exception that is being handled again: an Error as DeviceFailure of `device`, but Cancelled,
// DeadlineExceeded, OutOfMemoryError and other exceptions as they are. Call it in a handler only.
[[noreturn]] void rethrow_as_device_failure(const Device& device);

}  // namespace vectis::inline v0_1::detail
