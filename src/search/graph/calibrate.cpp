#include "search/graph/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "search/common/exact_distances.hpp"
#include "search/graph/exact_scan.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Dense where recall changes fast, so that it may be interpolated.
constexpr std::array epsilons{0.5F,   0.6F,   0.7F,   0.75F,  0.8F,   0.83F,  0.86F,  0.88F,  0.9F,   0.91F,  0.92F,
                              0.93F,  0.94F,  0.95F,  0.96F,  0.97F,  0.975F, 0.98F,  0.985F, 0.99F,  0.995F, 1.0F,
                              1.005F, 1.01F,  1.015F, 1.02F,  1.025F, 1.03F,  1.035F, 1.04F,  1.045F, 1.05F,  1.055F,
                              1.06F,  1.065F, 1.07F,  1.075F, 1.08F,  1.085F, 1.09F,  1.095F, 1.1F,   1.105F, 1.11F,
                              1.115F, 1.12F,  1.13F,  1.14F,  1.15F,  1.16F,  1.17F,  1.18F,  1.19F,  1.2F,   1.22F,
                              1.24F,  1.26F,  1.28F,  1.3F,   1.35F,  1.4F,   1.45F,  1.5F};
// One search measures all epsilons up to the next of these.
constexpr std::array group_limits{0.86F, 0.95F, 1.0F, 1.04F, 1.08F, 1.12F, 1.2F, 1.3F, 1.5F};
constexpr std::array<std::uint32_t, 3> reranked_rows{32, 64, 128};
constexpr double recall_enough = 0.9985;
constexpr double growth_min = 1e-4;     // of recall from one group of epsilons to the next
constexpr std::size_t query_grain = 4;  // queries per task
// A visited row is at a random place in memory and has its share of the queues; it costs this many scanned ones.
constexpr std::size_t scanned_per_visited = 6;
// What a neighbor counts that a search for a left-out row missed. Its neighbors found each other through it when they
// were linked, so that they are easier to find than those of a new vector: where the data has no structure, new vectors
// miss up to 1.7 times as many.
constexpr double left_out_margin = 1.5;
constexpr std::size_t scores_min = 500;  // before a search gives up, however small the graph is

// Calls `work(i, scratch)` for every query i, with scratch.query set; `vector` holds its floats.
template <class Work>
void for_each_query(Executor& executor, const SearchParams& params, std::span<const Slot> sample, const Work& work) {
  const Graph& graph = params.storage->graph;
  executor.parallel_for(sample.size(), query_grain, [&](std::size_t begin, std::size_t end) {
    SearchScratch scratch(graph);
    std::vector<float> vector(graph.encoding.projection.dim);
    for (std::size_t i = begin; i < end; ++i) {
      params.storage->read_vector(sample[i], vector.data());
      scratch.query.set_vector(graph.encoding, vector.data());
      work(i, std::span<const float>(vector), scratch);
    }
  });
}

// The largest distance of the nearest calibrated_k of each query, itself left out.
std::vector<double> find_ground_truth(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                                      std::span<const Slot> sample) {
  const std::size_t dim = params.storage->graph.encoding.projection.dim;
  const std::size_t blocks = (sample.size() + exact_scan_queries - 1) / exact_scan_queries;
  std::vector<double> largest(sample.size());
  executor.parallel_for(blocks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t first = block * exact_scan_queries;
      const std::size_t count = std::min(exact_scan_queries, sample.size() - first);
      std::vector<float> vectors(count * dim);
      std::vector<ExactQuery> queries(count);
      std::vector<std::vector<Hit>> hits(count);
      for (std::size_t i = 0; i < count; ++i) {
        params.storage->read_vector(sample[first + i], vectors.data() + i * dim);
        queries[i] = {vectors.data() + i * dim, sample[first + i]};
      }
      exact_scan(params, rows, queries, hits);
      for (std::size_t i = 0; i < count; ++i) largest[first + i] = hits[i].empty() ? 0 : hits[i].back().distance;
    }
  });
  return largest;
}

// Which of the best rows by code are as near as the ground truth, whichever of equally near rows they are.
class FoundRows {
 public:
  FoundRows(const SearchParams& params, std::span<const float> query, double largest_distance)
      : params_(params), query_(query), largest_distance_(largest_distance) {}

