// The memory pool of a Runtime: caches released buffers, enforces a limit per device, and explains failures.
//
//   MemoryPool& pool = memory_pool(runtime);
//   ManagedBuffer buffer = pool.get_managed_buffer(0, 1024, Precision::fp32);   // 1,024 floats on device 0
//   ManagedBuffer scratch = pool.allocate_bytes(0, 65536);                      // 65,536 bytes on device 0
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

// Optional arguments of a request for a buffer (MemoryPool::get_managed_buffer, allocate_bytes).
struct BufferOptions {
  // The stream that uses the buffer, which may then be released while the stream still works with it
  // (stream-ordered). Null: the buffer must be idle when it is released.
  Stream* stream = nullptr;
  // Its memory tag names the buffer, its deadline bounds the wait for other streams, and its cancellation ends that
  // wait with Cancelled.
  Context context = {};
};

// Memory pressures (held bytes / limit, 0 to 1) at which a pool acts by itself, when it grows beyond them and when it
// is idle above them, and which MemoryPool::check_memory_health compares with. MemoryPool::set_health_thresholds throws
// InvalidInput unless 0 <= warn <= clean <= 1.
struct HealthThresholds {
  double warn = 0.7;   // above: logs a warning and trims, returning cached memory not used lately to the device
  double clean = 0.9;  // above: logs an error and cleans up, returning all idle cached memory to the device
};

// Result of MemoryPool::check_memory_health: `high` above HealthThresholds::warn, `critical` above
// HealthThresholds::clean, otherwise `good`.
enum class MemoryHealth : std::uint8_t { good, high, critical };

// A callback of the application that can free memory on demand, such as that of a cache or of an index that can be
// rebuilt. MemoryPool::add_reclaimer registers it.
struct Reclaimer {
  std::string name;  // appears in OutOfMemoryReport::steps
  int cost = 100;    // the reclaim order: cheaper ones run first
  // Frees about `bytes` bytes on `device` and returns the number of bytes freed. Must not be empty. Any thread calls
  // it, without locks held, before an allocation fails; an exception from it ends that allocation. A request that it
  // makes itself does not call it again.
  std::function<std::uint64_t(int device, std::uint64_t bytes)> reclaim;
};

// Several buffers of one device with one lifetime: all return to the pool when the batch is destroyed. The pool must
// outlive the batch. One thread at a time.
class VECTIS_API BufferBatch {
 public:
  // Adds a buffer of `elements` elements, copies `host_bytes` into it and waits for the copy. The reference stays
  // valid as long as the batch. Throws InvalidInput when `host_bytes` is not exactly `elements` elements long or
  // `elements` is 0, OutOfMemoryError when memory is short, and the device's own errors.
  ManagedBuffer& add_buffer(std::span<const std::byte> host_bytes, std::size_t elements, Precision precision);
  [[nodiscard]] std::size_t size() const noexcept { return buffers_.size(); }
  // Returns buffer number `index`, in the order of add_buffer. `index` must be below size(), which is not checked.
  [[nodiscard]] ManagedBuffer& operator[](std::size_t index) { return *buffers_[index]; }

 private:
  friend class MemoryPool;
  BufferBatch(MemoryPool& pool, int device);
  MemoryPool* pool_;
  int device_;
  std::vector<std::unique_ptr<ManagedBuffer>> buffers_;
};

// Caches released buffers per device of a Runtime, and limits the bytes held on each. The pool of a device is created
// at its first use. Must not outlive the Runtime. Thread-safe.
class VECTIS_API MemoryPool {
 public:
  // Makes a pool of its own; memory_pool() returns the Runtime's shared one. `runtime` must outlive the pool, and the
  // pool its buffers. Throws Forked in a forked child.
  explicit MemoryPool(Runtime& runtime);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Returns a buffer of `elements` elements with undefined content, from the cache or the device. Throws InvalidInput
  // for an unknown device or precision, 0 elements or more bytes than the device's largest allocation;
  // OutOfMemoryError when neither the cache, the device nor the reclaimers can provide the memory, or not before the
  // deadline; Cancelled when the request is cancelled while it waits for memory; Forked in a forked child; and the
  // device's own errors.
  [[nodiscard]] ManagedBuffer get_managed_buffer(int device, std::size_t elements, Precision precision,
                                                 const BufferOptions& options = {});
  // Returns a buffer of `bytes` bytes with undefined content; its precision is int8, with one element per byte.
  // Throws InvalidInput for an unknown device, 0 bytes or more than the device's largest allocation; OutOfMemoryError
  // when memory is short; Cancelled when the request is cancelled while it waits for memory; Forked in a forked child;
  // and the device's own errors.
  [[nodiscard]] ManagedBuffer allocate_bytes(int device, std::uint64_t bytes, const BufferOptions& options = {});
  // Returns an empty batch of buffers on `device`, which the pool must outlive. Throws InvalidInput for an unknown
  // device, and BackendCreation or DeviceLost when the device cannot be opened.
  [[nodiscard]] BufferBatch create_buffer_batch(int device);

  // Fills the cache: allocates `count` buffers of `elements` elements and releases them. Throws InvalidInput for an
  // unknown device, 0 elements or more bytes than the device's largest allocation, and OutOfMemoryError when the
  // `count` buffers do not fit at once.
  void warm_up(int device, std::size_t elements, Precision precision, std::size_t count = 1);

