// The next snapshot of a store while the writer makes it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "search/exact/segment_store.hpp"

namespace vectis::inline v0_1::exact {

// Begins as a copy of what is published. Given up, it leaves no trace but rows at the end of the tail that no view
// shows; the next batch notices them and lets that tail be. One thread at a time.
class SegmentStore::WriteBatch {
 public:
  // `op` and `context` are those of the call: checked, and told the progress, between segments.
  WriteBatch(const SegmentStore& store, std::string_view op, const Context& context);

  // Rows go to the end of the tail, which grows by doubling up to a full segment; then to new segments.
  void append(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  // False when the id is not there.
  bool remove(std::uint64_t id);
  // Reclaims segments more than half of which is removed: their rows move to the tail.
  void reclaim();
  void requantize(Precision precision);
  // Leaves removed rows out of every segment that has some.
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

  // Between segments: throws when the call shall stop, else reports the progress.
  void step(std::uint64_t done, std::uint64_t total) const;

  const SegmentStore& store_;
  std::string_view op_;
  Context context_;
  std::vector<std::shared_ptr<std::uint64_t[]>> bitmaps_;  // of the parts, where this batch made its own
};

}  // namespace vectis::inline v0_1::exact
