// What a browser needs of a snapshot: few enough blocks to draw, in the order of their importance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/memory/snapshot.hpp"

namespace vectis::inline v0_1::detail {

// A block, or a run of neighbours each too small to be seen.
struct PageBlock {
  const SnapshotBlock* first = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t live_bytes = 0;
  std::size_t count = 1;
};

// At most `max` entries and one for each segment: with more blocks, runs of those that would be narrower than the
// finest line are drawn as one. Points into `blocks`.
std::vector<PageBlock> condense(const std::vector<SnapshotBlock>& blocks, std::size_t max);

}  // namespace vectis::inline v0_1::detail
