// Best-first (beam) search over the graph, by quantized codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "search/graph/storage.hpp"
#include "search/graph/top_k.hpp"
#include "search/graph/visited.hpp"

namespace vectis::inline v0_1::graph {

// When a search stops: as soon as the nearest unexpanded row is farther than epsilon times the distance of the k-th
// best row found (NGT's epsilon). So a search goes on for longer where many rows are about as far as the best ones.
struct BeamParams {
  std::size_t k = 10;
  float epsilon = 1;
  std::size_t width = 32;  // best rows that are kept, at least k
  bool bounded = false;    // also stop as HNSW does: at rows farther than the worst of `width` rows (ef)
};

// What a filtered search may cost before scanning all allowed rows is cheaper.
struct FilterBudget {
  double selectivity = 1;      // share of the rows that the filter allows
  double expected_scores = 0;  // rows scored when allowed rows are spread evenly
  double scores_max = 0;       // limit: the number of allowed rows
};

// Buffers of a search, and its result. Made once per thread and reused. Not thread-safe.
struct SearchScratch {
  explicit SearchScratch(const Graph& graph);

  QuantizedQuery query;
  TopK best;  // the result
  VisitedFilter visited_filter;
  VisitedBitmap visited_bitmap;  // of filtered searches
  VisitedSet expanded;
  Frontier frontier;
  std::vector<Slot> unvisited;         // neighbors that the current step met for the first time
  std::vector<const std::byte*> rows;  // codes of `unvisited`
  std::vector<float> scores;           // scores of `unvisited`
  std::vector<Slot> links;
  std::vector<const float*> vectors;  // of the rows to rerank
  std::vector<float> decoded;
  std::vector<float> projected;  // a batch of projected queries
  std::uint64_t scored = 0;      // rows compared by code, of all searches so far
  std::uint64_t reranked = 0;    // rows compared by their vectors, of all searches so far

  // Makes room for `count` elements in unvisited, rows and scores.
  void reserve(std::size_t count);
};

// The state of a search at the moment when it would have stopped.
struct SearchStop {
  std::vector<Neighbor> best;  // nearest first
  std::uint64_t scored = 0;    // scratch.scored at that moment
};

// Each search starts at `entry_points`, searches for scratch.query, and leaves the best rows in scratch.best.

void beam_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                 SearchScratch& scratch);

// Leaves rows that are not visible out of the result. Meant for few tombstones: most rows are visible.
void beam_search_visible(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                         const std::function<bool(Slot)>& visible, SearchScratch& scratch);

// As beam_search_visible for several epsilons (ascending, at least one) in place of params.epsilon, in one search:
// stops[i] is what a search with epsilons[i] finds.
void beam_search_at_epsilons(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                             std::span<const float> epsilons, const std::function<bool(Slot)>& visible,
                             SearchScratch& scratch, std::vector<SearchStop>& stops);

// Traverses all rows, but only allowed rows enter the result. Returns false, with an unusable result, when the search
// exceeds its budget or is predicted to, because few rows near the query are allowed.
bool filtered_beam_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                          const FilterBudget& budget, const std::function<bool(Slot)>& allowed, SearchScratch& scratch);

}  // namespace vectis::inline v0_1::graph
