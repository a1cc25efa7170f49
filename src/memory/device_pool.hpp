// The pool of one device, in two levels.
//
// 1. Cache: released blocks wait on free lists by size class, in shards (CacheShard). Acquire and release are an
//    uncontended lock and a vector operation.
// 2. Core: segments of device memory, split by best fit and coalesced (BlockMap), under one lock.
//
// The pool grows only after everything cached was tried: the same size class in other shards, then all cached blocks
// coalesced. When the device or the limit refuses, the reclaim order runs: wait for streams, return empty segments,
// then the registered reclaimers by cost.
//
// Lock order: core before shard. Neither is held while a reclaimer runs or a stream is waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "memory/block_map.hpp"
#include "memory/budget.hpp"
#include "memory/cache_shard.hpp"
#include "memory/pool_block.hpp"
#include "memory/stream_order.hpp"
#include "memory/tags.hpp"
#include "memory/timeline.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/log.hpp"
#include "vectis/memory/resource.hpp"
#include "vectis/memory/snapshot.hpp"
#include "vectis/memory/statistics.hpp"

namespace vectis::inline v0_1::detail {

// A registered Reclaimer bound to one device, or the cache of a device that shares its memory: `reclaim` frees about
// `bytes` there and returns how many bytes it freed. An exception from it ends the allocation that called it.
struct ReclaimAction {
  std::string name;
  std::function<std::uint64_t(std::uint64_t bytes)> reclaim;
};

// The cached memory of a pool at the time an allocation fails, from which classify() derives the cause.
struct CacheLayout {
  std::uint64_t longest_run = 0;   // contiguous bytes of one segment that are not in use
  std::uint64_t cached_bytes = 0;  // in released blocks; at a failure, those that streams may still use
  std::uint64_t taken_bytes = 0;   // in blocks that a request has taken and not made live yet
};

// Settings of a DevicePool: when cached memory returns to the device, and where snapshots are written.
struct PoolPolicy {
  Duration trim_after = std::chrono::seconds(30);  // idle time after which the cache returns to the device; 0: never
  std::uint64_t trim_allocations = 65536;          // segments unused for this many allocations return to the device
  std::size_t max_size_classes = 64;               // per shard
  std::string snapshot_folder;                     // for snapshots of out-of-memory errors; empty: none
  std::string live_folder;                         // for the live snapshot (memory.live); empty: none
  bool caching = true;  // false: every buffer is an allocation of the device, which its release returns at once
};

// The memory pool of one device: caches released blocks and grows by segments within a budget. Blocks must not
// outlive it. acquire() throws OutOfMemoryError when memory is short. Thread-safe.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  // Makes an empty pool that allocates segments from `upstream` and reserves their bytes in `budget`. No pointer may
  // be null. `runtime` must outlive the pool.
  DevicePool(Runtime& runtime, std::unique_ptr<MemoryResource> upstream, std::shared_ptr<Budget> budget,
             PoolPolicy policy);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Returns the steps that free memory elsewhere: the caches of devices with the same memory, then the registered
  // reclaimers, cheapest first. acquire() calls it only when an allocation is about to fail.
  using ReclaimOrder = std::function<std::vector<ReclaimAction>()>;
  // Returns a live block of at least `request.bytes`, which must be passed to release(). Throws InvalidInput for 0
  // bytes or more than the device's largest allocation, OutOfMemoryError after the whole reclaim order failed,
  // Cancelled when the request's context is cancelled while the reclaim order runs, Forked in a forked child, and any
  // other error of the device.
  PoolBlock* acquire(const MemoryRequest& request, const ReclaimOrder& reclaim_order);
  // Puts a block that acquire() returned into the cache; the caller must not use it any more. A block acquired
  // without a stream must be idle. Does nothing in a forked child. Does not throw.
  void release(PoolBlock* block) noexcept;

  // Returns all idle cached memory to the device and returns the number of bytes. Segments with a live block, or with
  // one that a stream may still use, stay.
  std::uint64_t cleanup();
  // Returns the empty segments that none of the last 1,024 allocations used to the device, and returns their bytes.
  std::uint64_t trim();
  // Sets the pressures above which the pool trims and cleans up by itself; 0 <= warn <= clean <= 1, not checked.
  void set_thresholds(double warn, double clean) noexcept;
  // Returns one sentence about the live buffers, the largest first; empty when there is none.
  [[nodiscard]] std::string leak_report() const;
  // Returns all counters of the pool, consistent with each other: takes every lock of the pool.
  [[nodiscard]] MemoryStats stats() const;
  // Returns the bytes held from the device and their high-water mark.
  [[nodiscard]] MemoryUsage usage() const;
  // Returns the bytes held from the device divided by the limit, at most 1; 0 when nothing is held.
  [[nodiscard]] double pressure() const;
  // Returns the bytes of a block for a request of `bytes` bytes, 1 to 2^62: rounded up to its size class.
  [[nodiscard]] std::uint64_t block_bytes(std::uint64_t bytes) const noexcept;
  [[nodiscard]] DeviceContext context() const { return upstream_->context(); }
  [[nodiscard]] TagTable& tags() noexcept { return tags_; }
  [[nodiscard]] Budget& budget() noexcept { return *budget_; }

