#include "search/graph/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::array epsilons{0.9F,  0.94F, 0.96F, 0.97F, 0.98F, 0.985F, 0.99F, 0.995F, 1.0F,
                              1.01F, 1.02F, 1.03F, 1.04F, 1.05F, 1.06F,  1.08F, 1.1F,   1.12F,
                              1.15F, 1.18F, 1.22F, 1.26F, 1.3F,  1.4F,   1.5F};
// One search measures all epsilons up to the next of these.
constexpr std::array group_limits{1.0F, 1.04F, 1.08F, 1.15F, 1.26F, 1.5F};
constexpr double recall_enough = 0.9985;
// Small graphs are scanned anyway, and this is generous for others.
constexpr CalibrationPoint default_point{.epsilon = 1.2F, .recall = 0, .scored = 3000};
constexpr std::size_t query_grain = 8;  // queries per task

// Calls `work(i, scratch, hits)` for every query i, with scratch.query set.
template <class Work>
void for_each_query(Executor& executor, const SearchParams& params, std::span<const float> queries, const Work& work) {
  const Graph& graph = params.storage->graph;
  const std::size_t dim = graph.encoding.projection.dim;
  executor.parallel_for(queries.size() / dim, query_grain, [&](std::size_t begin, std::size_t end) {
    SearchScratch scratch(graph);
    std::vector<Hit> hits;
    for (std::size_t i = begin; i < end; ++i) {
      scratch.query.set_vector(graph.encoding, queries.data() + i * dim);
      work(i, scratch, hits);
    }
  });
}

// Hits as near as the ground truth, whichever of equally near rows they are.
std::size_t count_found(std::span<const Hit> hits, double largest_distance) {
  return static_cast<std::size_t>(
      std::ranges::count_if(hits, [&](const Hit& hit) { return hit.distance <= largest_distance; }));
}

// The mean minus its standard error, so that few queries do not promise too much.
float lower_confidence_recall(std::span<const std::size_t> found) {
  const auto count = static_cast<double>(found.size());
  double sum = 0;
  double squares = 0;
  for (const std::size_t hits : found) {
    const double share = static_cast<double>(hits) / static_cast<double>(calibrated_k);
    sum += share;
    squares += share * share;
  }
  const double mean = sum / count;
  return static_cast<float>(std::max(0.0, mean - std::sqrt(std::max(0.0, squares / count - mean * mean) / count)));
}

// The epsilons that the next search measures.
std::span<const float> next_group(std::span<const float> left) {
  const float limit = *std::ranges::lower_bound(group_limits, left.front());
  return left.first(static_cast<std::size_t>(std::ranges::upper_bound(left, limit) - left.begin()));
}

// One point per epsilon of the group.
std::vector<CalibrationPoint> measure(Executor& executor, const SearchParams& params, std::span<const float> group,
                                      std::span<const float> queries, std::span<const double> ground_truth) {
  const std::size_t dim = params.storage->graph.encoding.projection.dim;
  const std::size_t count = ground_truth.size();
  std::vector<std::size_t> found(group.size() * count);
  std::vector<std::uint64_t> scored(group.size() * count);
  for_each_query(executor, params, queries, [&](std::size_t i, SearchScratch& scratch, std::vector<Hit>& hits) {
    search_at_epsilons(params, group, queries.data() + i * dim, scratch, hits,
                       [&](std::size_t step, std::span<const Hit> found_hits, std::uint64_t rows_scored) {
                         found[step * count + i] = count_found(found_hits, ground_truth[i]);
                         scored[step * count + i] = rows_scored;
                       });
  });
  std::vector<CalibrationPoint> points;
  for (std::size_t step = 0; step < group.size(); ++step) {
    const auto step_scored = std::span(scored).subspan(step * count, count);
    const double sum = std::accumulate(step_scored.begin(), step_scored.end(), 0.0);
    points.push_back({.epsilon = group[step],
                      .recall = lower_confidence_recall(std::span(found).subspan(step * count, count)),
                      .scored = static_cast<float>(sum / static_cast<double>(count))});
  }
  return points;
}

}  // namespace

CalibrationPoint Calibration::point_for(double recall) const {
  if (points.empty()) return default_point;
  const auto above = std::ranges::find_if(points, [&](const CalibrationPoint& p) { return p.recall >= recall; });
  if (above == points.end()) return points.back();
  if (above == points.begin()) return points.front();
  const CalibrationPoint& below = *(above - 1);
  const double part =
      std::log((1 - below.recall) / (1 - recall)) / std::log((1 - below.recall) / std::max(1e-6, 1.0 - above->recall));
  const auto share = static_cast<float>(std::clamp(part, 0.0, 1.0));
  return {.epsilon = below.epsilon + share * (above->epsilon - below.epsilon),
          .recall = static_cast<float>(recall),
          .scored = below.scored + share * (above->scored - below.scored)};
}

Calibration calibrate(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                      std::span<const float> queries) {
  const std::size_t dim = params.storage->graph.encoding.projection.dim;
  SearchParams calibrated = params;
  calibrated.k = calibrated_k;
  calibrated.beam = beam_for_epsilon(calibrated_k, 1);
  std::vector<double> ground_truth(queries.size() / dim);  // the largest distance of the nearest calibrated_k
  for_each_query(executor, calibrated, queries, [&](std::size_t i, SearchScratch& scratch, std::vector<Hit>& hits) {
    brute_force_scan(calibrated, rows, queries.data() + i * dim, scratch, hits);
    if (!hits.empty()) ground_truth[i] = hits.back().distance;
  });
  Calibration result;
  result.vectors = rows.size();
  for (std::span<const float> left = epsilons; !left.empty();) {
    const std::span<const float> group = next_group(left);
    for (const CalibrationPoint& point : measure(executor, calibrated, group, queries, ground_truth)) {
      const bool grew = result.points.empty() ||
                        (point.recall > result.points.back().recall && point.scored > result.points.back().scored);
      if (grew) result.points.push_back(point);
      // Past a plateau, larger epsilons only cost more.
      const bool plateau = !grew && double{point.recall} >= plateau_recall_min;
      const bool scored_all = double{point.scored} >= static_cast<double>(rows.size());
      if (double{point.recall} >= recall_enough || plateau || scored_all) return result;
    }
    left = left.subspan(group.size());
  }
  return result;
}

}  // namespace vectis::inline v0_1::graph
