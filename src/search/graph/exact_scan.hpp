// The exact nearest rows of queries: a scan of the codes that drops rows by proven bounds, then exact distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/norm_order.hpp"
#include "search/graph/scan_filter.hpp"
#include "search/graph/search.hpp"

namespace vectis::inline v0_1::graph {

// A query of an exact scan. Owns nothing.
struct ExactQuery {
  const float* vector = nullptr;            // dim floats
  Slot excluded = AdjacencyLists::no_link;  // a row that is not found
};

// Vectors of rows that are searched for, each left out of its own answer. The queries point to the vectors.
struct RowQueries {
  std::vector<float> vectors;  // rows of dim floats
  std::vector<ExactQuery> queries;
};

// Makes a query of each of the rows. Throws std::bad_alloc.
[[nodiscard]] RowQueries queries_of(const GraphStorage& storage, std::span<const Slot> rows);

// The rows of an exact scan: consecutive slots, then listed ones, then sorted ones. Owns nothing.
struct ScannedSlots {
  std::size_t count = 0;               // of all
  const Slot* listed = nullptr;        // null: all before the sorted ones are consecutive
  std::size_t consecutive = 0;         // rows before the listed ones
  std::size_t first = 0;               // the first of these
  const SortedRows* sorted = nullptr;  // null: none are sorted
  std::size_t unsorted = 0;            // rows before the sorted ones

  [[nodiscard]] Slot operator[](std::size_t i) const noexcept {
    if (is_sorted(i)) return sorted->slots[i - unsorted];
    return is_consecutive(i) ? static_cast<Slot>(first + i) : listed[i - consecutive];
  }
  [[nodiscard]] bool is_consecutive(std::size_t i) const noexcept {
    return (listed == nullptr || i < consecutive) && !is_sorted(i);
  }
  [[nodiscard]] bool is_sorted(std::size_t i) const noexcept { return sorted != nullptr && i >= unsorted; }
};

// Returns all rows of a search: those that params.norm_order, which must not be null, has not sorted, then the longest
// first. Does not throw.
[[nodiscard]] ScannedSlots rows_by_norm(const SearchParams& params) noexcept;

// What an exact scan did.
struct ExactScanCounts {
  std::uint64_t scored = 0;    // rows compared by code, for all queries
  std::uint64_t reranked = 0;  // rows compared by their vectors, for all queries
};

// Replaces hits[i] by the params.k nearest visible rows of `slots` to queries[i], as brute force in double precision
// over the stored vectors finds them: none beyond params.radius, sorted by distance, equal distances by lower id.
// docs/graph-search.md has the proof. Preconditions, not checked: as many hits as queries, 1 to
// exact_scan_queries, params.k >= 1, slots are
// distinct and below params.rows, and rows were encoded from the vectors that are stored. Throws std::bad_alloc.
ExactScanCounts exact_scan(const SearchParams& params, const ScannedSlots& slots, std::span<const ExactQuery> queries,
                           std::span<std::vector<Hit>> hits);

}  // namespace vectis::inline v0_1::graph
