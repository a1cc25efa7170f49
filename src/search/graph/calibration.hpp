// How wide a walk must be for a wanted recall, measured on vectors that were not in the graph yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/look.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

struct CalibrationPoint {
  std::uint32_t width = 0;
  float recall = 0;  // mean share of the true nearest `calibrated_k` that were found
};

inline constexpr std::size_t calibrated_k = 10;

// Points of growing width and recall. Immutable once made.
struct Calibration {
  std::vector<CalibrationPoint> points;
  std::uint64_t vectors = 0;  // in the graph when it was measured

  // The width for this recall of k neighbours; between points by the logarithm, beyond the last one its width, which is
  // the widest that was tried.
  [[nodiscard]] std::size_t width_for(double recall, std::size_t k) const;
};

// Walks of `look` for each of these vectors, which are not in the graph, at growing width until nearly all of the truth
// is found. `rows` are those that can be found.
[[nodiscard]] Calibration calibrate(Executor& executor, const Look& look, std::span<const Slot> rows,
                                    std::span<const float> queries);

}  // namespace vectis::inline v0_1::graph
