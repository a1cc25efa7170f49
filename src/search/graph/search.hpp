// The k nearest rows of one query: a beam search or scan by codes, then reranking by the vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "search/graph/beam_search.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t calibrated_k = 10;  // neighbors for which recall is calibrated

// The parameters that all queries of a search share. Owns nothing: storage and entry points must outlive the search.
// Immutable.
struct SearchParams {
  const GraphStorage* storage = nullptr;
  std::span<const Slot> entry_points;
  std::uint64_t epoch = 0;     // rows visible in this epoch are found
  std::size_t rows = 0;        // slots in use in this epoch; later slots are of rows that are not published yet
  bool no_tombstones = false;  // whether all of these rows are visible, so that the slot alone decides
  std::size_t k = 0;
  BeamParams beam = {};
  float error_margin = 4;  // of brute_force_scan, in standard deviations of the quantization error
  std::optional<double> radius = std::nullopt;
};

// Returns the parameters of a beam search for the best k that stops by the epsilon rule; k below calibrated_k counts
// as calibrated_k, for which epsilon was calibrated. Does not throw.
[[nodiscard]] BeamParams beam_for_epsilon(std::size_t k, float epsilon) noexcept;
// Returns the parameters of a beam search of width `ef`, as in HNSW: the search stops when the nearest unexpanded row
// is farther than the worst of the best `ef` rows. An `ef` below k counts as k. Does not throw.
[[nodiscard]] BeamParams beam_for_ef(std::size_t k, std::size_t ef) noexcept;

// Returns the error margin of brute_force_scan for a wanted recall, in standard deviations of the quantization error:
// 4 for a recall above 0.99, else 2. Does not throw.
[[nodiscard]] float error_margin_for(double recall) noexcept;

// Replaces `hits` by rows that a beam search finds: of the best 2k + 12 visible rows by code, the k = params.k nearest
// by single-precision distances of their vectors, without rows beyond params.radius, sorted by exact distance, equal
// distances by lower id. Returns false, with meaningless hits, when so many rows near the query are not visible that a
// scan is cheaper, or the search reached fewer than k visible rows. Preconditions, not checked: scratch.query is set to
// `query`, dim floats, and params.k >= 1. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] bool search_graph(const SearchParams& params, const float* query, SearchScratch& scratch,
                                std::vector<Hit>& hits);

// Runs one beam search for several epsilons and calls `report(i, hits, scored)` with the hits that a search with
// epsilons[i] has and the number of rows that it scores. Preconditions, not checked: scratch.query is set to `query`,
// `epsilons` has at least one element and ascends. Throws what `report` throws and std::bad_alloc.
void search_at_epsilons(const SearchParams& params, std::span<const float> epsilons, const float* query,
                        SearchScratch& scratch, std::vector<Hit>& hits,
                        const std::function<void(std::size_t, std::span<const Hit>, std::uint64_t)>& report);

// Replaces `hits` by rows of `found`: of the first 2k + 12 visible rows, the k = params.k nearest by single-precision
// distances of their vectors, without rows beyond params.radius, sorted by exact distance. Returns false, with
// meaningless hits, when fewer than k rows are visible. `found` must list rows nearest first, as a device finds them; a
// negative entry ends the list. scratch.query need not be set. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] bool rerank_found(const SearchParams& params, std::span<const std::int32_t> found, const float* query,
                                SearchScratch& scratch, std::vector<Hit>& hits);

// Replaces `hits` by the params.k nearest visible rows that `filter` allows, found by a beam search and reranked, and
// returns true. Returns false, with meaningless hits, when the search exceeds `budget` or reached fewer than k such
// rows. scratch.query must be set to
// `query`, not checked. Throws what the filter's predicate throws and std::bad_alloc.
bool filtered_search(const SearchParams& params, const IdFilter& filter, const FilterBudget& budget, const float* query,
                     SearchScratch& scratch, std::vector<Hit>& hits);

// Replaces `hits` by the params.k nearest visible rows of `slots`: scores all of them by code and reranks those that
// may be among the k nearest within params.error_margin. scratch.query must be set to `query`, not checked. Throws
// std::bad_alloc when memory is exhausted.
void brute_force_scan(const SearchParams& params, std::span<const Slot> slots, const float* query,
                      SearchScratch& scratch, std::vector<Hit>& hits);

}  // namespace vectis::inline v0_1::graph
