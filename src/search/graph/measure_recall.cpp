#include "search/graph/measure_recall.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "search/common/exact_distances.hpp"
#include "search/graph/exact_scan.hpp"

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
constexpr double recall_enough = 0.9985;
constexpr double growth_min = 1e-4;            // of recall from one group of epsilons to the next
constexpr std::size_t query_grain = 4;         // queries per task
constexpr std::size_t scanned_at_once = 4096;  // rows of a step
// Work in visited rows: of a scan and a search besides their rows.
constexpr Work scan_work = 100;
constexpr Work search_work = 100;
constexpr Work stop_work = 6;  // for each epsilon of a search
// For a row that is compared by its vector, which is not in the cache.
constexpr Work compared_work(std::size_t dim) { return 2 + dim / 32; }

// Calls `work(i, scratch)` for every query i, with scratch.query set; `vector` holds its floats.
template <class Work>
void for_each_query(Executor& executor, const SearchParams& params, std::span<const Slot> sample, const StopCheck& stop,
                    const Work& work) {
  const Graph& graph = params.storage->graph;
  executor.parallel_for(sample.size(), query_grain, [&](std::size_t begin, std::size_t end) {
    SearchScratch scratch(graph);
    std::vector<float> vector(graph.encoding.projection.dim);
    for (std::size_t i = begin; i < end; ++i) {
      if (stop) stop();
      params.storage->read_vector(sample[i], vector.data());
      scratch.query.set_vector(graph.encoding, vector.data());
      work(i, std::span<const float>(vector), scratch);
    }
  });
}

// The exact nearest rows of a query, itself left out.
struct GroundTruth {
  double largest = 0;                  // the largest distance of the nearest calibrated_k
  std::vector<std::uint64_t> nearest;  // ids of these
  // Ids of all rows that are as near, sorted; empty when there are too many.
  std::vector<std::uint64_t> as_near;
};

// Rows that a scan for the ground truth returns: more than calibrated_k, so that others that are as near are known.
constexpr std::size_t truth_hits = 2 * calibrated_k;

GroundTruth ground_truth_of(std::span<const Hit> hits) {
  GroundTruth truth;
  const std::size_t count = std::min(calibrated_k, hits.size());
  if (count == 0) return truth;
  truth.largest = hits[count - 1].distance;
  for (const Hit& hit : hits.first(count)) truth.nearest.push_back(hit.id);
  if (hits.size() == truth_hits && hits.back().distance <= truth.largest) return truth;
  for (const Hit& hit : hits) {
    if (hit.distance <= truth.largest) truth.as_near.push_back(hit.id);
  }
  std::ranges::sort(truth.as_near);
  return truth;
}

// How likely two of the nearest rows, of any queries, are the same row.
double concentration_of(std::span<const GroundTruth> truths) {
  std::unordered_map<std::uint64_t, double> counts;
  double total = 0;
  for (const GroundTruth& truth : truths) {
    for (const std::uint64_t id : truth.nearest) counts[id] += 1;
    total += static_cast<double>(truth.nearest.size());
  }
  double equal_pairs = 0;
  for (const auto& [id, count] : counts) equal_pairs += count * (count - 1);
  return total < 2 ? 0 : equal_pairs / (total * (total - 1));
}

std::vector<GroundTruth> find_ground_truth(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                                           std::span<const Slot> sample, const StopCheck& stop) {
  const std::size_t blocks = (sample.size() + exact_scan_queries - 1) / exact_scan_queries;
  SearchParams nearest = params;
  nearest.k = truth_hits;
  std::vector<GroundTruth> truths(sample.size());
  executor.parallel_for(blocks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      if (stop) stop();
      const std::size_t first = block * exact_scan_queries;
      const std::size_t count = std::min(exact_scan_queries, sample.size() - first);
      const RowQueries asked = queries_of(*params.storage, sample.subspan(first, count));
      std::vector<std::vector<Hit>> hits(count);
      exact_scan(nearest, {.count = rows.size(), .listed = rows.data()}, asked.queries, hits);
      for (std::size_t i = 0; i < count; ++i) truths[first + i] = ground_truth_of(hits[i]);
    }
  });
  return truths;
}

// Which of the best rows by code are as near as the ground truth, whichever of equally near rows they are.
class FoundRows {
 public:
  FoundRows(const SearchParams& params, std::span<const float> query, const GroundTruth& truth)
      : params_(params), query_(query), truth_(truth) {}

