#include "search/graph/search_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/thread_time.hpp"
#include "search/graph/encoded_scan.hpp"
#include "search/graph/exact_scan.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t scores_min = 500;  // before a search gives up, however small the graph is

// Seconds for a row and each of `queries` queries: the first costs as much as alone, further ones the same each, and
// never next to nothing, as they would when the measurement of the first was disturbed.
double per_row(double alone, double in_batch, std::size_t queries) noexcept {
  constexpr auto most = static_cast<double>(exact_scan_queries);
  const auto together = static_cast<double>(std::max<std::size_t>(queries, 1));
  const double further = std::max((in_batch * most - alone) / (most - 1), in_batch / 4);
  return (alone + further * (together - 1)) / together;
}

template <class Work>
double seconds_of(const Work& work) {
  const std::uint64_t begin = thread_nanoseconds();
  work();
  return static_cast<double>(thread_nanoseconds() - begin) * 1e-9;
}

// The pause after a scan, which may have ended early.
Pause scan_pause(const ScannedSlots& slots, std::size_t queries) {
  const Work work = slots.count * queries / scanned_per_visited;
  return {.done = work, .next = work};
}

// A disturbance only adds time.
template <class Work>
double better_of_two(const Work& work) {
  return std::min(seconds_of(work), seconds_of(work));
}

// Measures scans, searches and reranking with the first of some vectors.
class CostMeter {
 public:
  CostMeter(const SearchParams& params, std::size_t rows, std::span<const Slot> sample)
      : params_(params),
        rows_(rows),
        sample_(sample),
        asked_(queries_of(*params.storage, sample.first(std::min(exact_scan_queries, sample.size())))),
        hits_(asked_.queries.size()),
        scratch_(params.storage->graph),
        vector_(params.storage->graph.encoding.projection.dim) {
    params_.k = calibrated_k;
  }

  void measure_scans(const ScannedSlots& some, double& alone, double& in_batch) {
    run(measure_scans_in_steps(some, &alone, &in_batch));
  }
  // Does the same in steps of a scan each. The best of two counts: a disturbance only adds time.
  Steps measure_scans_in_steps(ScannedSlots some, double* alone, double* in_batch) {
    constexpr std::size_t single_scans = 4;
    constexpr double none = std::numeric_limits<double>::infinity();
    const std::size_t singles = std::min(single_scans, hits_.size());
    double batch = none;
    std::array<double, single_scans> single{none, none, none, none};
    for (std::size_t round = 0; round < 2; ++round) {
      batch = std::min(batch, scan_seconds(some, 0, hits_.size()));
      co_yield scan_pause(some, hits_.size());
      for (std::size_t i = 0; i < singles; ++i) {
        single[i] = std::min(single[i], scan_seconds(some, i, 1));
        co_yield scan_pause(some, 1);
      }
    }
    const auto scanned = static_cast<double>(some.count);
    *in_batch = batch / (scanned * static_cast<double>(hits_.size()));
    *alone = std::accumulate(single.begin(), single.begin() + singles, 0.0) / (scanned * static_cast<double>(singles));
  }

  // Returns the seconds of a scan of some rows for some of the queries.
  double scan_seconds(const ScannedSlots& some, std::size_t first, std::size_t queries) {
    const auto asked = std::span(asked_.queries).subspan(first, queries);
    return seconds_of([&] { exact_scan(params_, some, asked, std::span(hits_).subspan(first, queries)); });
  }
  // Returns the seconds of a scan of the first rows, encoded as they are scanned, for the first queries.
  double encoded_scan_seconds(std::size_t rows, std::size_t queries) {
    SimulatedExecutor alone(0);  // runs everything on this thread
    SearchParams first_rows = params_;
    first_rows.rows = rows;
    const std::size_t together = std::min(queries, hits_.size());
    const auto vectors = std::span(asked_.vectors).first(together * vector_.size());
    return seconds_of([&] { encoded_scan(alone, first_rows, vectors, {}, std::span(hits_).first(together)); });
  }

