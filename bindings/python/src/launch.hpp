// The arrays of one launch: copies on the device of NumPy arrays, and DeviceArrays as they are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
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
  // objects and for a DeviceArray that nobody initialized, and as HostArray.
  ArrayArgument(nanobind::handle object, ArrayUse use, std::string_view op, std::string_view what);

  [[nodiscard]] DType type() const noexcept { return host_ ? host_->type() : on_device_->type(); }
  [[nodiscard]] std::vector<std::size_t> shape() const { return host_ ? host_->shape() : on_device_->shape(); }
  // Returns the DeviceArray that was passed; null for an array of the host.
  [[nodiscard]] const DeviceArray* passed() const noexcept { return host_ ? nullptr : on_device_; }
  [[nodiscard]] const DeviceMemory& memory() const { return on_device_->memory(); }

  // Returns the bytes that a launch copies back to the array of the host; none for other arrays.
  [[nodiscard]] std::span<std::byte> written_bytes() const noexcept {
    return host_ && written_ ? host_->bytes() : std::span<std::byte>();
  }
  // Makes upload() use the memory of `same`, an array of the same bytes that was uploaded before and outlives this.
  void share(const ArrayArgument& same) noexcept { shared_ = &same; }

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
  const ArrayArgument* shared_ = nullptr;   // has the memory of this array too
  const DeviceArray* on_device_ = nullptr;  // the argument itself, which the caller keeps alive, or `made_`
  bool written_ = false;
};

// What a launch does with one array of the host that is passed for several parameters that it writes.
enum class Repeated : std::uint8_t {
  share,   // all of them are one memory of the device
  reject,  // as overlapping arrays
};

// Throws InvalidInput, naming `op` and the arrays by name(i), when arrays of the host that a launch writes overlap:
// only the one that is copied back last would keep its results. An array that is only read may overlap, since it is
// copied to the device before the launch.
void resolve_overlaps(std::span<ArrayArgument> arrays, Repeated repeated, std::string_view op,
                      const std::function<std::string(std::size_t)>& name);

// Returns true for objects that ArrayArgument takes, apart from scalars of NumPy.
bool is_launch_array(nanobind::handle object);

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
