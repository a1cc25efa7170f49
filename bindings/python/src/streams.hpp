// Streams of the devices, which calls borrow.
#pragma once

#include <memory>
#include <optional>

#include "devices.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::python {

// A stream in the context of the memory pool of a device, for one call at a time. Streams are kept for later calls;
// one whose work failed is not. Make and destroy it without the GIL, since both may wait.
class BorrowedStream {
 public:
  // Borrows an idle stream or makes one. Throws BackendCreation or DeviceLost when the device cannot be used,
  // Forked in a forked child.
  explicit BorrowedStream(const PyDevice& device);
  // Waits for the work of the stream unless finish() did, without reporting its errors.
  ~BorrowedStream();
  BorrowedStream(const BorrowedStream&) = delete;
  BorrowedStream& operator=(const BorrowedStream&) = delete;

  Stream& operator*() noexcept { return *stream_; }
  Stream* operator->() noexcept { return &*stream_; }
  // Waits for all work and throws its first error. Must be the last call.
  void finish();

 private:
  PyDevice device_;
  std::optional<Stream> stream_;
  bool finished_ = false;
};

// Returns the context in which the memory pool allocates on this device. Throws as BorrowedStream.
DeviceContext pool_context(const PyDevice& device);

}  // namespace vectis::python
