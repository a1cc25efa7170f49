// A picture of the memory pool.
#pragma once

#include <string>

#include "vectis/memory/snapshot.hpp"

namespace vectis::python {

// Returns HTML with an inline SVG: a bar for each segment, in which live, cached and free blocks have different colors,
// under a line of totals. Draws at most 64 segments and 4,096 blocks, and says how many are missing.
std::string memory_map_html(const MemorySnapshot& snapshot);

}  // namespace vectis::python
