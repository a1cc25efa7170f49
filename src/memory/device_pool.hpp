// The pool of one device.
//
// Two levels. In front, released blocks wait by kind in shards that threads do not share: acquire and release are a
// lock nobody contends and a vector. Behind, segments of device memory are cut by best fit and merged again (BlockMap)
// under one lock. Nothing grows before everything cached has been tried: exact kinds of other threads, then all that is
// cached merged into larger pieces. Only then is the device asked, and if it refuses or the limit does, the ladder of
// reclaimers is climbed.
//
// Locks: core before shard, never the other way; neither is held while a reclaimer runs or a stream is waited for.
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
#include "memory/front_cache.hpp"
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

// A rung outside the pool: frees about that many bytes and says how many.
struct Rung {
  std::string name;
  std::function<std::uint64_t(std::uint64_t bytes)> reclaim;
};

// What the cache looks like when an allocation fails.
struct CacheShape {
  std::uint64_t longest_run = 0;    // adjacent bytes of one segment that are not in use
  std::uint64_t pending_bytes = 0;  // in released blocks whose streams have not passed them
};

struct PoolPolicy {
  Duration trim_after = std::chrono::seconds(30);  // idle time after which the cache is given back
  std::uint64_t trim_allocations = 65536;          // allocations after which what they did not use is given back
  std::size_t kinds_max = 64;                      // kinds a shard remembers
  std::string snapshot_folder;                     // where errors write snapshots; empty: nowhere
  std::string live_folder;                         // where the pool keeps a snapshot of itself; empty: nowhere
};

// Thread-safe. Blocks must not outlive it.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  DevicePool(Runtime& runtime, std::unique_ptr<MemoryResource> upstream, std::shared_ptr<Budget> budget,
             PoolPolicy policy);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // `rungs` tells, only when it comes to that, which reclaimers to ask before giving up, cheapest first.
  using Rungs = std::function<std::vector<Rung>()>;
  PoolBlock* acquire(const MemoryRequest& request, const Rungs& rungs);
  void release(PoolBlock* block) noexcept;

  // Gives everything that is not in use, and whose work is done, back to the device; returns the bytes.
  std::uint64_t cleanup();
  [[nodiscard]] MemoryStats stats() const;
  [[nodiscard]] MemoryUsage usage() const;
  [[nodiscard]] double pressure() const;
  [[nodiscard]] DeviceContext context() const { return upstream_->context(); }
  [[nodiscard]] TagTable& tags() noexcept { return tags_; }
  [[nodiscard]] Budget& budget() noexcept { return *budget_; }

  // From now on buffers are written down; null stops it.
  void set_recorder(std::shared_ptr<AllocationRecorder> recorder);

  // Every block in order of segment and offset; null for a free range. All locks are held meanwhile.
  using BlockVisitor = std::function<void(const BlockMap::Block& range, const PoolBlock* block, bool cached)>;
  void visit(const BlockVisitor& visitor) const;
  [[nodiscard]] MemorySnapshot snapshot(std::string cause) const;
  [[nodiscard]] Runtime& runtime() const noexcept { return runtime_; }

 private:
  struct alignas(line_bytes) Counters {  // guarded by the shard's lock
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
  // Sets `*hit` to false when the block came of asking the device.
  PoolBlock* acquire_slowly(const MemoryRequest& request, const BufferKind& kind, const StreamOrder* order,
                            const Rungs& rungs, bool* hit);
  void make_live(PoolBlock& block, const MemoryRequest& request, std::shared_ptr<StreamOrder> order, bool hit);

  // With the core lock held.
  PoolBlock* take_from_shards(const BufferKind& kind, const StreamOrder* order, Stream* stream);
  PoolBlock* take_range(const BufferKind& kind);
  PoolBlock* grow_and_take(const BufferKind& kind, std::uint64_t exact, bool* device_refused);
  bool add_segment(std::uint64_t bytes);
  std::uint64_t flush_shards(std::uint64_t bytes_min = 0);  // only blocks of at least that size
  void give_back(PoolBlock* block);
  std::uint64_t release_empty_segments(std::uint64_t unused_since);

  std::uint64_t wait_for_streams(const Context& context);
  [[nodiscard]] CacheShape cache_shape() const;
  [[nodiscard]] OutOfMemoryError explain(const MemoryRequest& request, bool device_refused,
                                         std::vector<ReclaimStep> steps) const;
  void note_held();
  void count_allocations();
  void schedule_trim() noexcept;
  void schedule_live() noexcept;
  void write_live();
  void trim_if_idle();
  void sweep();

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
  std::shared_ptr<AllocationRecorder> recorder_;  // changed with all shards locked, read with one
  alignas(line_bytes) std::atomic<std::uint64_t> in_use_{0};
  alignas(line_bytes) std::atomic<std::uint64_t> peak_in_use_{0};
  std::atomic<std::uint64_t> allocations_counted_{0};  // by all threads, in steps of count_step
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

// Which kind of "out" it was, from the numbers alone.
OutOfMemoryKind classify(const OutOfMemoryReport& numbers, const CacheShape& cache, bool device_refused);
std::string advise(const OutOfMemoryReport& report);

}  // namespace vectis::inline v0_1::detail
