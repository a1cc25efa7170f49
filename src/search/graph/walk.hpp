// Best-first search over the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "search/graph/graph.hpp"
#include "search/graph/pool.hpp"

namespace vectis::inline v0_1::graph {

// When a walk has seen enough: nothing is left to visit that is nearer than `slack` times the distance of the best
// number `nearest`. So a walk goes on for long where many rows are about as far as the best, and ends soon where few
// are.
struct Effort {
  std::size_t nearest = 10;
  float slack = 1;
  std::size_t kept = 32;  // of the best rows, at least `nearest`
  bool narrow = false;    // rows farther than those that are kept are not visited
};

// What a walk past rows that are not allowed may cost before looking at all that are allowed is the better way.
struct Patience {
  double share = 1;       // of rows that are allowed
  double expected = 0;    // rows that are scored where allowed rows are spread evenly
  double scored_max = 0;  // rows that may be scored: those that are allowed
};

// What a walk needs beside the graph; made once for a thread. One thread at a time.
struct Walker {
  explicit Walker(const Graph& graph);

  CodedQuery query;
  Pool pool;
  MetLately met_lately;
  Marks met;  // of walk_allowed
  Met visited;
  Frontier frontier;
  std::vector<Slot> fresh;             // rows met for the first time in this step
  std::vector<const std::byte*> rows;  // theirs
  std::vector<float> scores;           // likewise
  std::vector<Slot> neighbours;
  std::vector<const float*> vectors;  // that are compared at the end
  std::vector<float> decoded;
  std::vector<float> placed;  // coordinates of the next queries
  std::uint64_t scored = 0;   // rows, of all walks so far

  // fresh, rows and scores have room for this many.
  void make_room(std::size_t count);
};

// What a search had found when it would have stopped.
struct SearchStop {
  std::vector<Place> found;  // nearest first
  std::uint64_t scored = 0;  // walker.scored at that moment
};

// Leaves the best rows found for walker.query in walker.pool, beginning at `entries`.
void walk(const Graph& graph, std::span<const Slot> entries, const Effort& effort, Walker& walker);

// As walk, but walker.pool takes only rows that can be seen: nearly all can.
void walk_visible(const Graph& graph, std::span<const Slot> entries, const Effort& effort,
                  const std::function<bool(Slot)>& visible, Walker& walker);

// As walk_visible, for several values of effort.slack (ascending, at least one) in a single search: stops[i] is what a
// search with epsilons[i] finds.
void walk_with_stops(const Graph& graph, std::span<const Slot> entries, const Effort& effort,
                     std::span<const float> epsilons, const std::function<bool(Slot)>& visible, Walker& walker,
                     std::vector<SearchStop>& stops);

// As walk, but walker.pool takes only rows that are allowed, and the walk goes on past all others. False when it was
// given up: it scored too many rows, or it would, since too few of those about the query are allowed.
bool walk_allowed(const Graph& graph, std::span<const Slot> entries, const Effort& effort, const Patience& patience,
                  const std::function<bool(Slot)>& allowed, Walker& walker);

}  // namespace vectis::inline v0_1::graph
