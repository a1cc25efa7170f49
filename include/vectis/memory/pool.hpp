// The memory pool of a Runtime: caches released buffers, enforces a limit per device, and explains failures.
//
//   MemoryPool& pool = memory_pool(runtime);
//   ManagedBuffer buffer = pool.get_managed_buffer(0, 1024, Precision::fp32);   // 1,024 floats on device 0
//   ManagedBuffer scratch = pool.allocate_bytes(0, 65536);                      // the same in bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/memory/buffer.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/snapshot.hpp"
#include "vectis/memory/statistics.hpp"

namespace vectis::inline v0_1 {

class MemoryPool;

struct BufferOptions {
  // The stream that uses the buffer. The buffer may then be released while the stream still works with it
  // (stream-ordered). Null: the buffer is idle when it is released.
  Stream* stream = nullptr;
  Context context = {};  // its memory tag names the buffer; its deadline bounds the wait for other streams
};

// Pressures, 0 to 1, above which check_memory_health warns and cleans up.
struct HealthThresholds {
  double warn = 0.7;
  double clean = 0.9;
};

enum class MemoryHealth : std::uint8_t { good, high, critical };

// Something outside the pool that can free memory on demand: a cache, an index that can be rebuilt.
struct Reclaimer {
  std::string name;  // appears in OutOfMemoryReport::steps
  int cost = 100;    // the reclaim order: cheaper ones run first
  // Frees about `bytes` on the device and returns how many. Called by any thread, without locks held.
  std::function<std::uint64_t(int device, std::uint64_t bytes)> reclaim;
};

// Several buffers with one lifetime: all return to the pool when the batch is destroyed. One thread at a time.
class VECTIS_API BufferBatch {
 public:
  // Adds a buffer of `elements` elements and copies `host_bytes` into it, synchronously. The reference stays valid as
  // long as the batch. Throws InvalidInput when `host_bytes` is not exactly `elements` elements long, else as
  // get_managed_buffer.
  ManagedBuffer& add_buffer(std::span<const std::byte> host_bytes, std::size_t elements, Precision precision);
  [[nodiscard]] std::size_t size() const noexcept { return buffers_.size(); }
  [[nodiscard]] ManagedBuffer& operator[](std::size_t index) { return *buffers_[index]; }

 private:
  friend class MemoryPool;
  BufferBatch(MemoryPool& pool, int device);
  MemoryPool* pool_;
  int device_;
  std::vector<std::unique_ptr<ManagedBuffer>> buffers_;
};

// One pool per device of the Runtime, created at its first use. Thread-safe.
class VECTIS_API MemoryPool {
 public:
  explicit MemoryPool(Runtime& runtime);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Returns a buffer of `elements` elements with undefined content, from the cache or the device. Throws InvalidInput
  // for 0 elements, an unknown device or more than the device's largest allocation; OutOfMemoryError when neither the
  // cache, the device nor the reclaimers can provide the memory.
  [[nodiscard]] ManagedBuffer get_managed_buffer(int device, std::size_t elements, Precision precision,
                                                 const BufferOptions& options = {});
  // The same in bytes. The buffer has precision int8 and as many elements as bytes.
  [[nodiscard]] ManagedBuffer allocate_bytes(int device, std::uint64_t bytes, const BufferOptions& options = {});
  // Returns an empty batch. Throws InvalidInput for an unknown device.
  [[nodiscard]] BufferBatch create_buffer_batch(int device);

  // Fills the cache: allocates `count` buffers and releases them. Throws as get_managed_buffer.
  void warm_up(int device, std::size_t elements, Precision precision, std::size_t count = 1);

  // Limits the bytes, live and cached, that the pool holds on a device; 70 % of the device's memory by default. Devices
  // that share one physical memory share the limit. Lowering it frees cached memory; live buffers stay. Returns false
  // for an unknown device.
  bool set_max_pool_size(int device, std::uint64_t bytes);
  // Throws InvalidInput unless 0 <= warn <= clean <= 1.
  void set_health_thresholds(HealthThresholds thresholds);

  // Empty for an unknown device and for one that was never used.
  [[nodiscard]] std::optional<double> memory_pressure(int device) const;  // held bytes / limit, 0 to 1
  [[nodiscard]] std::optional<MemoryUsage> memory_usage(int device) const;
  [[nodiscard]] MemoryUsage total_memory_usage() const;
  [[nodiscard]] std::optional<MemoryStats> get_memory_stats(int device) const;
  [[nodiscard]] std::optional<MemorySnapshot> snapshot(int device) const;
  // Logs a warning above the first threshold; above the second also calls emergency_cleanup and logs an error.
  std::optional<MemoryHealth> check_memory_health(int device);

  // Returns all cached memory whose streams are done to the device, and how many bytes that was. 0 for an unknown
  // device.
  std::uint64_t emergency_cleanup(int device);
  std::uint64_t emergency_cleanup_all();

  // Registers a reclaimer, called in order of cost before an allocation fails. Returns the id for remove_reclaimer,
  // which ignores unknown ids; a reclaimer may still run when its removal returns.
  int add_reclaimer(Reclaimer reclaimer);
  void remove_reclaimer(int id);

  // Logs every allocation and release on a device to `out` until stop_log, in the format that `vectis bench replay`
  // reads. `out` must outlive the recording. Throws InvalidInput for an unknown device.
  void start_log(int device, std::ostream& out);
  void stop_log(int device);

  // Without RAII: every get_buffer needs a return_buffer with the same arguments. Throws as get_managed_buffer;
  // return_buffer throws InvalidInput for a buffer that is not out, or that was requested with other arguments.
  [[deprecated("use get_managed_buffer")]] [[nodiscard]] DeviceMemory get_buffer(int device, std::size_t elements,
                                                                                 Precision precision);
  [[deprecated("use get_managed_buffer")]] void return_buffer(int device, const DeviceMemory& buffer,
                                                              std::size_t elements, Precision precision);

  // Internal: the pool of one device, created if needed. Throws InvalidInput for an unknown device.
  [[nodiscard]] std::shared_ptr<detail::DevicePool> device_pool(int device);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The pool of a Runtime.
VECTIS_API MemoryPool& memory_pool(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
