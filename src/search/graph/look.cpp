#include "search/graph/look.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "search/exact/row_distances.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Codes are not exact, so this many of the best by code are compared by their true distances.
constexpr std::size_t compared(std::size_t k) { return 2 * k + 12; }
constexpr std::size_t piece = 256;  // rows scored at once by look_among

// True distances of the best rows in the pool that are visible.
void take_best(const Look& look, const float* query, const Pool& pool, Walker& walker, std::vector<Hit>& hits) {
  const Body& body = *look.body;
  const std::size_t wanted = compared(look.k);
  walker.fresh.clear();
  for (const Place& place : pool.places()) {
    if (!body.heads.visible(place.slot(), look.epoch)) continue;
    walker.fresh.push_back(place.slot());
    body.vectors.prefetch(place.slot());
    if (walker.fresh.size() == wanted) break;
  }
  const std::size_t dim = body.graph.frame.dim;
  walker.decoded.resize(exact::rows_together * dim);
  hits.clear();
  for (std::size_t first = 0; first < walker.fresh.size(); first += exact::rows_together) {
    const std::size_t count = std::min(exact::rows_together, walker.fresh.size() - first);
    std::array<const float*, exact::rows_together> rows;
    std::array<double, exact::rows_together> distances;
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = body.vectors.numbers(walker.fresh[first + i], walker.decoded.data() + i * dim);
    }
    exact::row_distances(body.graph.frame.distance, {query, dim}, std::span(rows).first(count), distances.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (look.radius && distances[i] > *look.radius) continue;
      hits.push_back({body.heads.id(walker.fresh[first + i]), distances[i]});
    }
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
  if (hits.size() > look.k) hits.resize(look.k);
}

}  // namespace

Effort effort_for(std::size_t k, float slack) noexcept {
  // With fewer neighbours than were measured with, fewer rows would be about as far as the last of them.
  return {.nearest = std::max(k, calibrated_k), .slack = slack, .kept = std::max(compared(k), calibrated_k)};
}

void look(const Look& look, const float* query, Walker& walker, std::vector<Hit>& hits) {
  walker.query.set_vector(look.body->graph.frame, query);
  walk(look.body->graph, look.entries, look.effort, walker);
  take_best(look, query, walker.pool, walker, hits);
}

bool look_filtered(const Look& look, const IdFilter& filter, std::uint64_t scored_max, const float* query,
                   Walker& walker, std::vector<Hit>& hits) {
  const Heads& heads = look.body->heads;
  walker.query.set_vector(look.body->graph.frame, query);
  const bool whole = walk_allowed(
      look.body->graph, look.entries, look.effort, scored_max,
      [&](Slot slot) { return heads.visible(slot, look.epoch) && filter.allows(heads.id(slot)); }, walker);
  if (whole) take_best(look, query, walker.pool, walker, hits);
  return whole;
}

void look_among(const Look& look, std::span<const Slot> slots, const float* query, Walker& walker,
                std::vector<Hit>& hits) {
  const Graph& graph = look.body->graph;
  walker.query.set_vector(graph.frame, query);
  walker.pool.start(compared(look.k));
  walker.make_room(piece);
  for (std::size_t first = 0; first < slots.size(); first += piece) {
    const std::span<const Slot> some = slots.subspan(first, std::min(piece, slots.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) {
      walker.rows[i] = graph.codes[some[i]];
      prefetch_row(graph.frame, walker.rows[i]);
    }
    graph.score_rows(graph.frame, walker.query, walker.rows.data(), some.size(), walker.scores.data());
    for (std::size_t i = 0; i < some.size(); ++i) walker.pool.offer(walker.scores[i], some[i]);
  }
  walker.scored += slots.size();
  take_best(look, query, walker.pool, walker, hits);
}

}  // namespace vectis::inline v0_1::graph
