// The k nearest rows of one query: a beam search or scan by codes, then reranking by the vectors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "search/graph/beam_search.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::graph {

struct NormOrder;

inline constexpr std::size_t calibrated_k = 10;  // neighbors for which recall is calibrated

// What decides the recall of a search: how far the beam search goes, and how many of its best rows are compared by
// their vectors. Plain data.
struct SearchReach {
  float epsilon = 1;
  std::size_t reranked = 32;  // for calibrated_k neighbors and fewer; in proportion for more
};

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
  std::size_t reranked = 32;  // best rows by code that are compared by their vectors, at least k
  std::optional<double> radius = std::nullopt;
  const NormOrder* norm_order =
      nullptr;  // of the visible rows but those from its end on, and of tombstones; may be null
};

// Returns the parameters of a beam search for the best k that stops by the epsilon rule and keeps the rows to rerank;
// k below calibrated_k counts as calibrated_k, for which the reach was calibrated. Does not throw.
[[nodiscard]] BeamParams beam_for(const SearchReach& reach, std::size_t k) noexcept;
// Returns the parameters of a beam search of width `ef`, as in HNSW: the search stops when the nearest unexpanded row
// is farther than the worst of the best `ef` rows. An `ef` below k counts as k. Does not throw.
[[nodiscard]] BeamParams beam_for_ef(std::size_t k, std::size_t ef) noexcept;
// Returns how many rows a search whose beam width the caller chose reranks: more with a wider beam, so that codes do
// not limit the recall that it can reach. Does not throw.
[[nodiscard]] constexpr std::size_t reranked_for_ef(std::size_t k, std::size_t ef) noexcept {
  return std::max(2 * k + 12, ef / 4);
}

// Replaces `hits` by rows that a beam search finds: of the best params.reranked visible rows by code, the k =
// params.k nearest by exact distances of their vectors, without rows beyond params.radius, sorted by exact
// distance, equal distances by lower id. Returns false, with meaningless hits, when the search gave up at
// beam.scores_max or reached fewer than k visible rows. Preconditions, not checked: scratch.query is set to `query`,
// dim floats, and params.k >= 1. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] bool search_graph(const SearchParams& params, const float* query, SearchScratch& scratch,
                                std::vector<Hit>& hits);

// Replaces `hits` by rows of `found`: of the first params.reranked visible rows, the k = params.k nearest by
// exact distances of their vectors, without rows beyond params.radius, sorted by distance. Returns
// false, with meaningless hits, when fewer than k rows are visible. `found` must list rows nearest first, as a device
// finds them; a negative entry ends the list. scratch.query need not be set. Throws std::bad_alloc when memory is
// exhausted.
[[nodiscard]] bool rerank_found(const SearchParams& params, std::span<const std::int32_t> found, const float* query,
                                SearchScratch& scratch, std::vector<Hit>& hits);

// Replaces `hits` by the params.k nearest visible rows that `filter` allows, found by a beam search and reranked, and
// returns true. Returns false, with meaningless hits, when the search exceeds `budget` or reached fewer than k such
// rows. scratch.query must be set to
// `query`, not checked. Throws what the filter's predicate throws and std::bad_alloc.
bool filtered_search(const SearchParams& params, const IdFilter& filter, const FilterBudget& budget, const float* query,
                     SearchScratch& scratch, std::vector<Hit>& hits);

}  // namespace vectis::inline v0_1::graph
