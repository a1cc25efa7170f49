// The next snapshot of a segment store while the writer builds it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "search/exact/segment_store.hpp"

namespace vectis::inline v0_1::exact {

// Begins as a copy of the published snapshot. Abandoning a batch leaves only unpublished rows at the end of the tail;
// the next batch notices them and begins another tail. One thread at a time.
class SegmentStore::WriteBatch {
 public:
  // `op` names the public call in messages. Between segments the batch checks `context` and reports progress to it.
  WriteBatch(const SegmentStore& store, std::string_view op, const Context& context);

  // Appends rows to the tail, which doubles up to a full segment, and then to new segments.
  void append(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  // Sets the tombstone of the id's row. Returns false when the id does not exist.
  bool remove(std::uint64_t id);
  // Moves the live rows of segments that are less than half live to the tail.
  void reclaim();
  void requantize(Precision precision);
  // Copies every segment that has removed rows without them.
  void compact();
  void drop_full_precision();

  Snapshot snapshot;
  std::shared_ptr<Segment> tail;

 private:
  std::size_t fill_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  std::size_t grow_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  std::size_t begin_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  void make_tail(std::size_t capacity, std::span<const float> vectors, std::span<const std::uint64_t> ids);
  void keep(const SegmentView& view, std::size_t capacity, std::size_t bytes);
  void keep_codes(const SegmentView& view);
  void keep_rows(const SegmentView& view, Precision precision, std::size_t capacity, bool grows);
  [[nodiscard]] Snapshot begin_anew(Precision precision);
  void drop(std::size_t part);

  // Throws Cancelled or DeadlineExceeded when the context says so, else reports progress.
  void step(std::uint64_t done, std::uint64_t total) const;

  const SegmentStore& store_;
  std::string_view op_;
  Context context_;
  std::vector<std::shared_ptr<std::uint64_t[]>>
      bitmaps_;  // tombstones of the segments that this batch changed, else null
};

}  // namespace vectis::inline v0_1::exact
