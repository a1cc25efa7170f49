#include "search/graph/look.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "search/exact/row_distances.hpp"
#include "search/graph/compare.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Codes are not exact, so this many of the best by code are compared by their true distances.
constexpr std::size_t compared(std::size_t k) { return 2 * k + 12; }
constexpr float doubt = 4;          // times the error of codes
constexpr std::size_t piece = 256;  // rows scored at once by look_among

// The vectors of walker.fresh, in walker.vectors.
void gather(const Vectors& vectors, std::size_t dim, Walker& walker) {
  walker.vectors.resize(walker.fresh.size());
  if (!vectors.whole()) walker.decoded.resize(walker.fresh.size() * dim);
  for (const Slot slot : walker.fresh) vectors.prefetch(slot);
  for (std::size_t i = 0; i < walker.fresh.size(); ++i) {
    float* const scratch = vectors.whole() ? nullptr : walker.decoded.data() + i * dim;
    walker.vectors[i] = vectors.numbers(walker.fresh[i], scratch);
  }
}

// Leaves the k nearest of walker.fresh and of its vectors in the first places, by their distances but for rounding.
std::size_t nearest_first(const Body& body, const float* query, std::size_t k, Walker& walker) {
  struct Near {
    float distance = 0;
    std::uint64_t id = 0;
    Slot slot = 0;
    const float* vector = nullptr;
  };
  const std::size_t count = walker.fresh.size();
  if (count <= k) return count;
  walker.make_room(count);
  const Frame& frame = body.graph.frame;
  compare_rows(frame.distance, query, walker.vectors.data(), count, frame.dim, std::ldexp(1.0F, -frame.exponent),
               walker.scores.data());
  std::vector<Near> near(count);
  for (std::size_t i = 0; i < count; ++i) {
    near[i] = {walker.scores[i], body.heads.id(walker.fresh[i]), walker.fresh[i], walker.vectors[i]};
  }
  std::partial_sort(
      near.begin(), near.begin() + static_cast<std::ptrdiff_t>(k), near.end(),
      [](const Near& a, const Near& b) { return a.distance != b.distance ? a.distance < b.distance : a.id < b.id; });
  for (std::size_t i = 0; i < k; ++i) {
    walker.fresh[i] = near[i].slot;
    walker.vectors[i] = near[i].vector;
  }
  return k;
}

// The k nearest of walker.fresh, by their true distances.
void take_best(const Look& look, const float* query, Walker& walker, std::vector<Hit>& hits) {
  const Body& body = *look.body;
  const std::size_t dim = body.graph.frame.dim;
  gather(body.vectors, dim, walker);
  const std::size_t best = nearest_first(body, query, look.k, walker);
  hits.clear();
  for (std::size_t first = 0; first < best; first += exact::rows_together) {
    const std::size_t count = std::min(exact::rows_together, best - first);
    std::array<double, exact::rows_together> distances;
    exact::row_distances(body.graph.frame.distance, {query, dim}, std::span(walker.vectors).subspan(first, count),
                         distances.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (look.radius && distances[i] > *look.radius) continue;
      hits.push_back({body.heads.id(walker.fresh[first + i]), distances[i]});
    }
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
}

// The best rows in the pool that are visible go to walker.fresh.
void collect_pool(const Look& look, Walker& walker) {
  walker.fresh.clear();
  for (const Place& place : walker.pool.places()) {
    if (look.body->heads.visible(place.slot(), look.epoch)) walker.fresh.push_back(place.slot());
    if (walker.fresh.size() == compared(look.k)) break;
  }
}

// The score up to which rows may be among the k nearest: one of compared(k) rows, or more where rows are all far and
// nearly as far as each other.
float score_in_doubt(const Frame& frame, const CodedQuery& query, std::size_t k, std::vector<float> scores) {
  if (scores.size() <= compared(k)) return std::numeric_limits<float>::infinity();
  const auto last = scores.begin() + static_cast<std::ptrdiff_t>(k);
  const auto compared_last = scores.begin() + static_cast<std::ptrdiff_t>(compared(k));
  std::nth_element(scores.begin(), compared_last, scores.end());
  std::nth_element(scores.begin(), last, compared_last);
  return std::max((*last + query.square()) * (1 + doubt * frame.far_error) - query.square(), *compared_last);
}

}  // namespace

Effort effort_for(std::size_t k, float slack) noexcept {
  // With fewer neighbours than were measured with, fewer rows would be about as far as the last of them.
  return {.nearest = std::max(k, calibrated_k), .slack = slack, .kept = std::max(compared(k), calibrated_k)};
}

void look(const Look& look, const float* query, Walker& walker, std::vector<Hit>& hits) {
  walker.query.set_vector(look.body->graph.frame, query);
  if (look.all_visible) {
    walk(look.body->graph, look.entries, look.effort, walker);
  } else {
    const Heads& heads = look.body->heads;
    walk_visible(
        look.body->graph, look.entries, look.effort, [&](Slot slot) { return heads.visible(slot, look.epoch); },
        walker);
  }
  collect_pool(look, walker);
  take_best(look, query, walker, hits);
}

bool look_filtered(const Look& look, const IdFilter& filter, std::uint64_t scored_max, const float* query,
                   Walker& walker, std::vector<Hit>& hits) {
  const Heads& heads = look.body->heads;
  walker.query.set_vector(look.body->graph.frame, query);
  const bool whole = walk_allowed(
      look.body->graph, look.entries, look.effort, scored_max,
      [&](Slot slot) { return heads.visible(slot, look.epoch) && filter.allows(heads.id(slot)); }, walker);
  if (!whole) return false;
  collect_pool(look, walker);
  take_best(look, query, walker, hits);
  return true;
}

void look_among(const Look& look, std::span<const Slot> slots, const float* query, Walker& walker,
                std::vector<Hit>& hits) {
  const Graph& graph = look.body->graph;
  walker.query.set_vector(graph.frame, query);
  walker.make_room(piece);
  std::vector<float> scores(slots.size());
  for (std::size_t first = 0; first < slots.size(); first += piece) {
    const std::span<const Slot> some = slots.subspan(first, std::min(piece, slots.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) {
      walker.rows[i] = graph.codes[some[i]];
      prefetch_row(graph.frame, walker.rows[i]);
    }
    graph.score_rows(graph.frame, walker.query, walker.rows.data(), some.size(), scores.data() + first);
  }
  walker.scored += slots.size();
  const float limit = score_in_doubt(graph.frame, walker.query, look.k, scores);
  walker.fresh.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (scores[i] <= limit && look.body->heads.visible(slots[i], look.epoch)) walker.fresh.push_back(slots[i]);
  }
  take_best(look, query, walker, hits);
}

}  // namespace vectis::inline v0_1::graph
