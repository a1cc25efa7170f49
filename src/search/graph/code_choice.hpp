// How long rows must be.
#pragma once

#include <span>

#include "search/graph/frame.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Sets coordinates and bits of the frame to the shortest rows whose best by code contain nearly all of the truly
// nearest, tried on `rows`; it keeps the first of `directions`, or none when nothing short will do. Both are rows of
// full_dim numbers, the centre taken away.
void choose_codes(Executor& executor, std::span<const float> rows, std::span<const float> directions, Frame& frame);

}  // namespace vectis::inline v0_1::graph