  void measure_encoded(SearchCosts& costs) {
    constexpr std::size_t encoded_rows = 65536;
    SimulatedExecutor alone(0);  // runs everything on this thread
    SearchParams first_rows = params_;
    first_rows.rows = std::min(encoded_rows, params_.rows);
    const auto seconds = [&](std::size_t together) {
      const auto vectors = std::span(asked_.vectors).first(together * vector_.size());
      const auto scan = [&] { encoded_scan(alone, first_rows, vectors, {}, std::span(hits_).first(together)); };
      return better_of_two(scan) / static_cast<double>(first_rows.rows * together);
    };
    costs.encoded_in_batch = seconds(hits_.size());  // first, so that the vectors are in the cache for both
    costs.encoded = seconds(1);
  }

  void measure_searches(SearchCosts& costs, std::size_t searches, std::size_t late_searches) {
    constexpr float late_epsilon = 1.3F;
    const Searched late = median_search(late_epsilon, late_searches);
    costs.visited_late = late.seconds;
    costs.late_scored = late.scored;
    costs.visited = median_search(1, searches).seconds;
  }

  // Reranks what the last search found.
  void measure_rerank(SearchCosts& costs) {
    std::vector<std::int32_t> candidates;
    for (const Neighbor& neighbor : scratch_.best.sorted()) {
      if (params_.storage->versions.visible(neighbor.slot(), params_.epoch)) {
        candidates.push_back(static_cast<std::int32_t>(neighbor.slot()));
      }
    }
    if (candidates.size() < calibrated_k) return;
    params_.reranked = candidates.size();
    const auto rerank = [&] { (void)rerank_found(params_, candidates, vector_.data(), scratch_, hits_.front()); };
    costs.reranked = better_of_two(rerank) / static_cast<double>(candidates.size());
  }

 private:
  struct Searched {
    double seconds = 0;  // for each scored row
    double scored = 0;
  };

  // Returns of several searches the one with the median cost.
  Searched median_search(float epsilon, std::size_t count_max) {
    constexpr std::size_t candidates_reranked = 32;
    constexpr std::uint64_t scored_max = 20'000;
    params_.beam = beam_for({.epsilon = epsilon, .reranked = candidates_reranked}, calibrated_k);
    params_.beam.scores_max = std::min(scores_before_scan(rows_), scored_max);
    params_.beam.exact_visited = epsilon > 1;
    std::vector<Searched> searched(std::min(count_max, sample_.size()));
    for (std::size_t i = 0; i < searched.size(); ++i) searched[i] = search_for(sample_[i]);
    const auto median = searched.begin() + static_cast<std::ptrdiff_t>(searched.size() / 2);
    std::ranges::nth_element(searched, median, {}, &Searched::seconds);
    return *median;
  }

  Searched search_for(Slot row) {
    const Graph& graph = params_.storage->graph;
    params_.storage->read_vector(row, vector_.data());
    scratch_.query.set_vector(graph.encoding, vector_.data());
    const std::uint64_t before = scratch_.scored;
    const double seconds = seconds_of([&] {
      (void)beam_search_visible(graph, params_.entry_points, params_.beam, [](Slot) { return true; }, scratch_);
    });
    const auto scored = static_cast<double>(std::max<std::uint64_t>(scratch_.scored - before, 1));
    return {seconds / scored, scored};
  }

  SearchParams params_;
  std::size_t rows_;  // of the graph, that can be found
  std::span<const Slot> sample_;
  RowQueries asked_;
  std::vector<std::vector<Hit>> hits_;
  SearchScratch scratch_;
  std::vector<float> vector_;
};

}  // namespace

SearchCosts SearchCosts::by_norm() const noexcept {
  SearchCosts result = *this;
  if (scanned_by_norm > 0) {
    result.scanned = scanned_by_norm;
    result.scanned_in_batch = scanned_by_norm_in_batch;
  }
  return result;
}

double SearchCosts::beam_seconds(double scored) const noexcept {
  return scored * std::lerp(visited, std::max(visited, visited_late), std::min(1.0, scored / late_scored));
}

double SearchCosts::scan_seconds(std::size_t rows, std::size_t queries) const noexcept {
  const double by_codes = per_row(scanned, scanned_in_batch, std::min(queries, exact_scan_queries));
  const double row = encoded > 0 ? std::min(by_codes, per_row(encoded, encoded_in_batch, queries)) : by_codes;
  return static_cast<double>(rows) * row;
}

bool SearchCosts::encodes(std::size_t queries) const noexcept {
  return encoded > 0 && per_row(encoded, encoded_in_batch, queries) <
                            per_row(scanned, scanned_in_batch, std::min(queries, exact_scan_queries));
}

