// Which epsilon a search needs for a wanted recall, measured with vectors that are not in the graph yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/search.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// From this recall on, a calibration ends where larger epsilons find no more.
inline constexpr double plateau_recall_min = 0.99;

// One measurement of a calibration: the recall and the cost of searches with one epsilon. Plain data.
struct CalibrationPoint {
  float epsilon = 1;
  float recall = 0;  // mean share of the nearest calibrated_k that were found, minus its standard error
  float scored = 0;  // mean number of rows that a search scored
};

// The measured recall and cost of a graph's searches for several epsilons; empty when never measured. Immutable once
// made.
struct Calibration {
  std::vector<CalibrationPoint> points;  // all three fields strictly ascending
  std::uint64_t vectors = 0;             // rows in the graph when it was measured

  // Returns the epsilon and cost for a wanted recall, interpolated linearly in the logarithm of the missed share.
  // Returns the first or last point for a recall below or above all points, and epsilon 1.2 when there are no points.
  // Precondition: 0 < recall <= 1. Does not throw.
  [[nodiscard]] CalibrationPoint point_for(double recall) const;
};

// Measures recall and cost of searches for `queries` (at least one row of dim floats, not in the graph) with growing
// epsilon, until recall reaches 0.9985, levels off above 0.99, or a search scores all rows. `rows` must be all rows
// that can be found; each query scans them for the ground truth. The result does not depend on the number of threads.
// Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] Calibration calibrate(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                                    std::span<const float> queries);

}  // namespace vectis::inline v0_1::graph
