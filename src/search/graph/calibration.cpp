#include "search/graph/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::array<std::uint32_t, 17> widths{10,  14,  20,  28,  40,  56,   80,   112, 160,
                                               224, 320, 448, 640, 896, 1280, 1792, 2560};
constexpr double enough = 0.9985;
// Where nothing was measured: small graphs are searched as a whole, and this is generous for others.
constexpr std::size_t width_unmeasured = 256;

// A range of queries at a time, each with a walker of its own.
template <class Body>
void for_queries(Executor& executor, const Look& look, std::size_t count, const Body& body) {
  executor.parallel_for(count, 8, [&](std::size_t begin, std::size_t end) {
    Walker walker(look.body->graph);
    std::vector<Hit> hits;
    for (std::size_t i = begin; i < end; ++i) body(i, walker, hits);
  });
}

std::size_t common(std::span<const Hit> found, std::span<const std::uint64_t> truth) {
  return static_cast<std::size_t>(
      std::ranges::count_if(found, [&](const Hit& hit) { return std::ranges::find(truth, hit.id) != truth.end(); }));
}

}  // namespace

std::size_t Calibration::width_for(double recall, std::size_t k) const {
  const double share = std::max(1.0, static_cast<double>(k) / static_cast<double>(calibrated_k));
  const auto scaled = [&](double width) { return std::max(k, static_cast<std::size_t>(std::ceil(width * share))); };
  if (points.empty()) return scaled(width_unmeasured);
  const auto after = std::ranges::find_if(points, [&](const CalibrationPoint& p) { return p.recall >= recall; });
  if (after == points.end()) return scaled(points.back().width);
  if (after == points.begin()) return scaled(after->width);
  const CalibrationPoint& low = *(after - 1);
  // Misses fall by about the same factor whenever the width does by one.
  const double part = std::log((1 - low.recall) / (1 - recall)) / std::log((1 - low.recall) / (1 - after->recall));
  return scaled(low.width * std::pow(static_cast<double>(after->width) / low.width, std::clamp(part, 0.0, 1.0)));
}

Calibration calibrate(Executor& executor, const Look& look, std::span<const Slot> rows,
                      std::span<const float> queries) {
  const std::size_t dim = look.body->graph.frame.dim;
  const std::size_t count = queries.size() / dim;
  Look asked = look;
  asked.k = calibrated_k;
  asked.width = calibrated_k * 4;
  std::vector<std::vector<std::uint64_t>> truths(count);
  for_queries(executor, asked, count, [&](std::size_t i, Walker& walker, std::vector<Hit>& hits) {
    look_among(asked, rows, queries.data() + i * dim, walker, hits);
    for (const Hit& hit : hits) truths[i].push_back(hit.id);
  });
  Calibration result;
  result.vectors = rows.size();
  for (const std::uint32_t width : widths) {
    asked.width = width;
    std::vector<std::size_t> found(count);
    for_queries(executor, asked, count, [&](std::size_t i, Walker& walker, std::vector<Hit>& hits) {
      graph::look(asked, queries.data() + i * dim, walker, hits);
      found[i] = common(hits, truths[i]);
    });
    std::size_t sum = 0;
    for (const std::size_t one : found) sum += one;
    const auto recall = static_cast<float>(static_cast<double>(sum) / static_cast<double>(count * calibrated_k));
    if (result.points.empty() || recall > result.points.back().recall) result.points.push_back({width, recall});
    if (double{recall} >= enough) break;
  }
  return result;
}

}  // namespace vectis::inline v0_1::graph
