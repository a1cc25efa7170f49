// Which epsilon a search needs for a wanted recall, measured with vectors that are not in the graph yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/search.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

struct CalibrationPoint {
  float epsilon = 1;
  float recall = 0;  // mean share of the nearest calibrated_k that were found, minus its standard error
  float scored = 0;  // mean number of rows that a search scored
};

// Immutable once made.
struct Calibration {
  std::vector<CalibrationPoint> points;  // all three fields strictly ascending
  std::uint64_t vectors = 0;             // rows in the graph when it was measured

  // Interpolates linearly in the logarithm of the missed share. Returns the last point for a recall above all points,
  // and a generous default when there are no points.
  [[nodiscard]] CalibrationPoint point_for(double recall) const;
};

// Searches for each of `queries` (rows of dim floats that are not in the graph) with growing epsilon, until recall
// reaches 0.9985, levels off above 0.99, or a search scores all rows. `rows` are all rows that can be found; they are
// scanned once per query for the ground truth. The result does not depend on the number of threads.
[[nodiscard]] Calibration calibrate(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                                    std::span<const float> queries);

}  // namespace vectis::inline v0_1::graph