  // Compares those of `best` by their vectors that were not in the list before.
  void update(std::span<const Neighbor> best) {
    std::vector<std::size_t> unknown;
    std::vector<bool> found(best.size());
    for (std::size_t i = 0; i < best.size(); ++i) {
      const auto before = std::lower_bound(best_.begin(), best_.end(), best[i]);
      if (before != best_.end() && *before == best[i]) {
        found[i] = found_[static_cast<std::size_t>(before - best_.begin())];
      } else {
        unknown.push_back(i);
      }
    }
    compare(best, unknown, found);
    best_.assign(best.begin(), best.end());
    found_ = std::move(found);
  }
  // How many of the first `reranked` rows of the list.
  [[nodiscard]] std::size_t among(std::size_t reranked) const {
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(std::min(reranked, found_.size()));
    return static_cast<std::size_t>(std::count(found_.begin(), end, true));
  }

 private:
  void compare(std::span<const Neighbor> best, std::span<const std::size_t> places, std::vector<bool>& found) const {
    constexpr std::size_t together = detail::exact_distances_batch;
    const VectorRows& vectors = params_.storage->vectors;
    std::vector<float> decoded(vectors.full_precision() ? 0 : together * query_.size());
    for (std::size_t first = 0; first < places.size(); first += together) {
      const std::size_t count = std::min(together, places.size() - first);
      std::array<const float*, together> rows;
      for (std::size_t i = 0; i < count; ++i) {
        float* const target = decoded.empty() ? nullptr : decoded.data() + i * query_.size();
        rows[i] = vectors.read(best[places[first + i]].slot(), target);
      }
      std::array<double, together> distances;
      detail::exact_distances(params_.storage->graph.encoding.projection.metric, query_, std::span(rows).first(count),
                              distances.data());
      for (std::size_t i = 0; i < count; ++i) found[places[first + i]] = distances[i] <= largest_distance_;
    }
  }

  const SearchParams& params_;
  std::span<const float> query_;
  double largest_distance_;
  std::vector<Neighbor> best_;
  std::vector<bool> found_;
};

// The mean minus its standard error, so that few queries do not promise too much; at least one neighbor less than all.
// The first `held_out` queries are not in the graph.
float lower_confidence_recall(std::span<const std::uint32_t> found, std::size_t held_out) {
  const auto count = static_cast<double>(found.size());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double missed = 1 - static_cast<double>(found[i]) / static_cast<double>(calibrated_k);
    const double weighted = missed * (i < held_out ? 1 : left_out_margin);
    sum += weighted;
    squares += weighted * weighted;
  }
  const double mean = sum / count;
  const double error = std::sqrt(std::max(0.0, squares / count - mean * mean) / count);
  return static_cast<float>(std::max(0.0, 1 - mean - std::max(error, 1 / (count * double{calibrated_k}))));
}

// The epsilons that the next search measures.
std::span<const float> next_group(std::span<const float> left) {
  const float limit = *std::ranges::lower_bound(group_limits, left.front());
  return left.first(static_cast<std::size_t>(std::ranges::upper_bound(left, limit) - left.begin()));
}

// What the searches of one group of epsilons found: one number for each epsilon, number of reranked rows, and query.
struct GroupCounts {
  std::size_t queries = 0;
  std::vector<std::uint32_t> found;
  std::vector<std::uint64_t> scored;  // one number for each epsilon and query

  GroupCounts(std::size_t steps, std::size_t query_count)
      : queries(query_count), found(steps * reranked_rows.size() * query_count), scored(steps * query_count) {}
  [[nodiscard]] std::span<std::uint32_t> found_of(std::size_t step, std::size_t depth) {
    return std::span(found).subspan((step * reranked_rows.size() + depth) * queries, queries);
  }
  [[nodiscard]] std::span<std::uint64_t> scored_of(std::size_t step) {
    return std::span(scored).subspan(step * queries, queries);
  }
};

