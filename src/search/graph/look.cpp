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
void collect_pool(const Look& look, std::span<const Place> places, Walker& walker) {
  walker.fresh.clear();
  for (const Place& place : places) {
    if (look.body->heads.visible(place.slot(), look.epoch)) walker.fresh.push_back(place.slot());
    if (walker.fresh.size() == compared(look.k)) break;
  }
}

// The lowest of the scores that were offered.
class Lowest {
 public:
  explicit Lowest(std::size_t count) : count_(count) {}
  void offer(float score) {
    if (heap_.size() == count_) {
      if (score >= heap_.front()) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(score);
    std::push_heap(heap_.begin(), heap_.end());
  }
  [[nodiscard]] float highest() const noexcept { return heap_.front(); }
  // With so many below it.
  [[nodiscard]] float at(std::size_t place) const {
    std::vector<float> scores = heap_;
    const auto found = scores.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(scores.begin(), found, scores.end());
    return *found;
  }

 private:
  std::size_t count_;
  std::vector<float> heap_;  // the highest first
};

// The score up to which rows may be among the k nearest: that of the last of compared(k) rows, or more where rows are
// all far and nearly as far as each other.
float score_in_doubt(const Frame& frame, const CodedQuery& query, std::size_t k, float doubt,
                     std::span<const float> scores) {
  if (scores.size() <= compared(k)) return std::numeric_limits<float>::infinity();
  Lowest lowest(compared(k));
  for (const float score : scores) lowest.offer(score);
  return std::max((lowest.at(k) + query.square()) * (1 + doubt * frame.far_error) - query.square(), lowest.highest());
}

void score_slots(const Graph& graph, std::span<const Slot> slots, Walker& walker, float* scores) {
  walker.make_room(piece);
  for (std::size_t first = 0; first < slots.size(); first += piece) {
    const std::span<const Slot> some = slots.subspan(first, std::min(piece, slots.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) {
      walker.rows[i] = graph.codes[some[i]];
      prefetch_row(graph.frame, walker.rows[i]);
    }
    graph.score_rows(graph.frame, walker.query, walker.rows.data(), some.size(), scores + first);
  }
  walker.scored += slots.size();
}

}  // namespace

float doubt_for(double recall) noexcept { return recall > 0.99 ? 4 : 2; }

Effort effort_for(std::size_t k, float slack) noexcept {
  // With fewer neighbours than were measured with, fewer rows would be about as far as the last of them.
  return {.nearest = std::max(k, calibrated_k), .slack = slack, .kept = std::max(compared(k), calibrated_k)};
}

void look(const Look& look, const float* query, Walker& walker, std::vector<Hit>& hits) {
  if (look.all_visible) {
    walk(look.body->graph, look.entries, look.effort, walker);
  } else {
    const Heads& heads = look.body->heads;
    walk_visible(
        look.body->graph, look.entries, look.effort, [&](Slot slot) { return heads.visible(slot, look.epoch); },
        walker);
  }
  collect_pool(look, walker.pool.places(), walker);
  take_best(look, query, walker, hits);
}

void look_with_stops(const Look& look, std::span<const float> epsilons, const float* query, Walker& walker,
                     std::vector<Hit>& hits,
                     const std::function<void(std::size_t, std::span<const Hit>, std::uint64_t)>& report) {
  const Heads& heads = look.body->heads;
  const std::uint64_t scored_before = walker.scored;
  std::vector<SearchStop> stops;
  walk_with_stops(
      look.body->graph, look.entries, look.effort, epsilons, [&](Slot slot) { return heads.visible(slot, look.epoch); },
      walker, stops);
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (i == 0 || stops[i].found != stops[i - 1].found) {
      collect_pool(look, stops[i].found, walker);
      take_best(look, query, walker, hits);
    }
    report(i, hits, stops[i].scored - scored_before);
  }
}

void look_at_found(const Look& look, std::span<const std::int32_t> found, const float* query, Walker& walker,
                   std::vector<Hit>& hits) {
  walker.fresh.clear();
  for (const std::int32_t row : found) {
    if (row < 0 || walker.fresh.size() == compared(look.k)) break;
    if (look.body->heads.visible(static_cast<Slot>(row), look.epoch)) walker.fresh.push_back(static_cast<Slot>(row));
  }
  take_best(look, query, walker, hits);
}

bool look_filtered(const Look& look, const IdFilter& filter, const Patience& patience, const float* query,
                   Walker& walker, std::vector<Hit>& hits) {
  const Heads& heads = look.body->heads;
  const bool whole = walk_allowed(
      look.body->graph, look.entries, look.effort, patience,
      [&](Slot slot) { return heads.visible(slot, look.epoch) && filter.allows(heads.id(slot)); }, walker);
  if (!whole) return false;
  collect_pool(look, walker.pool.places(), walker);
  take_best(look, query, walker, hits);
  return true;
}

void look_among(const Look& look, std::span<const Slot> slots, const float* query, Walker& walker,
                std::vector<Hit>& hits) {
  const Graph& graph = look.body->graph;
  std::vector<float> scores(slots.size());
  score_slots(graph, slots, walker, scores.data());
  const float limit = score_in_doubt(graph.frame, walker.query, look.k, look.doubt, scores);
  walker.fresh.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (scores[i] <= limit && look.body->heads.visible(slots[i], look.epoch)) walker.fresh.push_back(slots[i]);
  }
  take_best(look, query, walker, hits);
}

}  // namespace vectis::inline v0_1::graph