  // Compares those of `best` that were not in the list before.
  void update(std::span<const Neighbor> best) {
    unknown_.clear();
    next_found_.assign(best.size(), 0);
    std::size_t before = 0;  // both lists are sorted
    for (std::size_t i = 0; i < best.size(); ++i) {
      while (before < best_.size() && best_[before] < best[i]) ++before;
      if (before < best_.size() && best_[before] == best[i]) {
        next_found_[i] = found_[before];
      } else {
        unknown_.push_back(i);
      }
    }
    compare(best);
    best_.assign(best.begin(), best.end());
    found_.swap(next_found_);
  }
  // Rows that were compared by their vectors.
  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  // How many of the first `reranked` rows of the list.
  [[nodiscard]] std::size_t among(std::size_t reranked) const {
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(std::min(reranked, found_.size()));
    return static_cast<std::size_t>(std::count(found_.begin(), end, 1));
  }

 private:
  void compare(std::span<const Neighbor> best) {
    const std::span<const std::size_t> places = unknown_;
    if (!truth_.as_near.empty()) {
      for (const std::size_t place : places) {
        const std::uint64_t id = params_.storage->versions.id(best[place].slot());
        next_found_[place] = std::ranges::binary_search(truth_.as_near, id) ? 1 : 0;
      }
      return;
    }
    compared_ += places.size();
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
      for (std::size_t i = 0; i < count; ++i) next_found_[places[first + i]] = distances[i] <= truth_.largest ? 1 : 0;
    }
  }

  const SearchParams& params_;
  std::span<const float> query_;
  const GroundTruth& truth_;
  std::vector<Neighbor> best_;
  std::vector<std::uint8_t> found_;
  std::vector<std::uint8_t> next_found_;
  std::vector<std::size_t> unknown_;  // places in the new list
  std::uint64_t compared_ = 0;
};

// The epsilons that the next search measures.
std::span<const float> next_group(std::span<const float> left) {
  const float limit = *std::ranges::lower_bound(group_limits, left.front());
  return left.first(static_cast<std::size_t>(std::ranges::upper_bound(left, limit) - left.begin()));
}

// The epsilons up to `largest` and those of one more group.
std::span<const float> up_to(std::span<const float> all, float largest) {
  const auto below = static_cast<std::size_t>(std::ranges::upper_bound(all, largest) - all.begin());
  return below == all.size() ? all : all.first(below + next_group(all.subspan(below)).size());
}

// What the searches of one group of epsilons found: one number for each epsilon, number of reranked rows, and query.
struct GroupCounts {
  std::size_t queries = 0;
  std::vector<std::uint32_t> found;
  std::vector<std::uint64_t> scored;  // one number for each epsilon and query
  std::vector<std::uint8_t> scanned;  // likewise: 1 for a search that gave up

  GroupCounts(std::size_t steps, std::size_t query_count)
      : queries(query_count),
        found(steps * calibrated_reranked.size() * query_count),
        scored(steps * query_count),
        scanned(steps * query_count) {}
  [[nodiscard]] std::span<std::uint32_t> found_of(std::size_t step, std::size_t depth) {
    return std::span(found).subspan((step * calibrated_reranked.size() + depth) * queries, queries);
  }
  [[nodiscard]] std::span<std::uint64_t> scored_of(std::size_t step) {
    return std::span(scored).subspan(step * queries, queries);
  }
};

// The parameters of a search for a row of the graph, itself left out.
BeamParams beam_without(const SearchParams& params, Slot left_out) {
  BeamParams beam = params.beam;
  beam.skipped = left_out;
  return beam;
}

// Counts what a search found, with every epsilon of the group, that had scored `before` rows at its start. Returns the
// work that it took.
Work count_found(const SearchParams& params, std::span<const SearchStop> stops, std::span<const float> vector,
                 const GroundTruth& truth, std::uint64_t before, std::size_t query, GroupCounts& counts) {
  FoundRows found(params, vector, truth);
  for (std::size_t step = 0; step < stops.size(); ++step) {
    const SearchStop& stop = stops[step];
    const bool scanned = stop.gave_up || stop.best.size() < calibrated_k;
    if (step == 0 || stop.scored != stops[step - 1].scored) found.update(stop.best);
    for (std::size_t depth = 0; depth < calibrated_reranked.size(); ++depth) {
      const std::size_t hits = std::min(found.among(calibrated_reranked[depth]), calibrated_k);
      counts.found_of(step, depth)[query] = static_cast<std::uint32_t>(scanned ? calibrated_k : hits);
    }
    counts.scored_of(step)[query] = stop.scored - before;
    counts.scanned[step * counts.queries + query] = scanned ? 1 : 0;
  }
  return search_work + found.compared() * compared_work(vector.size()) + stops.size() * stop_work;
}