// Searches for one left-out row with all epsilons of the group.
void measure_query(const SearchParams& params, std::span<const float> group, std::size_t rows, Slot left_out,
                   std::span<const float> vector, double largest_distance, std::size_t query, SearchScratch& scratch,
                   GroupCounts& counts) {
  const RowVersions& versions = params.storage->versions;
  BeamParams beam = params.beam;
  beam.skipped = left_out;
  const std::uint64_t before = scratch.scored;
  std::vector<SearchStop> stops;
  beam_search_at_epsilons(
      params.storage->graph, params.entry_points, beam, group,
      [&](Slot slot) { return slot != left_out && versions.visible(slot, params.epoch); }, scratch, stops);
  FoundRows found(params, vector, largest_distance);
  for (std::size_t step = 0; step < stops.size(); ++step) {
    const SearchStop& stop = stops[step];
    const bool scanned = stop.gave_up || stop.best.size() < calibrated_k;
    if (step == 0 || stop.scored != stops[step - 1].scored) found.update(stop.best);
    for (std::size_t depth = 0; depth < reranked_rows.size(); ++depth) {
      const std::size_t hits = std::min(found.among(reranked_rows[depth]), calibrated_k);
      counts.found_of(step, depth)[query] = static_cast<std::uint32_t>(scanned ? calibrated_k : hits);
    }
    counts.scored_of(step)[query] = stop.scored - before + (scanned ? rows / scanned_per_visited : 0);
  }
}

// Appends the points of a group. Returns whether larger epsilons may find more at a cost below that of a scan.
bool append_points(std::span<const float> group, GroupCounts& counts, std::size_t held_out, std::size_t rows,
                   Calibration& result) {
  double best_before = 0;
  double best = 0;
  for (const CalibrationCurve& curve : result.curves) {
    if (!curve.points.empty()) best_before = std::max(best_before, double{curve.points.back().recall});
  }
  bool enough = false;
  double last_scored = 0;
  for (std::size_t step = 0; step < group.size(); ++step) {
    const std::span<const std::uint64_t> scored = counts.scored_of(step);
    last_scored = std::accumulate(scored.begin(), scored.end(), 0.0) / static_cast<double>(scored.size());
    for (std::size_t depth = 0; depth < reranked_rows.size(); ++depth) {
      const CalibrationPoint point{group[step], lower_confidence_recall(counts.found_of(step, depth), held_out),
                                   static_cast<float>(last_scored)};
      std::vector<CalibrationPoint>& points = result.curves[depth].points;
      if (points.empty() || (point.recall > points.back().recall && point.scored > points.back().scored)) {
        points.push_back(point);
      }
      best = std::max(best, double{point.recall});
      enough = enough || (depth == 0 && double{point.recall} >= recall_enough);
    }
  }
  const bool costs_more_than_scan = last_scored * double{scanned_per_visited} >= static_cast<double>(rows);
  return !enough && best >= best_before + growth_min && !costs_more_than_scan;
}

std::optional<SearchSetting> setting_on(const CalibrationCurve& curve, double recall) {
  const std::vector<CalibrationPoint>& points = curve.points;
  const auto above =
      std::ranges::find_if(points, [&](const CalibrationPoint& p) { return double{p.recall} >= recall; });
  if (above == points.end()) return std::nullopt;
  if (above == points.begin()) return SearchSetting{above->epsilon, curve.reranked, double{above->scored}};
  const CalibrationPoint& below = *(above - 1);
  const double share = (recall - double{below.recall}) / (double{above->recall} - double{below.recall});
  return SearchSetting{below.epsilon + static_cast<float>(share) * (above->epsilon - below.epsilon), curve.reranked,
                       double{below.scored} + share * (double{above->scored} - double{below.scored})};
}

}  // namespace

std::uint64_t scores_before_scan(std::size_t rows) noexcept {
  return std::max<std::uint64_t>(scores_min, rows / scanned_per_visited);
}

std::optional<SearchSetting> Calibration::setting_for(double recall, const SearchCosts& costs) const {
  const auto seconds = [&](const SearchSetting& setting) {
    return setting.scored * costs.visited + static_cast<double>(setting.reranked) * costs.reranked;
  };
  std::optional<SearchSetting> cheapest;
  for (const CalibrationCurve& curve : curves) {
    const std::optional<SearchSetting> setting = setting_on(curve, recall);
    if (setting && (!cheapest || seconds(*setting) < seconds(*cheapest))) cheapest = setting;
  }
  return cheapest;
}

