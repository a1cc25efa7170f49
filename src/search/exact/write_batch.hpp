// The next snapshot of a segment store while the writer builds it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/exact/segment_store.hpp"

namespace vectis::inline v0_1::exact {

// The next snapshot of a segment store while the writer builds it; begins as a copy of the published snapshot.
// Abandoning a batch leaves only unpublished rows at the end of the tail, the segment that grows; the next append
// replaces such a tail by one without them. Calls throw Allocation or std::bad_alloc when memory is exhausted. One
// thread at a time.
class SegmentStore::WriteBatch {
 public:
  // Copies the published snapshot of `store`, whose writer lock the caller holds. `op` names the public call in
  // messages. Between segments, later calls check `context` and throw Cancelled or DeadlineExceeded as it says.
  WriteBatch(const SegmentStore& store, std::string_view op, const Context& context);

  // Appends rows to the tail, whose capacity doubles up to a full segment, and then to new segments. With `device`,
  // a tail of another device stays as it is, the new segments are of that device, and a small segment of the device is
  // joined with them, so that devices that add single rows in turn do not leave a segment each time. Preconditions,
  // not checked: finite floats, one id for each row, no id that is live. Throws Cancelled or DeadlineExceeded as the
  // context says, Allocation or std::bad_alloc when memory is exhausted.
  void append(std::span<const float> vectors, std::span<const std::uint64_t> ids,
              std::optional<int> device = std::nullopt);
  // Sets the tombstone of the id's row and returns true; returns false when the id does not exist. Throws
  // std::bad_alloc when memory for the tombstones is exhausted.
  bool remove(std::uint64_t id);
  // Reclaims segments of which less than half of the rows are live: moves their live rows to the tail, or copies
  // their codes to a smaller segment when full precision was dropped. Throws Cancelled or DeadlineExceeded as the
  // context says.
  void reclaim();
  // Quantizes the live rows of every segment again at `precision`, which the metric must be able to scan (not
  // checked). Throws Cancelled or DeadlineExceeded as the context says, Allocation or std::bad_alloc when memory is
  // exhausted.
  void requantize(Precision precision);
  // Replaces every segment that has tombstones by one without the removed rows. Throws Cancelled or DeadlineExceeded
  // as the context says, Allocation or std::bad_alloc when memory is exhausted.
  void compact();
  // Replaces every segment by its live rows as codes alone; a segment with a row that cannot be coded keeps its fp32
  // vectors, and at fp32 all do. Throws Cancelled or DeadlineExceeded as the context says, Allocation or
  // std::bad_alloc.
  void drop_full_precision();

  Snapshot snapshot;
  std::shared_ptr<Segment> tail;

 private:
  // Whether the tail has rows of an abandoned batch after the published ones. Precondition, not checked: a tail.
  [[nodiscard]] bool has_abandoned_rows() const noexcept;
  // Removes the last segment of the device that has fp32 vectors and few rows from the snapshot, and returns its live
  // rows; none when there is no such segment.
  [[nodiscard]] OwnedRows take_small_segment(int device);
  std::size_t fill_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  std::size_t grow_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  std::size_t begin_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids, std::optional<int> device);
  void make_tail(std::size_t capacity, std::span<const float> vectors, std::span<const std::uint64_t> ids,
                 std::optional<int> device);
  void keep(const SegmentView& view, std::size_t capacity, std::size_t bytes);
  void keep_codes(const SegmentView& view);
  void keep_rows(const SegmentView& view, Precision precision, std::size_t capacity, bool grows);
  [[nodiscard]] Snapshot begin_anew(Precision precision);
  void drop(std::size_t part);

  // Reports progress `done` of `total` to the context. Before that throws Cancelled or DeadlineExceeded when the
  // context says so, unless done == total.
  void step(std::uint64_t done, std::uint64_t total) const;

  const SegmentStore& store_;
  std::string_view op_;
  Context context_;
  std::vector<std::shared_ptr<std::uint64_t[]>>
      bitmaps_;  // tombstones of the segments that this batch changed, else null
};

}  // namespace vectis::inline v0_1::exact
