// Rows by descending length: a scan for the largest inner products ends where all further rows are too short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/graph/storage.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t norm_group = 16;  // rows that share a bound of their lengths

// Rows, the longest first. Immutable once made.
struct SortedRows {
  std::vector<Slot> slots;
  std::vector<float> norms;  // norms[i / norm_group]: neither slots[i] nor any slot after it is longer
};

// The sorted rows of a graph, and which rows are not among them. Immutable once made.
struct NormOrder {
  std::shared_ptr<const SortedRows> sorted;  // never null
  std::size_t slots_end = 0;                 // rows from this slot on are not sorted
  std::vector<Slot> reused;                  // slots below, whose rows are newer than the order

  // Returns the order after slots were used for new rows; null when too many were to scan them unsorted. Throws
  // std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const NormOrder> after_reuse(std::span<const Slot> slots) const;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

// Sorts the rows, which must be distinct and below `slots_end`, not checked. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<const NormOrder> make_norm_order(Executor& executor, const GraphStorage& storage,
                                                               std::span<const Slot> rows, std::size_t slots_end);

}  // namespace vectis::inline v0_1::graph
