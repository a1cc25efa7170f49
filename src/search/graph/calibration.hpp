// How much slack a walk needs for a wanted recall, measured on vectors that were not in the graph yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/look.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

struct CalibrationPoint {
  float slack = 1;
  float recall = 0;  // mean share of the true nearest `calibrated_k` that were found, less its standard error
  float scored = 0;  // rows that a walk looked at, on average
};

// Immutable once made.
struct Calibration {
  std::vector<CalibrationPoint> points;  // all three growing
  std::uint64_t vectors = 0;             // in the graph when it was measured

  // What this recall takes: between points by the logarithm of what is missed; beyond the last one that one, which is
  // the widest that was tried. Where nothing was measured, something generous.
  [[nodiscard]] CalibrationPoint point_for(double recall) const;
};

// Walks of `look` for each of these vectors, which are not in the graph, with growing slack until nearly all of the
// truth is found. `rows` are those that can be found.
[[nodiscard]] Calibration calibrate(Executor& executor, const Look& look, std::span<const Slot> rows,
                                    std::span<const float> queries);

}  // namespace vectis::inline v0_1::graph
