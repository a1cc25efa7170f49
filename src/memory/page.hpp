// Reduces the blocks of a snapshot to a number that a browser can draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/memory/snapshot.hpp"

namespace vectis::inline v0_1::detail {

// A block, or a run of neighbors too small to be visible.
struct PageBlock {
  const SnapshotBlock* first = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t live_bytes = 0;
  std::size_t count = 1;
};

// Returns at most `max` entries plus one per segment: with more blocks, runs of blocks narrower than a line are joined.
// The result points into `blocks`, which must outlive it.
std::vector<PageBlock> condense(const std::vector<SnapshotBlock>& blocks, std::size_t max);

}  // namespace vectis::inline v0_1::detail
