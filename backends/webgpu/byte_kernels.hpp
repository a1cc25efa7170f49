// Copies and fills with any offset and size. WebGPU itself copies only multiples of four bytes, so these are compute
// kernels.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "command_recorder.hpp"
#include "pipeline.hpp"

namespace vectis::webgpu {

// Copies and fills byte ranges of any offset and size by compute kernels, which are compiled at first use.
// Thread-safe; each recorder is used by one thread at a time.
class ByteKernels {
 public:
  // Creates the object without compiling a kernel. `gpu` must outlive it. Does not throw.
  explicit ByteKernels(Gpu& gpu) : gpu_(gpu) {}

  // Records a fill of `bytes` bytes from `offset` on: the byte at offset i of the buffer becomes byte i % 4 of
  // `pattern`. Precondition, unchecked: the range lies inside the buffer. Throws Failure: VECTIS_DEVICE_LOST when the
  // device is lost, VECTIS_COMPILE_FAILED when wgpu rejects the kernel, and what CommandRecorder::dispatch throws.
  void fill(CommandRecorder& recorder, const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes,
            std::uint32_t pattern);

  // Records a copy of `bytes` bytes. Preconditions, unchecked: the buffers differ, and the ranges lie inside them.
  // Throws Failure: VECTIS_DEVICE_LOST when the device is lost, VECTIS_COMPILE_FAILED when wgpu rejects the kernel,
  // and what CommandRecorder::dispatch throws.
  void copy(CommandRecorder& recorder, const DeviceBuffer& source, std::uint64_t source_offset,
            const DeviceBuffer& target, std::uint64_t target_offset, std::uint64_t bytes);

 private:
  // Returns the pipeline in `made`, which the first call compiles from the WGSL `text`. Throws Failure with
  // VECTIS_COMPILE_FAILED when wgpu rejects it, VECTIS_DEVICE_LOST when the device is lost.
  const Pipeline& pipeline(std::optional<Pipeline>& made, const char* text, const char* name);
  // Returns how many bytes one launch writes at most, by the device's limit of a binding.
  [[nodiscard]] std::uint64_t part_bytes() const;
  // Returns the range of the buffer to bind, which contains `bytes` bytes from `offset` on: the whole buffer where
  // the device's limits allow it. Precondition: the range lies inside the buffer. Does not throw.
  BoundBuffer window(const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes) const;

  Gpu& gpu_;
  std::mutex mutex_;
  std::optional<Pipeline> fill_;  // created under mutex_, then immutable
  std::optional<Pipeline> copy_;  // created under mutex_, then immutable
};

}  // namespace vectis::webgpu