// Searches for one row, itself left out, with all epsilons of the group.
void measure_query(const SearchParams& params, std::span<const float> group, Slot left_out,
                   std::span<const float> vector, const GroundTruth& truth, std::size_t query, SearchScratch& scratch,
                   GroupCounts& counts) {
  const RowVersions& versions = params.storage->versions;
  const std::uint64_t before = scratch.scored;
  std::vector<SearchStop> stops;
  beam_search_at_epsilons(
      params.storage->graph, params.entry_points, beam_without(params, left_out), group,
      [&](Slot slot) { return slot != left_out && versions.visible(slot, params.epoch); }, scratch, stops);
  count_found(params, stops, vector, truth, before, query, counts);
}

RecallTable::Row sums_of(float epsilon, std::size_t step, GroupCounts& counts) {
  const std::span<const std::uint64_t> scored = counts.scored_of(step);
  const auto scanned = std::span(counts.scanned).subspan(step * counts.queries, counts.queries);
  RecallTable::Row row{.epsilon = epsilon,
                       .scored = std::accumulate(scored.begin(), scored.end(), 0.0),
                       .scans = std::accumulate(scanned.begin(), scanned.end(), 0.0)};
  for (std::size_t depth = 0; depth < calibrated_reranked.size(); ++depth) {
    for (const std::uint32_t hits : counts.found_of(step, depth)) {
      const double missed = 1 - static_cast<double>(hits) / static_cast<double>(calibrated_k);
      row.missed[depth] += missed;
      row.squares[depth] += missed * missed;
    }
  }
  return row;
}

// Whether epsilons beyond those of the table may find more at a cost below that of a scan. `before` is the number of
// epsilons without those of the last group.
bool may_find_more(const RecallTable& table, std::size_t before, std::size_t rows) {
  const auto best_recall = [&](std::size_t step) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t depth = 0; depth < calibrated_reranked.size(); ++depth) {
      const RecallEstimate recall = table.recall(step, depth);
      best = std::max(best, recall.mean - recall.error);
    }
    return best;
  };
  const RecallTable::Row& last = table.rows.back();
  const double scored = (last.scored + last.scans * (static_cast<double>(rows) / scanned_per_visited)) / table.queries;
  const RecallEstimate recall = table.recall(table.rows.size() - 1, 0);
  if (recall.mean - recall.error >= recall_enough) return false;
  if (scored * double{scanned_per_visited} >= static_cast<double>(rows)) return false;
  return before == 0 || best_recall(table.rows.size() - 1) >= best_recall(before - 1) + growth_min;
}

// The parameters of searches that are calibrated in a graph of `rows` rows.
SearchParams calibrated_params(const SearchParams& params, std::size_t rows) {
  SearchParams result = params;
  result.k = calibrated_k;
  result.beam = beam_for({.epsilon = epsilons.back(), .reranked = calibrated_reranked.back()}, calibrated_k);
  result.beam.exact_visited = true;
  result.beam.scores_max = scores_before_scan(rows);
  return result;
}

// Finds the ground truth of one of the rows.
Steps find_ground_truth_in_steps(SearchParams params, Slot row, GroundTruth* truth) {
  const RowQueries asked = queries_of(*params.storage, std::span(&row, 1));
  params.k = truth_hits;
  std::vector<Hit> nearest;
  for (std::size_t first = 0; first < params.rows; first += scanned_at_once) {
    const std::size_t count = std::min(scanned_at_once, params.rows - first);
    std::array<std::vector<Hit>, 1> hits;
    const ExactScanCounts counts = exact_scan(params, {.count = count, .first = first}, asked.queries, hits);
    nearest.insert(nearest.end(), hits[0].begin(), hits[0].end());
    std::ranges::sort(nearest, {}, [](const Hit& hit) { return std::pair(hit.distance, hit.id); });
    if (nearest.size() > truth_hits) nearest.resize(truth_hits);
    const Work work = scan_work + count / scanned_per_visited + counts.reranked * compared_work(asked.vectors.size());
    co_yield Pause{.done = work, .next = work};
  }
  *truth = ground_truth_of(nearest);
}

}  // namespace

