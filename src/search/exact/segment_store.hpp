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

// A segment of a snapshot, beside its view.
struct Part {
  IdLookup lookup;
  std::size_t capacity = 0;
  std::size_t live = 0;   // rows that are not removed
  std::size_t bytes = 0;  // of the segment
};

// Precondition: no row of the segment is removed.
[[nodiscard]] Part make_part(const SegmentView& view, std::size_t capacity, std::size_t bytes);

// The store as a search sees it. Immutable once published.
struct Snapshot {
  Precision precision = Precision::fp32;
  std::optional<std::uint64_t> highest_id;  // ever used
  std::vector<SegmentView> views;
  std::vector<Part> parts;  // one for each view

  [[nodiscard]] std::uint64_t vectors() const noexcept;
  [[nodiscard]] std::uint64_t removed() const noexcept;  // rows not yet reclaimed
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // Segment and row of a live id.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find(std::uint64_t id) const noexcept;
};

// Thread-safe: readers take now() and never wait for a change; changes wait for each other. Callers have checked the
// vectors. A change that throws changes nothing.
class SegmentStore {
 public:
  SegmentStore(Executor& executor, Metric metric, std::size_t dim, Precision precision);
  // Continues from a loaded snapshot; its last segment grows again when it is that of `tail`.
  SegmentStore(Executor& executor, Metric metric, std::size_t dim, Snapshot snapshot, std::shared_ptr<Segment> tail);

  // Calls `watcher` with the present snapshot, and later with each one before it is published, on the writer's thread.
  void watch(std::function<void(const Snapshot&)> watcher);

  [[nodiscard]] std::shared_ptr<const Snapshot> now() const;
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] Metric metric() const noexcept { return metric_; }

  // As the calls of Index with the same names. Between segments they check `context` and report progress to it.
  std::uint64_t add(std::span<const float> vectors, const Context& context);
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context);
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context);
  void update(std::uint64_t id, std::span<const float> vector);
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context);
  void set_precision(Precision precision, const Context& context);
  void compact(const Context& context);
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
