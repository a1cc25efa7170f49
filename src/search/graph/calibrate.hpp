// Which search reaches a wanted recall, and at what cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/graph/measure_recall.hpp"
#include "search/graph/query_check.hpp"
#include "search/graph/search_costs.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t calibrated_rows_min = 1000;  // graphs with fewer rows are scanned

// One measurement of a calibration: the recall and the cost of searches with one epsilon. Plain data.
struct CalibrationPoint {
  float epsilon = 1;
  float recall = 0;  // lower confidence bound: the mean share of the nearest calibrated_k minus 1.5 standard errors
  float scored = 0;  // mean number of rows that a search scored
  float scans = 0;   // share of the searches that gave up, so that a scan answered them
};

// The points of searches that rerank the same number of rows.
struct CalibrationCurve {
  std::uint32_t reranked = 0;            // for calibrated_k neighbors
  std::vector<CalibrationPoint> points;  // none descends; epsilon and recall ascend
};

// The parameters of a search for calibrated_k neighbors, and its expected cost.
struct SearchSetting {
  float epsilon = 1;
  std::size_t reranked = 0;
  double scored = 0;
  double scans = 0;  // share of the searches that end in a scan

  // Returns the expected seconds of a search for each of `queries` queries among `rows` rows, those of scans included.
  // Does not throw.
  [[nodiscard]] double seconds(const SearchCosts& costs, std::size_t rows, std::size_t queries) const noexcept;
  bool operator==(const SearchSetting&) const = default;
};

// The measured recall and cost of a graph's searches; empty when never measured. Immutable once made, apart from what
// the checks learn.
struct Calibration {
  std::vector<CalibrationCurve> curves;
  std::uint64_t vectors = 0;  // rows in the graph when it was measured
  std::uint64_t queries = 0;  // that it was measured with
  // Rows scored at which a search gives up and all rows are scanned, as in the searches that were measured.
  std::uint64_t scores_max = 0;
  std::shared_ptr<QueryChecks> checks = std::make_shared<QueryChecks>();  // of the queries that are asked

  // Returns the setting with which `queries` searches are cheapest and reach a recall, interpolated linearly between
  // near points; nullopt when none reaches it. Precondition: 0 < recall <= 1. Does not throw.
  [[nodiscard]] std::optional<SearchSetting> setting_for(double recall, const SearchCosts& costs,
                                                         std::size_t queries) const;
};

// Makes a calibration from measured recalls: of each search the lowest that one of the tables shows, and the highest
// cost. `vectors` is the number of rows in the graph, and every table must have queries. Throws std::bad_alloc.
[[nodiscard]] Calibration make_calibration(std::span<const RecallTable> tables, std::size_t vectors);

}  // namespace vectis::inline v0_1::graph
