// Which of many near rows a row is linked to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/graph/graph.hpp"
#include "search/graph/pool.hpp"

namespace vectis::inline v0_1::graph {

// A row with its squared distance to the row whose links are chosen.
struct Neighbour {
  float distance = 0;
  Slot slot = 0;
  bool operator<(const Neighbour& other) const noexcept {
    return distance != other.distance ? distance < other.distance : slot < other.slot;
  }
};

// Memory of prune. One thread at a time.
struct Pruner {
  explicit Pruner(const Graph& graph) : query(graph.frame) {}

  CodedQuery query;
  std::vector<Neighbour> near;
  std::vector<Neighbour> left;
  std::vector<Slot> slots;
  std::vector<const std::byte*> rows;
  std::vector<float> scores;
  std::vector<Slot> chosen;
};

// Takes the nearest of `candidates` (in any order, each once), drops all those to which it is the better way, and so on
// until `count` are chosen; into pruner.chosen, nearest first.
void prune(const Graph& graph, std::span<const Neighbour> candidates, std::size_t count, Pruner& pruner);

// The same for rows whose distances to `from` are not known yet.
void prune_rows(const Graph& graph, Slot from, std::span<const Slot> candidates, std::size_t count, Pruner& pruner);

}  // namespace vectis::inline v0_1::graph
