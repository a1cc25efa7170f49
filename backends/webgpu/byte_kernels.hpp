// Copies and fills with any offset and size. WebGPU itself copies only multiples of four bytes, between two different
// buffers, so these are compute kernels.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "command_recorder.hpp"
#include "pipeline.hpp"

namespace vectis::webgpu {

// The kernels are compiled at first use. Thread-safe; a recorder is used by one thread at a time.
class ByteKernels {
 public:
  explicit ByteKernels(Gpu& gpu) : gpu_(gpu) {}

  // Writes `pattern` repeatedly: the byte at offset i of the buffer becomes byte i % 4 of the pattern.
  void fill(CommandRecorder& recorder, const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes,
            std::uint32_t pattern);
  // The ranges must not overlap.
  void copy(CommandRecorder& recorder, const DeviceBuffer& source, std::uint64_t source_offset,
            const DeviceBuffer& target, std::uint64_t target_offset, std::uint64_t bytes);

 private:
  const Pipeline& pipeline(std::optional<Pipeline>& made, const char* text, const char* name);
  // How many bytes one launch writes at most.
  [[nodiscard]] std::uint64_t part_bytes() const;
  // The range of the buffer to bind, which contains `bytes` from `offset` on.
  BoundBuffer window(const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes) const;

  Gpu& gpu_;
  std::mutex mutex_;
  std::optional<Pipeline> fill_;  // created under mutex_, then immutable
  std::optional<Pipeline> copy_;  // likewise
};

}  // namespace vectis::webgpu