void RecallTable::add(const RecallTable& other) {
  if (other.queries == 0) return;
  if (queries == 0) {
    *this = other;
    return;
  }
  const RecallTable::Row last = rows.back();
  for (std::size_t step = 0; step < std::max(rows.size(), other.rows.size()); ++step) {
    const Row& more = other.rows[std::min(step, other.rows.size() - 1)];
    if (step == rows.size()) {
      rows.push_back(last);
      rows.back().epsilon = more.epsilon;
    }
    Row& row = rows[step];
    for (std::size_t depth = 0; depth < calibrated_reranked.size(); ++depth) {
      row.missed[depth] += more.missed[depth];
      row.squares[depth] += more.squares[depth];
    }
    row.scored += more.scored;
    row.scans += more.scans;
  }
  queries += other.queries;
  scores_max = std::min(scores_max, other.scores_max);
  concentration = std::max(concentration, other.concentration);
}

void RecallTable::scale(double queries_factor, double missed_factor) noexcept {
  for (Row& row : rows) {
    for (double& missed : row.missed) missed *= queries_factor * missed_factor;
    for (double& square : row.squares) square *= queries_factor * missed_factor * missed_factor;
    row.scored *= queries_factor;
    row.scans *= queries_factor;
  }
  queries *= queries_factor;
}

RecallEstimate RecallTable::recall(std::size_t step, std::size_t depth) const noexcept {
  const double missed = rows[step].missed[depth] / queries;
  const double variance = std::max(0.0, rows[step].squares[depth] / queries - missed * missed);
  // Where duplicates are missed, all neighbors of a query are: no miss among few queries says little.
  constexpr double missed_queries = 0.5;
  return {1 - missed, std::max(std::sqrt(variance / queries), missed_queries / queries)};
}

RecallTable measure_recall(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                           std::span<const Slot> queries, std::optional<float> epsilon_max, const StopCheck& stop) {
  const SearchParams calibrated = calibrated_params(params, rows.size());
  const std::vector<GroundTruth> truths = find_ground_truth(executor, calibrated, rows, queries, stop);
  RecallTable table;
  table.queries = static_cast<double>(queries.size());
  table.scores_max = calibrated.beam.scores_max;
  table.concentration = concentration_of(truths);
  for (std::span<const float> left = epsilons; !left.empty();) {
    const std::span<const float> group = epsilon_max ? up_to(left, *epsilon_max) : next_group(left);
    GroupCounts counts(group.size(), queries.size());
    for_each_query(executor, calibrated, queries, stop,
                   [&](std::size_t i, std::span<const float> vector, SearchScratch& scratch) {
                     measure_query(calibrated, group, queries[i], vector, truths[i], i, scratch, counts);
                   });
    const std::size_t before = table.rows.size();
    for (std::size_t step = 0; step < group.size(); ++step) table.rows.push_back(sums_of(group[step], step, counts));
    if (epsilon_max || !may_find_more(table, before, rows.size())) break;
    left = left.subspan(group.size());
  }
  return table;
}

Steps measure_recall_in_steps(SearchParams params, std::size_t live, std::vector<Slot> queries,
                              std::optional<float> epsilon_max, RecallTable* table) {
  const SearchParams calibrated = calibrated_params(params, live);
  std::vector<GroundTruth> truths(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    co_await find_ground_truth_in_steps(calibrated, queries[i], &truths[i]);
  }
  *table = {};
  table->queries = static_cast<double>(queries.size());
  table->scores_max = calibrated.beam.scores_max;
  table->concentration = concentration_of(truths);
  const Graph& graph = calibrated.storage->graph;
  SearchScratch scratch(graph);
  std::vector<SearchStop> stops;
  std::vector<float> vector(graph.encoding.projection.dim);
  for (std::span<const float> left = epsilons; !left.empty();) {
    const std::span<const float> group = epsilon_max ? up_to(left, *epsilon_max) : next_group(left);
    GroupCounts counts(group.size(), queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      calibrated.storage->read_vector(queries[i], vector.data());
      scratch.query.set_vector(graph.encoding, vector.data());
      const std::uint64_t before = scratch.scored;
      const std::function<bool(Slot)> visible = [&, left_out = queries[i]](Slot slot) {
        return slot != left_out && calibrated.storage->versions.visible(slot, calibrated.epoch);
      };
      co_await beam_search_at_epsilons_in_steps(&graph, calibrated.entry_points, beam_without(calibrated, queries[i]),
                                                group, visible, &scratch, &stops);
      const Work work = count_found(calibrated, stops, vector, truths[i], before, i, counts);
      co_yield Pause{.done = work, .next = work};
    }
    const std::size_t before = table->rows.size();
    for (std::size_t step = 0; step < group.size(); ++step) table->rows.push_back(sums_of(group[step], step, counts));
    if (epsilon_max || !may_find_more(*table, before, live)) break;
    left = left.subspan(group.size());
  }
}

}  // namespace vectis::inline v0_1::graph
