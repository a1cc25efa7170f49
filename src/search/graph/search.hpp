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

// What all queries of a search have in common. Immutable.
struct SearchParams {
  const GraphStorage* storage = nullptr;
  std::span<const Slot> entry_points;
  std::uint64_t epoch = 0;  // rows visible in this epoch are found
  // No tombstones when the search began. Rows added since may be met, and are left out after the beam search.
  bool no_tombstones = false;
  std::size_t k = 0;
  BeamParams beam = {};
  float error_margin = 4;  // of brute_force_scan, in standard deviations of the quantization error
  std::optional<double> radius = std::nullopt;
};

// A beam search for the best k by the epsilon rule.
[[nodiscard]] BeamParams beam_for_epsilon(std::size_t k, float epsilon) noexcept;
// A beam search of this width, as HNSW's ef: stops at rows farther than the worst of the best `ef`.
[[nodiscard]] BeamParams beam_for_ef(std::size_t k, std::size_t ef) noexcept;

[[nodiscard]] float error_margin_for(double recall) noexcept;

// The functions below write the k nearest rows to `hits`, nearest first, equal distances by lower id, with exact
// distances. All but rerank_found need scratch.query set to the query.

void search_graph(const SearchParams& params, const float* query, SearchScratch& scratch, std::vector<Hit>& hits);

// Runs one search for several epsilons (ascending), and calls `report(i, hits, scored)` with the result that a search
// with epsilons[i] has and the number of rows that it scores.
void search_at_epsilons(const SearchParams& params, std::span<const float> epsilons, const float* query,
                        SearchScratch& scratch, std::vector<Hit>& hits,
                        const std::function<void(std::size_t, std::span<const Hit>, std::uint64_t)>& report);

// Reranks rows that a device found, nearest first. Negative entries end the list.
void rerank_found(const SearchParams& params, std::span<const std::int32_t> found, const float* query,
                  SearchScratch& scratch, std::vector<Hit>& hits);

// Only rows that `filter` allows. Returns false, with meaningless hits, when the budget was exceeded.
bool filtered_search(const SearchParams& params, const IdFilter& filter, const FilterBudget& budget, const float* query,
                     SearchScratch& scratch, std::vector<Hit>& hits);

// Compares all of `slots` by code, and reranks those that may be among the k nearest within error_margin.
void brute_force_scan(const SearchParams& params, std::span<const Slot> slots, const float* query,
                      SearchScratch& scratch, std::vector<Hit>& hits);

}  // namespace vectis::inline v0_1::graph
