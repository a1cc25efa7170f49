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
#include "vectis/base/runtime.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/log.hpp"
#include "vectis/memory/resource.hpp"
#include "vectis/memory/snapshot.hpp"
#include "vectis/memory/statistics.hpp"

namespace vectis::inline v0_1::detail {

// A step of the reclaim order outside the pool: frees about `bytes` and returns how many.
struct ReclaimAction {
  std::string name;
  std::function<std::uint64_t(std::uint64_t bytes)> reclaim;
};

// The cached memory at the time an allocation fails.
struct CacheLayout {
  std::uint64_t longest_run = 0;   // contiguous bytes of one segment that are not in use
  std::uint64_t cached_bytes = 0;  // in released blocks; at a failure, those that streams may still use
};

struct PoolPolicy {
  Duration trim_after = std::chrono::seconds(30);  // idle time after which the cache returns to the device; 0: never
  std::uint64_t trim_allocations = 65536;          // segments unused for this many allocations return to the device
  std::size_t max_size_classes = 64;               // per shard
  std::string snapshot_folder;                     // for snapshots of out-of-memory errors; empty: none
  std::string live_folder;                         // for the live snapshot (memory.live); empty: none
};

// Thread-safe. Blocks must not outlive it.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  DevicePool(Runtime& runtime, std::unique_ptr<MemoryResource> upstream, std::shared_ptr<Budget> budget,
             PoolPolicy policy);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Returns the registered reclaimers, cheapest first; called only when an allocation is about to fail.
  using ReclaimOrder = std::function<std::vector<ReclaimAction>()>;
  // Throws InvalidInput for 0 bytes or more than the device's largest allocation, OutOfMemoryError after the whole
  // reclaim order failed, and any other error of the device.
  PoolBlock* acquire(const MemoryRequest& request, const ReclaimOrder& reclaim_order);
  void release(PoolBlock* block) noexcept;

  // Returns all idle cached memory to the device, and the number of bytes.
  std::uint64_t cleanup();
  [[nodiscard]] MemoryStats stats() const;
  [[nodiscard]] MemoryUsage usage() const;
  [[nodiscard]] double pressure() const;
  [[nodiscard]] DeviceContext context() const { return upstream_->context(); }
  [[nodiscard]] TagTable& tags() noexcept { return tags_; }
  [[nodiscard]] Budget& budget() noexcept { return *budget_; }

  // Logs every acquire and release from now on; null stops.
  void set_recorder(std::shared_ptr<AllocationRecorder> recorder);

  // Calls `visitor` for every range by segment and offset, with all locks held; `block` is null for a free range.
  using BlockVisitor = std::function<void(const BlockMap::Block& range, const PoolBlock* block, bool cached)>;
  void visit(const BlockVisitor& visitor) const;
  [[nodiscard]] MemorySnapshot snapshot(std::string cause) const;
  [[nodiscard]] Runtime& runtime() const noexcept { return runtime_; }

 private:
  struct alignas(cache_line_bytes) Counters {  // guarded by the shard's lock
    std::uint64_t allocations = 0;
    std::uint64_t hits = 0;
    std::int64_t live = 0;
    std::int64_t requested = 0;
  };
  struct Segment {
    MemoryBlock memory;
    std::uint64_t last_use = 0;  // allocation number
  };

  void validate(const MemoryRequest& request) const;
  // The slow path. Sets `*hit` to false when the block needed a device allocation.
  PoolBlock* acquire_slow(const MemoryRequest& request, const SizeClass& size_class, const StreamOrder* order,
                          const ReclaimOrder& reclaim_order, bool* hit);
  void make_live(PoolBlock& block, const MemoryRequest& request, std::shared_ptr<StreamOrder> order, bool hit);

  struct Growth;  // the outcome of asking the device

  // With the core lock held.
  PoolBlock* take_from_shards(const SizeClass& size_class, const StreamOrder* order, Stream* stream);
  PoolBlock* take_range(const SizeClass& size_class);
  PoolBlock* grow_and_take(const SizeClass& size_class, std::uint64_t exact, Growth* growth);
  bool add_segment(std::uint64_t bytes);
  // Moves idle cached blocks of at least `min_bytes` to the block map, which coalesces them; returns their bytes.
  std::uint64_t flush_shards(std::uint64_t min_bytes = 0);
  void return_to_map(PoolBlock* block);
  // Returns the empty segments last used at or before allocation `unused_since` to the device, and their bytes.
  std::uint64_t release_empty_segments(std::uint64_t unused_since);

  // Waits for the streams of cached blocks until the deadline; returns the bytes that became idle.
  std::uint64_t wait_for_streams(const Context& context);
  [[nodiscard]] CacheLayout cache_layout() const;
  [[nodiscard]] CacheLayout layout_locked() const;
  [[nodiscard]] OutOfMemoryError explain(const MemoryRequest& request, bool device_refused,
                                         std::vector<ReclaimStep> steps) const;
  void visit_locked(const BlockVisitor& visitor) const;
  void record_reserved();
  void count_allocations();
  void schedule_trim() noexcept;
  void schedule_live_snapshot() noexcept;
  void write_live_snapshot();
  void trim_if_idle();
  void trim_unused();

  Runtime& runtime_;
  std::unique_ptr<MemoryResource> upstream_;
  std::shared_ptr<Budget> budget_;
  const PoolPolicy policy_;
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

// The kind of failure, from the byte counts of the report, which need no other field.
OutOfMemoryKind classify(const OutOfMemoryReport& report, const CacheLayout& cache, bool device_refused);
std::string advise(const OutOfMemoryReport& report);
// One sentence with the cause, without advice.
std::string describe_failure(const OutOfMemoryReport& report);

}  // namespace vectis::inline v0_1::detail
