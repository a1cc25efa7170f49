// How long rows must be.
#pragma once

#include <span>

#include "search/graph/frame.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Sets coordinates and bits of the frame to the shortest rows whose best by code contain nearly all of the truly
// nearest, tried on `rows` (full_dim numbers each, the centre taken away). Its directions are shortened to match, or
// dropped when nothing short will do.
void choose_codes(Executor& executor, std::span<const float> rows, Frame& frame);

}  // namespace vectis::inline v0_1::graph