  // Makes `recorder` log every later acquire and release, in place of the recorder before; null ends logging.
  void set_recorder(std::shared_ptr<AllocationRecorder> recorder);

  // Receives one range of a segment. `block` is null for a free range; `cached` is true for a released block, and false
  // for a live one and for one that a request has taken and not made live yet.
  using BlockVisitor = std::function<void(const BlockMap::Block& range, const PoolBlock* block, bool cached)>;
  // Calls `visitor` for every range, by segment and offset, with all locks held, so that it must not call the pool.
  // Returns the counters of the same moment.
  MemoryStats visit(const BlockVisitor& visitor) const;
  // Returns every block, the counters and the timeline of the pool as of now; `cause` is copied into the snapshot.
  [[nodiscard]] MemorySnapshot snapshot(std::string cause) const;
  [[nodiscard]] Runtime& runtime() const noexcept { return runtime_; }
  // Returns whether this process is a child forked after the pool was made. There, a lock may be held by a thread that
  // stayed in the parent. Does not throw.
  [[nodiscard]] bool forked() const noexcept { return fork_generation() != generation_; }

 private:
  struct alignas(cache_line_bytes) Counters {  // guarded by the shard's lock
    std::uint64_t allocations = 0;
    std::uint64_t hits = 0;
    std::int64_t live = 0;
    std::int64_t requested = 0;
  };
  struct Segment {
    MemoryBlock memory;
    std::uint64_t last_use = 0;  // allocations counted when it was last split, or when a freed block was last used
  };

  // Throws InvalidInput when the request has 0 bytes or more than the device's largest allocation.
  void validate(const MemoryRequest& request) const;
  // Finds a block in other shards, in coalesced ranges, on the device or by the reclaim order. Sets `*hit` to false
  // when the block needed a device allocation. No lock may be held. Throws OutOfMemoryError when every step failed,
  // and other errors of the device.
  PoolBlock* acquire_slow(const MemoryRequest& request, const SizeClass& size_class, const StreamOrder* order,
                          const ReclaimOrder& reclaim_order, bool* hit);
  // Makes a block live for the request and counts it, also in `tag`, null without a tag. The caller holds the lock of
  // its thread's shard. Does not throw: nobody would release the block.
  void make_live(PoolBlock& block, const MemoryRequest& request, std::shared_ptr<StreamOrder> order, TagCounters* tag,
                 bool hit) noexcept;

  // Records, for one request, whether the device refused to allocate and how many bytes were returned to it.
  struct Growth;

  // Takes a block of the size class from any shard, or, with a `stream`, one released on another stream. Returns null
  // when there is none. The caller holds the core lock.
  PoolBlock* take_from_shards(const SizeClass& size_class, const StreamOrder* order, Stream* stream);
  // Allocates a block from the free ranges of the segments. Returns null when no range is large enough; throws the
  // error of the device when it cannot slice the segment. The caller holds the core lock.
  PoolBlock* take_range(const SizeClass& size_class);
  // Allocates a segment from the device and a block from it, with smaller segments down to `exact` bytes as a
  // fallback. Returns null when the limit or the device refuses, and throws any other error of the device. The caller
  // holds the core lock.
  PoolBlock* grow_and_take(const SizeClass& size_class, std::uint64_t exact, Growth* growth);
  // Allocates a segment of `bytes` from the device. Returns false when the budget refuses; throws Allocation when the
  // device is out of memory, and its other errors. The caller holds the core lock.
  bool add_segment(std::uint64_t bytes);
  // Moves idle cached blocks of at least `min_bytes` from the shards to the block map, which coalesces them, and
  // returns their bytes. The caller holds the core lock. Does not throw.
  std::uint64_t flush_shards(std::uint64_t min_bytes = 0) noexcept;
  // Moves the blocks of underused size classes from `shard` to the block map; leaves them when the host is out of
  // memory. No lock may be held. Does not throw.
  void flush_underused(CacheShard& shard) noexcept;
  // Frees the idle blocks of a chain in the block map; puts a block that a stream may still use into the first shard
  // instead. The blocks must be in no shard, and the caller holds the core lock. Returns the bytes of all. Does not
  // throw.
  std::uint64_t return_to_map(PoolBlock* chain) noexcept;
  // Returns the empty segments last used at or before allocation number `unused_since` to the device, and returns
  // their bytes. The caller holds the core lock.
  std::uint64_t release_empty_segments(std::uint64_t unused_since);

