#include "search/graph/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vectis::inline v0_1::graph {

namespace {

// Standard errors below the measured recall, so that few queries do not promise too much: more for few queries, since
// those of one cluster are not independent of each other.
double confidence_errors(double queries) { return 1.5 * (1 + 50 / queries); }
// Where more of the missed neighbors are found from one epsilon to the next, as where many queries are equal, recall
// may jump anywhere between them.
constexpr float interpolated_share = 0.3F;

std::optional<SearchSetting> setting_on(const CalibrationCurve& curve, double recall) {
  const std::vector<CalibrationPoint>& points = curve.points;
  const auto above =
      std::ranges::find_if(points, [&](const CalibrationPoint& p) { return double{p.recall} >= recall; });
  if (above == points.end()) return std::nullopt;
  const bool interpolated =
      above != points.begin() && above->recall - (above - 1)->recall <= interpolated_share * (1 - (above - 1)->recall);
  if (!interpolated) return SearchSetting{above->epsilon, curve.reranked, double{above->scored}, double{above->scans}};
  const CalibrationPoint& below = *(above - 1);
  const double share = (recall - double{below.recall}) / (double{above->recall} - double{below.recall});
  return SearchSetting{below.epsilon + static_cast<float>(share) * (above->epsilon - below.epsilon), curve.reranked,
                       std::lerp(double{below.scored}, double{above->scored}, share),
                       std::lerp(double{below.scans}, double{above->scans}, share)};
}

// The lowest recall and the highest cost of the tables. Beyond the last epsilon of a table that one counts.
CalibrationPoint lowest_point(std::span<const RecallTable> tables, std::size_t step, std::size_t depth) {
  CalibrationPoint point{.epsilon = 0, .recall = 1};
  for (const RecallTable& table : tables) {
    const std::size_t last = std::min(step, table.rows.size() - 1);
    const RecallEstimate recall = table.recall(last, depth);
    const double bound = std::max(0.0, recall.mean - confidence_errors(table.queries) * recall.error);
    point.epsilon = std::max(point.epsilon, table.rows[last].epsilon);
    point.recall = std::min(point.recall, static_cast<float>(bound));
    point.scored = std::max(point.scored, static_cast<float>(table.rows[last].scored / table.queries));
    point.scans = std::max(point.scans, static_cast<float>(table.rows[last].scans / table.queries));
  }
  return point;
}

bool ascends(const CalibrationPoint& before, const CalibrationPoint& after) {
  return after.recall > before.recall && after.scored >= before.scored && after.scans >= before.scans;
}

}  // namespace

double SearchSetting::seconds(const SearchCosts& costs, std::size_t rows, std::size_t queries) const noexcept {
  // The queries of a call that end in a scan share it.
  const auto scanned = static_cast<std::size_t>(std::max(1.0, scans * static_cast<double>(queries)));
  return costs.beam_seconds(scored) + static_cast<double>(reranked) * costs.reranked +
         scans * costs.scan_seconds(rows, scanned);
}

std::optional<SearchSetting> Calibration::setting_for(double recall, const SearchCosts& costs,
                                                      std::size_t queries) const {
  const auto seconds = [&](const SearchSetting& setting) { return setting.seconds(costs, vectors, queries); };
  std::optional<SearchSetting> cheapest;
  for (const CalibrationCurve& curve : curves) {
    const std::optional<SearchSetting> setting = setting_on(curve, recall);
    if (setting && (!cheapest || seconds(*setting) < seconds(*cheapest))) cheapest = setting;
  }
  return cheapest;
}

Calibration make_calibration(std::span<const RecallTable> tables, std::size_t vectors) {
  Calibration result;
  result.vectors = vectors;
  result.scores_max = std::numeric_limits<std::uint64_t>::max();
  std::size_t steps = 0;
  for (const RecallTable& table : tables) {
    result.queries += static_cast<std::uint64_t>(table.queries);
    result.scores_max = std::min(result.scores_max, table.scores_max);
    steps = std::max(steps, table.rows.size());
  }
  for (std::size_t depth = 0; depth < calibrated_reranked.size(); ++depth) {
    CalibrationCurve& curve = result.curves.emplace_back(calibrated_reranked[depth]);
    for (std::size_t step = 0; step < steps; ++step) {
      const CalibrationPoint point = lowest_point(tables, step, depth);
      if (curve.points.empty() || ascends(curve.points.back(), point)) curve.points.push_back(point);
    }
  }
  return result;
}

}  // namespace vectis::inline v0_1::graph
