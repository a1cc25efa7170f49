// The vectors of an exact index: immutable snapshots for readers, and one writer that publishes the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/exact/id_lookup.hpp"
#include "search/exact/segment.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::exact {

// What a snapshot knows about one segment besides its view: the id lookup, capacity, live rows and bytes.
struct Part {
  IdLookup lookup;
  std::size_t capacity = 0;
  std::size_t live = 0;   // rows that are not removed
  std::size_t bytes = 0;  // of the segment
};

// Makes the Part of a segment with `capacity` rows and `bytes` bytes, and enters the view's ids into its lookup.
// Preconditions, not checked: the view has at least one row, and no tombstones. Throws std::bad_alloc when memory is
// exhausted.
[[nodiscard]] Part make_part(const SegmentView& view, std::size_t capacity, std::size_t bytes);

// The state of a segment store that a search reads: precision, segments and their ids. Immutable once published.
struct Snapshot {
  Precision precision = Precision::fp32;
  std::optional<std::uint64_t> highest_id;  // ever used
  std::vector<SegmentView> views;
  std::vector<Part> parts;  // one for each view

  // Returns the number of live rows of all segments.
  [[nodiscard]] std::uint64_t vectors() const noexcept;
  [[nodiscard]] std::uint64_t removed() const noexcept;  // tombstones: removed rows whose memory is not reclaimed yet
  // Returns the bytes of host memory of all segments, id lookups and tombstones.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // Returns the index of the segment and the row of an id, or nullopt when the id does not exist or is removed. Does
  // not throw.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find(std::uint64_t id) const noexcept;
};

// The vectors of an exact index in segments. Thread-safe: readers take now() and never wait for a change; changes
// wait for each other. Callers must pass whole rows of finite floats, which is not checked. A change that throws
// changes nothing; each throws Allocation when memory is exhausted.
class SegmentStore {
 public:
  // Makes an empty store for vectors of `dim` floats. `precision` must be one that `metric` can scan, which is not
  // checked. `executor` must outlive the store.
  SegmentStore(Executor& executor, Metric metric, std::size_t dim, Precision precision);
  // Makes a store that continues from a loaded snapshot of the same metric and dim. `tail` is the segment of the last
  // view, which then grows again, or null. `executor` must outlive the store. Checks nothing.
  SegmentStore(Executor& executor, Metric metric, std::size_t dim, Snapshot snapshot, std::shared_ptr<Segment> tail);

  // Calls `watcher` with the present snapshot, and later with each snapshot before it is published, on the writer's
  // thread; replaces an earlier watcher. `watcher` must not be empty and must not change the store. When it throws,
  // the change throws and is not published.
  void watch(std::function<void(const Snapshot&)> watcher);

  // Returns the published snapshot, never null, which stays valid and unchanged as long as the caller holds it.
  [[nodiscard]] std::shared_ptr<const Snapshot> now() const;
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] Metric metric() const noexcept { return metric_; }

  // Adds whole rows of finite floats under consecutive ids above the highest ever used, and returns the first id.
  // With `device`, all rows are in segments of that device (SegmentView::device). Throws InvalidInput when the ids
  // would pass 2^64 - 1, Allocation when memory is exhausted, and Cancelled or DeadlineExceeded as `context` says; then
  // nothing is added.
  std::uint64_t add(std::span<const float> vectors, const Context& context, std::optional<int> device = std::nullopt);
  // Adds row i under ids[i]; there must be one id for each row, which is not checked. Throws InvalidInput when an id
  // exists or repeats, Allocation when memory is exhausted, and Cancelled or DeadlineExceeded as `context` says.
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context,
           std::optional<int> device = std::nullopt);
  // Stores row i under ids[i]: adds new ids and replaces existing ones; there must be one id for each row. Throws
  // InvalidInput when an id repeats, Allocation, and Cancelled or DeadlineExceeded as `context` says.
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context,
              std::optional<int> device = std::nullopt);
  // Replaces the vector of an id by `vector`, dim() finite floats, which is not checked. Throws InvalidInput when the
  // id does not exist, and Allocation when memory is exhausted.
  void update(std::uint64_t id, std::span<const float> vector);
  // Removes the ids that exist, ignores the others, and returns how many existed. Throws Allocation when memory is
  // exhausted, and Cancelled or DeadlineExceeded as `context` says; then nothing is removed.
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context);
  // Quantizes all rows again at `precision`, which the metric must be able to scan (not checked); does nothing when
  // it is the present one. Throws Allocation when memory is exhausted, and Cancelled or DeadlineExceeded as `context`
  // says.
  void set_precision(Precision precision, const Context& context);
  // Reclaims the memory of removed rows; does nothing when there are none. Throws Allocation when memory is
  // exhausted, and Cancelled or DeadlineExceeded as `context` says; then nothing is changed.
  void compact(const Context& context);
  // Discards the fp32 vectors of rows that have codes, which loses information, and reclaims removed rows. Throws
  // Allocation when memory is exhausted, and Cancelled or DeadlineExceeded as `context` says.
  void drop_full_precision(const Context& context);

 private:
  class WriteBatch;
  void publish(WriteBatch&& batch);

  Executor& executor_;
  const Metric metric_;
  const std::size_t dim_;
  std::mutex writer_;  // held through a change
  std::function<void(const Snapshot&)> watcher_;
  std::shared_ptr<Segment> tail_;      // segment of the last view; null: it does not grow. Guarded by writer_
  mutable std::mutex snapshot_mutex_;  // held while the pointer is copied
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace vectis::inline v0_1::exact