  // Waits for the streams of cached blocks until `context` expires or is cancelled, coalesces the idle blocks, and
  // returns their bytes. Skips streams on which waiting fails. No lock may be held.
  std::uint64_t wait_for_streams(const Context& context);
  // Returns the layout of the cached memory. No lock may be held: takes every lock of the pool.
  [[nodiscard]] CacheLayout cache_layout() const;
  // Returns the layout of the cached memory. The caller holds the core lock and the locks of all shards.
  [[nodiscard]] CacheLayout layout_locked() const;
  // Returns the error for a failed request, with cause, sizes, advice and, by the setting memory.snapshots, the path
  // of a snapshot. `steps` are the reclaim steps that ran. No lock may be held.
  [[nodiscard]] OutOfMemoryError explain(const MemoryRequest& request, bool device_refused,
                                         std::vector<ReclaimStep> steps) const;
  // Both need the core lock and the locks of all shards.
  void visit_locked(const BlockVisitor& visitor) const;
  [[nodiscard]] MemoryStats stats_locked() const;
  void record_reserved();
  void count_allocations();
  // Trims and responds to memory pressure after an allocation; `grown`: it needed a device allocation. No lock may be
  // held. Does not throw: the allocation has succeeded.
  void maintain(const PoolBlock& allocated, bool grown) noexcept;
  void schedule_trim() noexcept;
  // Trims the cache above the first threshold, returns all of it above the second, and logs that when the pressure
  // rose. No lock may be held.
  void relieve_pressure();
  // Returns 0 for a pressure up to the first threshold, 1 above it, 2 above the second.
  [[nodiscard]] int level_of(double pressure) const noexcept;
  // Calls relieve_pressure() as soon as the pool was idle for a second. Does not throw.
  void schedule_relief() noexcept;
  void relieve_if_idle();
  // Returns a released block to the device without caching it: the device waits for the work on it.
  void free_now(PoolBlock* block) noexcept;
  void schedule_live_snapshot() noexcept;
  void write_live_snapshot();
  void trim_if_idle();
  void trim_unused();

  Runtime& runtime_;
  std::unique_ptr<MemoryResource> upstream_;
  std::shared_ptr<Budget> budget_;
  const PoolPolicy policy_;
  const std::uint64_t generation_ = fork_generation();  // of the process that made the pool
  const std::uint64_t unit_;
  const std::uint64_t allocation_max_;
  StreamOrders orders_;
  TagTable tags_;
  Timeline timeline_;

  mutable CacheShards shards_;
  std::array<Counters, shard_count> counters_;
  std::shared_ptr<AllocationRecorder> recorder_;  // written with all shards locked, read with one
  alignas(cache_line_bytes) std::atomic<std::uint64_t> in_use_{0};
  alignas(cache_line_bytes) std::atomic<std::uint64_t> peak_in_use_{0};
  std::atomic<std::uint64_t> allocations_counted_{0};  // of all threads, in steps of count_step
  std::atomic<Duration::rep> last_use_{0};
  std::atomic<bool> trim_scheduled_{false};
  std::atomic<bool> live_scheduled_{false};
  std::atomic<double> warn_{0.7};  // as HealthThresholds
  std::atomic<double> clean_{0.9};
  std::atomic<int> pressure_level_{0};  // level_of() the pressure after the last response
  std::atomic<bool> relief_scheduled_{false};

  mutable std::mutex core_mutex_;
  BlockMap map_;
  std::unordered_map<BlockMap::SegmentId, Segment> segments_;
  std::unordered_map<BlockMap::BlockId, std::unique_ptr<PoolBlock>> blocks_;
  std::uint64_t peak_reserved_ = 0;
  std::uint64_t device_allocations_ = 0;
  std::uint64_t device_frees_ = 0;
  std::uint64_t cleanups_ = 0;
  std::uint64_t failures_ = 0;
};

// Returns the cause of a failed request from the byte counts of `report`, which must be set; ignores its other
// fields. `device_refused` says that the device itself failed to allocate.
OutOfMemoryKind classify(const OutOfMemoryReport& report, const CacheLayout& cache, bool device_refused);
// Returns what the user can change, in one sentence. `kind` and the byte counts of `report` must be set, with a
// request above 0.
std::string advise(const OutOfMemoryReport& report);
// Returns one sentence that states the failed request and its cause, without advice. `kind` and the byte counts must
// be set.
std::string describe_failure(const OutOfMemoryReport& report);

}  // namespace vectis::inline v0_1::detail
