// The arrays of one launch: copies on the device of NumPy arrays, and DeviceArrays as they are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device_arrays.hpp"
#include "devices.hpp"
#include "streams.hpp"
#include "vectis/base/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::python {

// How a launch uses an array of Python.
enum class ArrayUse : std::uint8_t {
  read,
  write,  // the array must be writable and contiguous
  any,    // written if it is writable: the kernel does not say
};

// One array argument of a launch. Make and destroy it with the GIL.
class ArrayArgument {
 public:
  // Takes a DeviceArray or an array with the buffer protocol. Throws InvalidInput, naming `op` and `what`, for other
  // objects, and as HostArray.
  ArrayArgument(nanobind::handle object, ArrayUse use, std::string_view op, std::string_view what);

  [[nodiscard]] DType type() const noexcept { return host_ ? host_->type() : on_device_->type(); }
  [[nodiscard]] std::vector<std::size_t> shape() const { return host_ ? host_->shape() : on_device_->shape(); }
  // Returns the DeviceArray that was passed; null for an array of the host.
  [[nodiscard]] const DeviceArray* passed() const noexcept { return host_ ? nullptr : on_device_; }
  [[nodiscard]] const DeviceMemory& memory() const { return on_device_->memory(); }

  // Allocates memory for an array of the host and enqueues its copy, also if it is only written, since a kernel may
  // leave elements as they are. Call it without the GIL, once, before memory().
  void upload(Stream& stream, const PyDevice& device, const Context& context);
  // Enqueues the copy of what was written back to the array of the host.
  void download(Stream& stream);
  // Frees the memory that upload() allocated.
  void free() noexcept { made_.reset(); }

 private:
  std::optional<HostArray> host_;
  std::optional<DeviceArray> made_;
  const DeviceArray* on_device_ = nullptr;  // the argument itself, which the caller keeps alive, or `made_`
  bool written_ = false;
};

// Returns true for objects that ArrayArgument takes, apart from scalars of NumPy.
bool is_array(nanobind::handle object);

// Copies the arrays of the host to the device, calls `launch` with a stream, and when its work has succeeded copies
// back what was written. When it fails, the arrays of the host are as before. Call it without the GIL.
template <class Function>
void launch_on(const PyDevice& device, std::span<ArrayArgument> arrays, const Context& context,
               const Function& launch) {
  const struct Freed {
    std::span<ArrayArgument> arrays;
    ~Freed() {
      for (ArrayArgument& array : arrays) array.free();
    }
  } freed{arrays};
  BorrowedStream stream(device);  // destroyed first: waits for work that uses the memory
  for (ArrayArgument& array : arrays) array.upload(*stream, device, context);
  launch(*stream);
  stream->synchronize();
  for (ArrayArgument& array : arrays) array.download(*stream);
  stream.finish();
}

}  // namespace vectis::python
