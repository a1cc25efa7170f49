// Copies and fills that WebGPU, which moves whole words between two buffers, cannot do itself.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "pipeline.hpp"
#include "recorder.hpp"

namespace vectis::webgpu {

// Thread-safe; the kernels are compiled at first use.
class ByteKernels {
 public:
  explicit ByteKernels(Gpu& gpu) : gpu_(gpu) {}

  // Sets bytes of the buffer to those of the pattern, whose lowest byte stands for every multiple of four.
  void fill(Recorder& recorder, const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes,
            std::uint32_t pattern);
  // Any bytes to anywhere; the ranges do not overlap.
  void copy(Recorder& recorder, const DeviceBuffer& source, std::uint64_t source_offset, const DeviceBuffer& target,
            std::uint64_t target_offset, std::uint64_t bytes);

 private:
  const Pipeline& pipeline(std::optional<Pipeline>& made, const char* text, const char* name);
  // How much one launch sets or copies.
  [[nodiscard]] std::uint64_t part_bytes() const;
  // The part of a buffer that is bound so that `offset` and the bytes behind it lie in it.
  BoundBuffer window(const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes) const;

  Gpu& gpu_;
  std::mutex mutex_;
  std::optional<Pipeline> fill_;  // guarded by mutex_ until it is made, then immutable
  std::optional<Pipeline> copy_;  // likewise
};

}  // namespace vectis::webgpu
