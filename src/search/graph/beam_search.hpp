// Best-first (beam) search over the graph, by quantized codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "search/graph/steps.hpp"
#include "search/graph/storage.hpp"
#include "search/graph/top_k.hpp"
#include "search/graph/visited.hpp"

namespace vectis::inline v0_1::graph {

// Parameters of a beam search. The search stops when the nearest unexpanded row is farther than epsilon times the
// distance of the k-th best row found (NGT's epsilon), so it runs longer where many rows are about as far as the
// best; and, with a large epsilon, not before it is farther than the best `ef` rows, as in HNSW: among vectors that
// are almost equal, distances are so small that epsilon times them leads nowhere. It always expands the expanded_min
// best, whose links lead to rows that are nearer still. Precondition of every search, not checked: 1 <= k <= width.
struct BeamParams {
  static constexpr std::size_t expanded_min = 3;

  std::size_t k = 10;
  float epsilon = 1;
  std::size_t width = 32;  // best rows that are kept, at least k
  std::size_t starts = 4;  // entry points where the search starts: the nearest ones; at least 1
  bool widens = false;     // with epsilon, by ef_of(k, epsilon)
  bool bounded = false;    // also stop as HNSW does: at rows farther than the worst of `width` rows (ef)
  // Remember every visited row, for long searches: the small table of short ones forgets rows, which are scored again.
  bool exact_visited = false;
  std::uint64_t scores_max = std::numeric_limits<std::uint64_t>::max();  // rows scored at which the search gives up
  Slot skipped = AdjacencyLists::no_link;                                // a row that is scored but not expanded
};

// Returns how many of the best rows a search that widens must be past before it stops: k up to an epsilon of 1.1, then
// more. A search with a larger epsilon goes on where one with a smaller epsilon stops. Does not throw.
[[nodiscard]] std::size_t ef_of(std::size_t k, float epsilon) noexcept;

// Returns the beam of the searches for the neighbors of a row. Does not throw.
[[nodiscard]] BeamParams construction_beam(const GraphParams& params) noexcept;

// The cost at which a filtered search gives up, because scanning all allowed rows is cheaper. Plain data.
struct FilterBudget {
  double selectivity = 1;      // share of the rows that the filter allows
  double expected_scores = 0;  // rows scored when allowed rows are spread evenly
  double scores_max = 0;       // limit: the number of allowed rows
};

// The query, buffers and result of a search. Made once per thread and reused for searches of one graph, or of graphs
// with an equal quantizer (see QuantizedQuery::fits). Not thread-safe.
struct SearchScratch {
  // Allocates the query for the quantizer of `graph`. Throws std::bad_alloc when memory is exhausted.
  explicit SearchScratch(const Graph& graph);

  QuantizedQuery query;
  TopK best;    // the result
  TopK starts;  // the entry points where the search starts
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

  // Grows unvisited, rows and scores to at least `count` elements. Throws std::bad_alloc when memory is exhausted.
  void reserve(std::size_t count);
};

// The result of a search with one of several epsilons: the state when a search with that epsilon would have stopped.
struct SearchStop {
  std::vector<Neighbor> best;  // nearest first
  std::uint64_t scored = 0;    // scratch.scored at that moment
  bool gave_up = false;        // the search reached scores_max
};

// Searches the graph for scratch.query, which must be set, from `entry_points`, and leaves the params.width best rows
// in scratch.best, including tombstones; none without entry points. Needs 1 <= params.k <= params.width, not checked.
// Writers may change the graph meanwhile. Throws std::bad_alloc when memory is exhausted.
void beam_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                 SearchScratch& scratch);

// Searches the graph for scratch.query, which must be set, from `entry_points`, and leaves the params.width best rows
// below the slot `end` in scratch.best; later rows, which an insert is linking, are traversed only. Returns false, with
// an unusable result, when the search scored params.scores_max rows. Needs 1 <= params.k <= params.width, not checked.
// Throws std::bad_alloc when memory is exhausted.
bool beam_search_below(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                       std::size_t end, SearchScratch& scratch);

// Searches the graph for scratch.query, which must be set, from `entry_points`, and leaves the params.width best rows
// for which `visible` returns true in scratch.best; other rows are traversed only. Returns false, with an unusable
// result, when the search scored params.scores_max rows. Needs 1 <= params.k <= params.width, not checked. Throws what
// `visible` throws and std::bad_alloc.
bool beam_search_visible(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                         const std::function<bool(Slot)>& visible, SearchScratch& scratch);

// Runs one beam search over the rows for which `visible` returns true and sets stops[i] to the result that
// beam_search_visible with epsilons[i] has; ignores params.epsilon. Preconditions, not checked: scratch.query is set,
// `epsilons` has at least one element and ascends. Throws what `visible` throws and std::bad_alloc.
void beam_search_at_epsilons(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                             std::span<const float> epsilons, const std::function<bool(Slot)>& visible,
                             SearchScratch& scratch, std::vector<SearchStop>& stops);

// Does the same in steps, and remembers every visited row. Writers may change the graph meanwhile. What the arguments
// point to must outlive the steps.
Steps beam_search_at_epsilons_in_steps(const Graph* graph, std::span<const Slot> entry_points, BeamParams params,
                                       std::span<const float> epsilons, std::function<bool(Slot)> visible,
                                       SearchScratch* scratch, std::vector<SearchStop>* stops);

// Searches the graph for scratch.query, which must be set, and leaves the best rows for which `allowed` returns true
// in scratch.best; other rows are traversed only. Returns false, with an unusable result, when the search exceeds
// `budget` or is predicted to, because few rows near the query are allowed. Throws what `allowed` throws and
// std::bad_alloc.
bool filtered_beam_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                          const FilterBudget& budget, const std::function<bool(Slot)>& allowed, SearchScratch& scratch);

}  // namespace vectis::inline v0_1::graph
