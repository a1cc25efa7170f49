// The memory pool of a Runtime: buffers that are reused, a limit that holds, and errors that explain themselves.
//
//   MemoryPool& pool = memory_pool(runtime);
//   ManagedBuffer buffer = pool.get_managed_buffer(0, 1024, Precision::fp32);   // back in the pool at the end of scope
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

// How one buffer is wanted; a default one is right for most.
struct BufferOptions {
  Stream* stream = nullptr;  // where it will be used; its work may go on after the release
  Context context = {};      // memory tag, deadline
};

// Pressure at which check_memory_health warns and cleans.
struct HealthThresholds {
  double warn = 0.7;
  double clean = 0.9;
};

enum class MemoryHealth : std::uint8_t { good, high, critical };

// Something outside the pool that can give memory back: a cache, an index that can be rebuilt.
struct Reclaimer {
  std::string name;
  int cost = 100;  // cheaper ones are asked first; the pool's own steps cost 1 to 4
  // Frees about `bytes` on the device and says how much; called without locks held, by any thread.
  std::function<std::uint64_t(int device, std::uint64_t bytes)> reclaim;
};

// Buffers that are wanted together and go back together. One thread at a time.
class VECTIS_API BufferBatch {
 public:
  // A buffer of `elements` elements filled with `host_bytes`, whose size must agree. The reference lives as long as the
  // batch.
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

// One pool for each device of the Runtime, made when first used. Thread-safe.
class VECTIS_API MemoryPool {
 public:
  explicit MemoryPool(Runtime& runtime);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // InvalidInput for 0 elements or a device that does not exist, OutOfMemoryError when there is none to be had.
  [[nodiscard]] ManagedBuffer get_managed_buffer(int device, std::size_t elements, Precision precision,
                                                 const BufferOptions& options = {});
  [[nodiscard]] BufferBatch create_buffer_batch(int device);

  // Allocates and returns `count` buffers, so that the first real ones come from the cache.
  void warm_up(int device, std::size_t elements, Precision precision, std::size_t count = 1);

  // The most the pool may hold of a device, live and cached together; 70 % of the device's memory unless set. Lowering
  // it frees what is cached; live buffers stay. False when there is no such device.
  bool set_max_pool_size(int device, std::uint64_t bytes);
  void set_health_thresholds(HealthThresholds thresholds);

  // Empty for a device that does not exist or was never used.
  [[nodiscard]] std::optional<double> memory_pressure(int device) const;  // 0 to 1
  [[nodiscard]] std::optional<MemoryUsage> memory_usage(int device) const;
  [[nodiscard]] MemoryUsage total_memory_usage() const;
  [[nodiscard]] std::optional<MemoryStats> get_memory_stats(int device) const;
  [[nodiscard]] std::optional<MemorySnapshot> snapshot(int device) const;
  // Logs a warning above one threshold, cleans above the other.
  std::optional<MemoryHealth> check_memory_health(int device);

  // Gives everything that is not in use back to the device; returns the bytes.
  std::uint64_t emergency_cleanup(int device);
  std::uint64_t emergency_cleanup_all();

  // Asked, in order of cost, before an allocation fails. The id removes it again.
  int add_reclaimer(Reclaimer reclaimer);
  void remove_reclaimer(int id);

  // Writes every buffer of a device taken and returned from now on to `out`, which outlives the recording, as a log
  // that `vectis bench replay` takes. InvalidInput when there is no such device.
  void start_log(int device, std::ostream& out);
  void stop_log(int device);

  // The old way, without RAII: easy to forget the second half. Double returns and wrong devices are InvalidInput.
  [[deprecated("use get_managed_buffer")]] [[nodiscard]] DeviceMemory get_buffer(int device, std::size_t elements,
                                                                                 Precision precision);
  [[deprecated("use get_managed_buffer")]] void return_buffer(int device, const DeviceMemory& buffer,
                                                              std::size_t elements, Precision precision);

  // For the parts of this layer: the pool of one device, made if need be.
  [[nodiscard]] std::shared_ptr<detail::DevicePool> device_pool(int device);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

VECTIS_API MemoryPool& memory_pool(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