Calibration calibrate(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                      std::span<const Slot> held_out, std::span<const Slot> left_out) {
  std::vector<Slot> sample(held_out.begin(), held_out.end());
  sample.insert(sample.end(), left_out.begin(), left_out.end());
  SearchParams calibrated = params;
  calibrated.k = calibrated_k;
  calibrated.beam = beam_for({.epsilon = 1, .reranked = reranked_rows.back()}, calibrated_k);
  calibrated.beam.exact_visited = true;
  calibrated.beam.scores_max = scores_before_scan(rows.size());
  const std::vector<double> largest = find_ground_truth(executor, calibrated, rows, sample);
  Calibration result;
  result.vectors = rows.size();
  result.queries = sample.size();
  for (const std::uint32_t reranked : reranked_rows) result.curves.push_back({reranked, {}});
  for (std::span<const float> left = epsilons; !left.empty();) {
    const std::span<const float> group = next_group(left);
    GroupCounts counts(group.size(), sample.size());
    for_each_query(executor, calibrated, sample,
                   [&](std::size_t i, std::span<const float> vector, SearchScratch& scratch) {
                     measure_query(calibrated, group, rows.size(), sample[i], vector, largest[i], i, scratch, counts);
                   });
    if (!append_points(group, counts, held_out.size(), rows.size(), result)) break;
    left = left.subspan(group.size());
  }
  return result;
}

SearchCosts measure_costs(const SearchParams& params, std::span<const Slot> rows, std::span<const Slot> sample) {
  constexpr std::size_t rows_min = 1000;
  constexpr std::size_t scanned_rows = 8192;
  constexpr std::size_t searches = 32;
  SearchCosts costs;
  if (rows.size() < rows_min || sample.empty()) return costs;
  const Graph& graph = params.storage->graph;
  const std::size_t dim = graph.encoding.projection.dim;
  const std::size_t count = std::min(exact_scan_queries, sample.size());
  std::vector<float> vectors(count * dim);
  std::vector<ExactQuery> queries(count);
  for (std::size_t i = 0; i < count; ++i) {
    params.storage->read_vector(sample[i], vectors.data() + i * dim);
    queries[i] = {vectors.data() + i * dim, AdjacencyLists::no_link};
  }
  SearchParams measured = params;
  measured.k = calibrated_k;
  std::vector<std::vector<Hit>> hits(count);
  const std::span<const Slot> some = rows.first(std::min(scanned_rows, rows.size()));
  const auto timed = [](const auto& work) {
    const std::uint64_t begin = monotonic_nanoseconds();
    work();
    return static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  };
  const auto scanned = static_cast<double>(some.size());
  // The better of two: a disturbance only adds time.
  const double batch = std::min(timed([&] { exact_scan(measured, some, queries, hits); }),
                                timed([&] { exact_scan(measured, some, queries, hits); }));
  costs.scanned_in_batch = batch / (scanned * static_cast<double>(count));
  const auto single = [&] { exact_scan(measured, some, std::span(queries).first(1), std::span(hits).first(1)); };
  costs.scanned = std::min(timed(single), timed(single)) / scanned;
  measured.beam = beam_for({.epsilon = 1, .reranked = reranked_rows.front()}, calibrated_k);
  measured.beam.scores_max = scores_before_scan(rows.size());
  SearchScratch scratch(graph);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(searches, sample.size()); ++i) {
    params.storage->read_vector(sample[i], vectors.data());
    scratch.query.set_vector(graph.encoding, vectors.data());
    const std::uint64_t before = scratch.scored;
    const double seconds = timed([&] {
      (void)beam_search_visible(graph, params.entry_points, measured.beam, [](Slot) { return true; }, scratch);
    });
    const auto scored = static_cast<double>(scratch.scored - before);
    if (scored > 0) best = std::min(best, seconds / scored);
  }
  if (std::isfinite(best)) costs.visited = best;
  const std::span<const Neighbor> candidates = scratch.best.sorted();
  if (!candidates.empty()) {
    FoundRows found(params, {vectors.data(), dim}, 0);
    const double seconds = timed([&] { found.update(candidates); });
    costs.reranked = seconds / static_cast<double>(candidates.size());
  }
  return costs;
}

}  // namespace vectis::inline v0_1::graph
