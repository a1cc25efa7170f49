// Which search reaches a wanted recall, and at what cost: measured with rows that are not in the graph, or left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/graph/search.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t calibrated_rows_min = 2000;  // graphs with fewer rows are scanned

// Seconds of one thread for one row, by which searches and scans are compared. Plain data; the values are of one CPU.
struct SearchCosts {
  double visited = 65e-9;          // scored by a beam search
  double reranked = 100e-9;        // compared by its vector
  double scanned = 10e-9;          // by an exact scan for one query
  double scanned_in_batch = 7e-9;  // by an exact scan for each of exact_scan_queries
};

// One measurement of a calibration: the recall and the cost of searches with one epsilon. Plain data.
struct CalibrationPoint {
  float epsilon = 1;
  float recall = 0;  // lower confidence bound: the mean share of the nearest calibrated_k minus its standard error
  float scored = 0;  // mean number of rows that a search scored; one that gave up counts the scan after it as well
};

// The points of searches that rerank the same number of rows.
struct CalibrationCurve {
  std::uint32_t reranked = 0;            // for calibrated_k neighbors
  std::vector<CalibrationPoint> points;  // all three fields strictly ascending
};

// The parameters of a search for calibrated_k neighbors, and its expected cost.
struct SearchSetting {
  float epsilon = 1;
  std::size_t reranked = 0;
  double scored = 0;
};

// Rows that a beam search of a graph with `rows` rows scores before it gives up and all rows are scanned: a scan then
// costs as much as the search so far, since a visited row costs several scanned ones. Does not throw.
[[nodiscard]] std::uint64_t scores_before_scan(std::size_t rows) noexcept;

// The measured recall and cost of a graph's searches; empty when never measured. Immutable once made.
struct Calibration {
  std::vector<CalibrationCurve> curves;
  std::uint64_t vectors = 0;  // rows in the graph when it was measured
  std::uint64_t queries = 0;  // that it was measured with

  // Returns the cheapest setting that reaches a recall, interpolated linearly; nullopt when none does. Precondition: 0
  // < recall <= 1. Does not throw.
  [[nodiscard]] std::optional<SearchSetting> setting_for(double recall, const SearchCosts& costs) const;
};

// Measures recall and cost of searches for two kinds of rows: `held_out` are not in the graph yet; `left_out` are, and
// are searched for as if they were not, which is less reliable, so that a neighbor missed there counts more. The ground
// truth is that of exact scans over `rows`, which must be all rows of the graph that can be found; equal distances
// count as found. Epsilon grows until recall reaches 0.9985, stops to grow, or searches cost more than scans. There
// must be at least one query. The result does not depend on the number of threads. Throws std::bad_alloc.
[[nodiscard]] Calibration calibrate(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                                    std::span<const Slot> held_out, std::span<const Slot> left_out);

// Measures the costs on the calling thread with some of the rows, which takes about a millisecond; the defaults when
// there are fewer than 1,000. `rows` are those of calibrate(), `sample` some vectors to search for. Throws
// std::bad_alloc.
[[nodiscard]] SearchCosts measure_costs(const SearchParams& params, std::span<const Slot> rows,
                                        std::span<const Slot> sample);

}  // namespace vectis::inline v0_1::graph