SearchCosts SearchCosts::without_encoding() const noexcept {
  SearchCosts result = *this;
  result.encoded = 0;
  return result;
}

std::uint64_t scores_before_scan(std::size_t rows) noexcept {
  return std::max<std::uint64_t>(scores_min, rows / scanned_per_visited);
}

SearchCosts measure_costs(const SearchParams& params, std::span<const Slot> rows, std::span<const Slot> sample) {
  constexpr std::size_t rows_min = 1000;
  constexpr std::size_t scanned_rows = 32768;
  SearchCosts costs;
  if (rows.size() < rows_min || sample.empty()) return costs;
  CostMeter meter(params, rows.size(), sample);
  ScannedSlots some{.count = std::min(scanned_rows, rows.size())};
  if (rows.size() < params.rows) some.listed = rows.data();
  meter.measure_scans(some, costs.scanned, costs.scanned_in_batch);
  if (params.norm_order != nullptr) {
    meter.measure_scans(rows_by_norm(params), costs.scanned_by_norm, costs.scanned_by_norm_in_batch);
  }
  if (can_encode(*params.storage)) meter.measure_encoded(costs);
  meter.measure_searches(costs, 32, 5);
  meter.measure_rerank(costs);
  return costs;
}

namespace {

// Seconds of a scan of so many rows for so many queries.
using ScanSeconds = std::function<double(std::size_t rows, std::size_t queries)>;

// Leaves the seconds for a row and a query in `result`; what a scan takes before its first row does not count.
Steps measure_scan_in_steps(ScanSeconds seconds, std::size_t rows, std::size_t queries, double* result) {
  constexpr Work work = 1500;
  constexpr std::size_t no_rows = 16;
  constexpr std::size_t rounds = 2;  // a disturbance only adds time
  double all = std::numeric_limits<double>::infinity();
  double none = all;
  for (std::size_t round = 0; round < rounds; ++round) {
    none = std::min(none, seconds(no_rows, queries));
    co_yield Pause{.done = work, .next = work};
    all = std::min(all, seconds(rows, queries));
    co_yield Pause{.done = work, .next = work};
  }
  *result = std::max(0.0, all - none) / static_cast<double>((rows - no_rows) * queries);
}

}  // namespace

Steps measure_costs_in_steps(SearchParams params, std::size_t live, std::vector<Slot> sample, SearchCosts* costs) {
  constexpr std::size_t rows_min = 1000;
  // Rows that are scanned, and queries for which a scan costs as much each as for exact_scan_queries.
  constexpr std::size_t few_rows = 512;
  constexpr std::size_t more_rows = 4096;
  constexpr std::size_t few_queries = 16;
  constexpr Work work = 1500;
  *costs = {};
  if (live < rows_min || sample.size() < few_queries || params.rows < more_rows) co_return;
  sample.resize(few_queries);
  CostMeter meter(params, live, sample);
  co_yield Pause{.done = work, .next = work};
  const ScanSeconds scan = [&](std::size_t rows, std::size_t queries) {
    return meter.scan_seconds({.count = rows}, 0, queries);
  };
  co_await measure_scan_in_steps(scan, few_rows, few_queries, &costs->scanned_in_batch);
  co_await measure_scan_in_steps(scan, more_rows, 1, &costs->scanned);
  costs->scanned = std::max(costs->scanned, costs->scanned_in_batch);
  if (params.norm_order != nullptr) {
    co_await meter.measure_scans_in_steps(rows_by_norm(params), &costs->scanned_by_norm,
                                          &costs->scanned_by_norm_in_batch);
  }
  if (can_encode(*params.storage)) {
    const ScanSeconds encoded = [&](std::size_t rows, std::size_t queries) {
      return meter.encoded_scan_seconds(rows, queries);
    };
    co_await measure_scan_in_steps(encoded, few_rows, few_queries, &costs->encoded_in_batch);
    co_await measure_scan_in_steps(encoded, few_rows, 1, &costs->encoded);
  }
  meter.measure_searches(*costs, few_queries / 2, 1);
  co_yield Pause{.done = 2 * work, .next = work};
  meter.measure_rerank(*costs);
}

}  // namespace vectis::inline v0_1::graph
