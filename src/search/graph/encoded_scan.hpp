// Exact answers to many queries by the scan of the exact index: rows are encoded from their vectors as they are
// scanned.
//
// The codes of a graph are as short as a beam search allows, and bound distances loosely. For many queries it is
// cheaper to make tighter codes of each row once than to compare its vector with the queries that a loose bound leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/exact/search_task.hpp"
#include "search/graph/exact_scan.hpp"
#include "search/graph/search.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// The rows of a graph as segments of an exact index, without codes. Uses the vectors of the storage in place, which
// must outlive this object, and copies the ids.
class RowSegments {
 public:
  // Takes the visible rows of a search. Precondition, not checked: can_encode(). Throws std::bad_alloc.
  explicit RowSegments(const SearchParams& params);
  RowSegments(const RowSegments&) = delete;  // the segments point into members
  RowSegments& operator=(const RowSegments&) = delete;
  ~RowSegments() = default;

  [[nodiscard]] std::span<const exact::SegmentView> views() const noexcept { return views_; }

 private:
  void add_block(const SearchParams& params, std::size_t first, std::size_t end);

  exact::Quantizer quantizer_;
  std::vector<std::uint64_t> ids_;
  std::vector<exact::SegmentView> views_;
};

// Returns whether encoded_scan can search the storage: vectors are floats in memory. Those of a mapped file would be
// read from the disk. Does not throw.
[[nodiscard]] bool can_encode(const GraphStorage& storage) noexcept;

// Replaces hits[i] by the params.k nearest visible rows to query i within params.radius, as exact_scan does, with all
// threads. `queries` are whole rows of dim floats, one for each element of `hits`. Preconditions, not checked:
// can_encode(*params.storage) and params.k >= 1. Throws Cancelled or DeadlineExceeded as the context says, Allocation
// and std::bad_alloc.
ExactScanCounts encoded_scan(Executor& executor, const SearchParams& params, std::span<const float> queries,
                             const Context& context, std::span<std::vector<Hit>> hits);

}  // namespace vectis::inline v0_1::graph
