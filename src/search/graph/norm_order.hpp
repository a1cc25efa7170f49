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

// Immutable once made.
struct NormOrder {
  std::vector<Slot> slots;    // the longest row first
  std::vector<float> norms;   // norms[i / norm_group]: neither slots[i] nor any slot after it is longer
  std::size_t slots_end = 0;  // rows from this slot on are not in it

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return slots.capacity() * sizeof(Slot) + norms.capacity() * sizeof(float);
  }
};

// Orders the rows, which must be distinct and below `slots_end`, not checked. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<const NormOrder> make_norm_order(Executor& executor, const GraphStorage& storage,
                                                               std::span<const Slot> rows, std::size_t slots_end);

}  // namespace vectis::inline v0_1::graph
