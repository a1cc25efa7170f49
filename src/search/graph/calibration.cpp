#include "search/graph/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::array slacks{0.9F,  0.94F, 0.96F, 0.97F, 0.98F, 0.985F, 0.99F, 0.995F, 1.0F,  1.01F, 1.02F, 1.03F, 1.04F,
                            1.05F, 1.06F, 1.08F, 1.1F,  1.12F, 1.15F,  1.18F, 1.22F,  1.26F, 1.3F,  1.4F,  1.5F};
constexpr std::array group_limits{1.0F, 1.04F, 1.08F, 1.15F, 1.26F, 1.5F};
constexpr double enough = 0.9985;
constexpr double level_min = 0.99;  // above this recall, a point that does not grow ends the calibration
// Where nothing was measured: small graphs are searched as a whole, and this is generous for others.
constexpr CalibrationPoint unmeasured{.slack = 1.2F, .recall = 0, .scored = 3000};

// A range of queries at a time, each range with a walker of its own.
template <class Body>
void for_queries(Executor& executor, const Look& look, std::span<const float> queries, const Body& body) {
  const Frame& frame = look.body->graph.frame;
  executor.parallel_for(queries.size() / frame.dim, 8, [&](std::size_t begin, std::size_t end) {
    Walker walker(look.body->graph);
    std::vector<Hit> hits;
    for (std::size_t i = begin; i < end; ++i) {
      walker.query.set_vector(frame, queries.data() + i * frame.dim);
      body(i, walker, hits);
    }
  });
}

float group_limit(float epsilon) { return *std::ranges::lower_bound(group_limits, epsilon); }

std::size_t common(std::span<const Hit> found, std::span<const std::uint64_t> truth) {
  return static_cast<std::size_t>(
      std::ranges::count_if(found, [&](const Hit& hit) { return std::ranges::find(truth, hit.id) != truth.end(); }));
}

// The mean less its standard error, so that chance among a few queries does not promise too much.
float cautious_recall(std::span<const std::size_t> found) {
  const auto count = static_cast<double>(found.size());
  double sum = 0;
  double squares = 0;
  for (const std::size_t one : found) {
    const double share = static_cast<double>(one) / static_cast<double>(calibrated_k);
    sum += share;
    squares += share * share;
  }
  const double mean = sum / count;
  return static_cast<float>(std::max(0.0, mean - std::sqrt(std::max(0.0, squares / count - mean * mean) / count)));
}

}  // namespace

CalibrationPoint Calibration::point_for(double recall) const {
  if (points.empty()) return unmeasured;
  const auto after = std::ranges::find_if(points, [&](const CalibrationPoint& p) { return p.recall >= recall; });
  if (after == points.end()) return points.back();
  if (after == points.begin()) return points.front();
  const CalibrationPoint& low = *(after - 1);
  const double part =
      std::log((1 - low.recall) / (1 - recall)) / std::log((1 - low.recall) / std::max(1e-6, 1.0 - after->recall));
  const auto share = static_cast<float>(std::clamp(part, 0.0, 1.0));
  return {.slack = low.slack + share * (after->slack - low.slack),
          .recall = static_cast<float>(recall),
          .scored = low.scored + share * (after->scored - low.scored)};
}

Calibration calibrate(Executor& executor, const Look& look, std::span<const Slot> rows,
                      std::span<const float> queries) {
  const std::size_t dim = look.body->graph.frame.dim;
  const std::size_t count = queries.size() / dim;
  Look asked = look;
  asked.k = calibrated_k;
  std::vector<std::vector<std::uint64_t>> truths(count);
  for_queries(executor, asked, queries, [&](std::size_t i, Walker& walker, std::vector<Hit>& hits) {
    look_among(asked, rows, queries.data() + i * dim, walker, hits);
    for (const Hit& hit : hits) truths[i].push_back(hit.id);
  });
  Calibration result;
  result.vectors = rows.size();
  asked.effort = effort_for(calibrated_k, 1);
  for (std::size_t first = 0; first < slacks.size();) {
    // One search with the largest epsilon of a group measures all smaller ones of the group.
    const auto group_end =
        static_cast<std::size_t>(std::ranges::upper_bound(slacks, group_limit(slacks[first])) - slacks.begin());
    const std::span<const float> group = std::span(slacks).subspan(first, group_end - first);
    std::vector<std::size_t> found(group.size() * count);
    std::vector<std::uint64_t> scored(group.size() * count);
    for_queries(executor, asked, queries, [&](std::size_t i, Walker& walker, std::vector<Hit>& hits) {
      look_with_stops(asked, group, queries.data() + i * dim, walker, hits,
                      [&](std::size_t step, std::span<const Hit> here, std::uint64_t rows_scored) {
                        found[step * count + i] = common(here, truths[i]);
                        scored[step * count + i] = rows_scored;
                      });
    });
    for (std::size_t step = 0; step < group.size(); ++step) {
      const auto own = std::span(scored).subspan(step * count, count);
      const double all_scored = std::accumulate(own.begin(), own.end(), 0.0);
      const CalibrationPoint point{.slack = group[step],
                                   .recall = cautious_recall(std::span(found).subspan(step * count, count)),
                                   .scored = static_cast<float>(all_scored / static_cast<double>(count))};
      const bool grew = result.points.empty() ||
                        (point.recall > result.points.back().recall && point.scored > result.points.back().scored);
      if (grew) result.points.push_back(point);
      // Where recall levels off below `enough`, larger epsilons cost more and find nothing.
      const bool leveled_off = !grew && double{point.recall} >= level_min;
      if (double{point.recall} >= enough || leveled_off || double{point.scored} >= static_cast<double>(rows.size())) {
        return result;
      }
    }
    first = group_end;
  }
  return result;
}

}  // namespace vectis::inline v0_1::graph
