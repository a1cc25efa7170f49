// Arrays in device memory, and arrays of Python that calls copy there and back.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "devices.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/memory/buffer.hpp"

namespace vectis::python {

// An array of Python with the buffer protocol, whose elements have a DType; 16-bit unsigned integers are taken as
// bfloat16, which NumPy does not have. Make and destroy it with the GIL; the rest is valid without.
class HostArray {
 public:
  // Takes the memory of `object`. An array whose rows are not contiguous is copied, unless `in_place`. Throws
  // InvalidInput, naming `op` and `what` (the argument), when the object is no array, has elements of another type, or
  // is to be written in place and is not contiguous or not writable.
  HostArray(nanobind::handle object, bool in_place, std::string_view op, std::string_view what);

  [[nodiscard]] DType type() const noexcept { return type_; }
  [[nodiscard]] std::vector<std::size_t> shape() const;
  [[nodiscard]] bool writable() const noexcept { return buffer_.view().readonly == 0; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(buffer_.view().buf), static_cast<std::size_t>(buffer_.view().len)};
  }

 private:
  Buffer buffer_;
  DType type_ = DType::float32;
};

// vectis.kernel.DeviceArray: elements in memory of the pool, row-major.
class DeviceArray {
 public:
  // Allocates memory for `shape` with undefined content. Throws OutOfMemoryError when memory is short, Cancelled when
  // the context is. Call it without the GIL.
  DeviceArray(PyDevice device, DType type, std::vector<std::size_t> shape, const Context& context);
  DeviceArray(DeviceArray&&) noexcept = default;
  DeviceArray& operator=(DeviceArray&&) = delete;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray();

  [[nodiscard]] const PyDevice& device() const noexcept { return device_; }
  [[nodiscard]] DType type() const noexcept { return type_; }
  [[nodiscard]] const std::vector<std::size_t>& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t elements() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return elements() * size_of(type_); }
  // Returns the memory, which is a multiple of 4 bytes long and never empty.
  [[nodiscard]] const DeviceMemory& memory() const { return buffer_.memory(); }

  // Enqueues a copy of all elements; `source` or `target` must be bytes() long and stay valid until it is done.
  void upload(Stream& stream, std::span<const std::byte> source) const;
  void download(Stream& stream, std::span<std::byte> target) const;

 private:
  PyDevice device_;
  DType type_;
  std::vector<std::size_t> shape_;
  ManagedBuffer buffer_;
};

// Returns "(3, 4)".
std::string format_shape(std::span<const std::size_t> shape);

// Returns the element type of this name; throws InvalidInput, naming `op`, when there is none.
DType parse_element(std::string_view name, std::string_view op);

void bind_device_arrays(nanobind::module_& module);

}  // namespace vectis::python