  // Limits the bytes, live and cached, that the pool holds on `device`; 70 % of the device's memory by default.
  // Devices that share one physical memory share the limit, and one that runs out of it takes idle cached memory of the
  // others. A limit below the held bytes of all of them frees their idle cached memory; live buffers stay. Returns
  // false for an unknown device. Throws BackendCreation or DeviceLost when the device cannot be opened.
  bool set_max_pool_size(int device, std::uint64_t bytes);
  // Sets the memory pressures above which the pools of all devices trim and clean up, and which check_memory_health
  // compares with; with both 1 they never act by themselves. Throws InvalidInput, and changes nothing, unless 0 <= warn
  // <= clean <= 1.
  void set_health_thresholds(HealthThresholds thresholds);

  // Returns the bytes that the pool holds on `device` divided by the limit, at most 1. Returns nothing for an unknown
  // device and for a device that was never used.
  [[nodiscard]] std::optional<double> memory_pressure(int device) const;
  // Returns the bytes that the pool holds on `device` and their high-water mark. Returns nothing for an unknown
  // device and for a device that was never used.
  [[nodiscard]] std::optional<MemoryUsage> memory_usage(int device) const;
  // Returns the sums over all devices of the held bytes and of the high-water marks, which need not have been reached
  // at the same time. Returns zeros when no device was used.
  [[nodiscard]] MemoryUsage total_memory_usage() const;
  // Returns all counters of the pool on `device`; for a device that was never used, its memory, its limit and zeros,
  // without opening it. Returns nothing for an unknown device.
  [[nodiscard]] std::optional<MemoryStats> get_memory_stats(int device) const;
  // Returns every block, the counters and the timeline of the pool on `device`, as of now. Returns nothing for an
  // unknown device and for a device that was never used.
  [[nodiscard]] std::optional<MemorySnapshot> snapshot(int device) const;
  // Compares the memory pressure of `device` with the thresholds. Above `warn`, logs a warning and returns `high`;
  // above `clean`, calls emergency_cleanup, logs an error and returns `critical`; otherwise returns `good`. Returns
  // nothing for an unknown device and for a device that was never used.
  std::optional<MemoryHealth> check_memory_health(int device);

  // Returns one line for each device with buffers that are not released: their number, bytes and tags; empty when all
  // are. With the setting `debug` (VECTIS_DEBUG), a pool logs these lines when it is destroyed; the pool of the default
  // Runtime is not.
  [[nodiscard]] std::string leak_report() const;

  // Frees the cached memory of `device` that no stream uses any more, and returns how many bytes went back to the
  // device. Segments that contain a live buffer stay. Returns 0 for an unknown device and for a device that was never
  // used.
  std::uint64_t emergency_cleanup(int device);
  // Calls emergency_cleanup for every device that was used, and returns the sum of the bytes that went back to the
  // devices.
  std::uint64_t emergency_cleanup_all();

  // Registers a callback that the pool calls, cheapest first, before an allocation on any device fails, and returns
  // its id for remove_reclaimer. `reclaimer.reclaim` must not be empty, which is not checked.
  int add_reclaimer(Reclaimer reclaimer);
  // Removes the reclaimer that add_reclaimer registered under `id`, after waiting for the threads that run it: after
  // this returns, nothing calls it, and what it refers to may be destroyed. The caller must hold no lock that the
  // reclaimer takes. Called from the reclaimer itself, does not wait for other threads. Ignores an unknown id.
  void remove_reclaimer(int id);

  // Logs every allocation and release on `device` to `out` until stop_log, in the format that `vectis bench replay`
  // reads; replaces a log already running. `out` must outlive the recording. Throws InvalidInput for an unknown
  // device. A failure to write ends the recording without an error.
  void start_log(int device, std::ostream& out);
  // Ends the log that start_log began on `device`; does nothing when the device is unknown or no log is running.
  void stop_log(int device);

  // Returns memory for `elements` elements, which the caller must give back by return_buffer with equal arguments.
  // Throws InvalidInput for an unknown device, 0 elements or more bytes than the device's largest allocation;
  // OutOfMemoryError when memory is short; and Forked in a forked child.
  [[deprecated("use get_managed_buffer")]] [[nodiscard]] DeviceMemory get_buffer(int device, std::size_t elements,
                                                                                 Precision precision);
  // Returns a buffer of get_buffer, which must be idle, to the pool. Throws InvalidInput when the buffer was returned
  // before or is not from get_buffer, and when device, elements or precision differ from the arguments of get_buffer.
  [[deprecated("use get_managed_buffer")]] void return_buffer(int device, const DeviceMemory& buffer,
                                                              std::size_t elements, Precision precision);

  // Internal: returns the pool of one device, which it creates if needed. Throws InvalidInput for an unknown device,
  // and BackendCreation or DeviceLost when the device cannot be opened.
  [[nodiscard]] std::shared_ptr<detail::DevicePool> device_pool(int device);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the memory pool of `runtime`, created at the first call and destroyed with the Runtime. Throws Forked in a
// forked child.
VECTIS_API MemoryPool& memory_pool(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
