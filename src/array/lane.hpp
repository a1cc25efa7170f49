// A device as arrays use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "array/storage.hpp"
#include "device/launch.hpp"
#include "vectis/array/statistics.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/map.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::array {

class Engine;
struct Node;

// The memory of a device, and the stream on which all that arrays do there is ordered. On the CPU elements are in host
// memory and primitives compute them by themselves. Lives as long as the engine. Thread-safe.
class Lane {
 public:
  Lane(Engine& engine, Runtime& runtime, Device device);

  [[nodiscard]] Engine& engine() const noexcept { return engine_; }
  [[nodiscard]] Runtime& runtime() const noexcept { return runtime_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] Executor& executor() const noexcept { return runtime_.executor(); }
  // Returns true for the CPU, whose memory is the host's.
  [[nodiscard]] bool is_host() const noexcept { return is_host_; }
  // Throws Unsupported when the device has no elements of this type.
  void check_type(std::string_view op, DType type) const;
  // Returns the type that elements of `type` have on the device. Throws Unsupported when `wide_types`, or else the
  // setting `array.wide_types`, refuses them.
  [[nodiscard]] DType placed_type(std::string_view op, DType type, const std::optional<WideTypes>& wide_types);

  // Returns the bytes that storage for `bytes` bytes takes from the pool; 0: it is in the Storage itself.
  [[nodiscard]] std::uint64_t pool_bytes(std::uint64_t bytes) const noexcept;
  // Returns memory for `bytes` bytes with undefined content. Throws Allocation when memory is short.
  [[nodiscard]] std::shared_ptr<Storage> allocate(std::uint64_t bytes);
  // Allocates the storage of `node`, contiguous. Throws Allocation when memory is short.
  void allocate(Node& node);
  // Returns host memory for one element that every device reads as an argument of its kernels.
  [[nodiscard]] static std::shared_ptr<Storage> allocate_element();

  // Runs a named operation of the kernel layer. On the CPU it has finished when this returns.
  void run_operation(std::string_view name, std::span<const View> views, std::span<const ParameterValue> parameters);

  // Runs an operation of the backend itself, whose views and numbers it interprets. On the CPU it has finished when
  // this returns. Returns false when the backend does not compute it.
  bool run_native(const char* name, std::span<const detail::OpView> views, std::span<const VectisNumber> numbers);

  // --- Of devices other than the CPU -------------------------------------------------------------------------------

  // Enqueues a generated kernel.
  void map(const ir::Function& function, const MapBuffers& buffers, std::uint64_t count);
  // Copies bytes of the host to the start of `target`, and waits until the source is no longer read.
  void copy_to_device(std::span<const std::byte> source, const Storage& target);
  // Copies bytes of `source` to the host, and waits for them.
  void copy_to_host(const Storage& source, std::uint64_t offset, std::span<std::byte> target);
  // Returns a buffer to the pool, in the order of the stream.
  void release(ManagedBuffer& buffer) noexcept;

  [[nodiscard]] LaneStatistics statistics() const;

 private:
  Stream& stream();

  Engine& engine_;
  Runtime& runtime_;
  Device device_;
  bool is_host_;
  MemoryPool& pool_;
  BufferOptions options_;  // of all its buffers
  // Guards stream_ and counts_. Recursive: while the pool searches memory for a buffer, a reclaimer of the program may
  // release arrays of this lane.
  mutable std::recursive_mutex mutex_;
  std::unique_ptr<Stream> stream_;
  LaneStatistics counts_;
  std::atomic<bool> was_downcast_ = false;
};

}  // namespace vectis::inline v0_1::array
