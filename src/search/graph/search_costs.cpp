#include "search/graph/search_costs.hpp"

#include <algorithm>
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

}  // namespace

SearchCosts SearchCosts::by_norm() const noexcept {
  SearchCosts result = *this;
  if (scanned_by_norm > 0) {
    result.scanned = scanned_by_norm;
    result.scanned_in_batch = scanned_by_norm_in_batch;
  }
  return result;
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
  constexpr std::size_t encoded_rows = 65536;
  constexpr std::size_t single_scans = 4;
  constexpr std::size_t searches = 32;
  constexpr std::size_t candidates_reranked = 32;
  SearchCosts costs;
  if (rows.size() < rows_min || sample.empty()) return costs;
  const Graph& graph = params.storage->graph;
  const std::size_t dim = graph.encoding.projection.dim;
  const std::size_t count = std::min(exact_scan_queries, sample.size());
  const RowQueries asked = queries_of(*params.storage, sample.first(count));
  SearchParams measured = params;
  measured.k = calibrated_k;
  std::vector<std::vector<Hit>> hits(count);
  const auto timed = [](const auto& work) {
    const std::uint64_t begin = thread_nanoseconds();
    work();
    return static_cast<double>(thread_nanoseconds() - begin) * 1e-9;
  };
  const auto measure_scans = [&](const ScannedSlots& some, double& alone, double& in_batch) {
    const auto scanned = static_cast<double>(some.count);
    const std::size_t singles = std::min(single_scans, count);
    const auto batch = [&] { exact_scan(measured, some, asked.queries, hits); };
    const auto single = [&] {
      for (std::size_t i = 0; i < singles; ++i) {
        exact_scan(measured, some, std::span(asked.queries).subspan(i, 1), std::span(hits).subspan(i, 1));
      }
    };
    // The better of two: a disturbance only adds time.
    in_batch = std::min(timed(batch), timed(batch)) / (scanned * static_cast<double>(count));
    alone = std::min(timed(single), timed(single)) / (scanned * static_cast<double>(singles));
  };
  ScannedSlots some{.count = std::min(scanned_rows, rows.size())};
  if (rows.size() < params.rows) some.listed = rows.data();
  measure_scans(some, costs.scanned, costs.scanned_in_batch);
  if (params.norm_order != nullptr) {
    measure_scans(rows_by_norm(params), costs.scanned_by_norm, costs.scanned_by_norm_in_batch);
  }
  if (can_encode(*params.storage)) {
    SimulatedExecutor alone(0);  // runs everything on this thread
    SearchParams first_rows = measured;
    first_rows.rows = std::min(encoded_rows, params.rows);
    const auto seconds = [&](std::size_t together) {
      const auto scan = [&] {
        encoded_scan(alone, first_rows, std::span(asked.vectors).first(together * dim), {},
                     std::span(hits).first(together));
      };
      return std::min(timed(scan), timed(scan)) / static_cast<double>(first_rows.rows * together);
    };
    costs.encoded_in_batch = seconds(count);  // first, so that the vectors are in the cache for both
    costs.encoded = seconds(1);
  }
  measured.beam = beam_for({.epsilon = 1, .reranked = candidates_reranked}, calibrated_k);
  measured.beam.scores_max = scores_before_scan(rows.size());
  SearchScratch scratch(graph);
  std::vector<float> vector(dim);
  std::vector<double> visited;
  for (std::size_t i = 0; i < std::min(searches, sample.size()); ++i) {
    params.storage->read_vector(sample[i], vector.data());
    scratch.query.set_vector(graph.encoding, vector.data());
    const std::uint64_t before = scratch.scored;
    const double seconds = timed([&] {
      (void)beam_search_visible(graph, params.entry_points, measured.beam, [](Slot) { return true; }, scratch);
    });
    const auto scored = static_cast<double>(scratch.scored - before);
    if (scored > 0) visited.push_back(seconds / scored);
  }
  const auto median = visited.begin() + static_cast<std::ptrdiff_t>(visited.size() / 2);
  std::nth_element(visited.begin(), median, visited.end());
  if (!visited.empty()) costs.visited = *median;
  std::vector<std::int32_t> candidates;
  for (const Neighbor& neighbor : scratch.best.sorted()) {
    if (params.storage->versions.visible(neighbor.slot(), params.epoch)) {
      candidates.push_back(static_cast<std::int32_t>(neighbor.slot()));
    }
  }
  if (candidates.size() < calibrated_k) return costs;
  measured.reranked = candidates.size();
  const auto rerank = [&] { (void)rerank_found(measured, candidates, vector.data(), scratch, hits.front()); };
  costs.reranked = std::min(timed(rerank), timed(rerank)) / static_cast<double>(candidates.size());
  return costs;
}

}  // namespace vectis::inline v0_1::graph
