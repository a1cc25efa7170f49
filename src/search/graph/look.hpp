// The nearest rows of one query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "search/graph/body.hpp"
#include "search/graph/walk.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t calibrated_k = 10;  // neighbours for which slack is measured

// A walk for the best k.
[[nodiscard]] Effort effort_for(std::size_t k, float slack) noexcept;

// How far off codes may be, in their usual errors, for rows that are looked at without a walk.
[[nodiscard]] float doubt_for(double recall) noexcept;

// What is common to all queries of a search. Immutable.
struct Look {
  const Body* body = nullptr;
  std::span<const Slot> entries;
  std::uint64_t epoch = 0;   // rows visible then
  bool all_visible = false;  // all rows were; those added since may be met, and are left out at the end
  std::size_t k = 0;
  Effort effort = {};  // of the walk
  float doubt = 4;     // where there is none
  std::optional<double> radius = std::nullopt;
};

// By a walk: nearest first, ties by lower id, with true distances. Here and below walker.query was set to the query,
// but for look_at_found.
void look(const Look& look, const float* query, Walker& walker, std::vector<Hit>& hits);

// What a search with each of these values of effort.slack (ascending) finds, from a single search. `report(i, hits,
// scored)` is called for each of them in order, with the rows that the search had scored by then.
void look_with_stops(const Look& look, std::span<const float> epsilons, const float* query, Walker& walker,
                     std::vector<Hit>& hits,
                     const std::function<void(std::size_t, std::span<const Hit>, std::uint64_t)>& report);

// The same among rows that a walk elsewhere found, nearest first by coordinates; numbers below 0 are none.
void look_at_found(const Look& look, std::span<const std::int32_t> found, const float* query, Walker& walker,
                   std::vector<Hit>& hits);

// By a walk past all rows whose results are only those that `filter` allows. False when it was given up; then the hits
// mean nothing.
bool look_filtered(const Look& look, const IdFilter& filter, const Patience& patience, const float* query,
                   Walker& walker, std::vector<Hit>& hits);

// Among these rows only, all of them.
void look_among(const Look& look, std::span<const Slot> slots, const float* query, Walker& walker,
                std::vector<Hit>& hits);

}  // namespace vectis::inline v0_1::graph
