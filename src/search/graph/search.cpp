#include "search/graph/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "search/common/exact_distances.hpp"
#include "search/graph/float_kernels.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Codes are inexact, so the best 2k + 12 by code are reranked by their vectors.
constexpr std::size_t rerank_count(std::size_t k) { return 2 * k + 12; }
constexpr std::size_t scan_batch = 256;  // rows scored at once

// Collects the vectors of scratch.unvisited in scratch.vectors.
void gather_vectors(const VectorRows& vectors, std::size_t dim, SearchScratch& scratch) {
  const std::size_t count = scratch.unvisited.size();
  scratch.vectors.resize(count);
  if (!vectors.full_precision()) scratch.decoded.resize(count * dim);
  for (const Slot slot : scratch.unvisited) vectors.prefetch(slot);
  for (std::size_t i = 0; i < count; ++i) {
    float* const decoded = vectors.full_precision() ? nullptr : scratch.decoded.data() + i * dim;
    scratch.vectors[i] = vectors.read(scratch.unvisited[i], decoded);
  }
}

// A distance of float_distances at `scale`, or the same in double precision where floats overflow or vanish: vectors
// may be far longer or shorter than those that the encoding was trained on.
double rerank_distance(Metric metric, std::span<const float> query, const float* row, float scale, float distance) {
  const float size = std::abs(distance);
  if (metric == Metric::cosine || (size > 1e-30F && size < 1e30F)) return double{distance};
  const std::span<const float> vector(row, query.size());
  if (metric == Metric::inner_product) {
    return exact_distance(metric, query, vector) * double{scale} * double{scale};
  }
  const double scaled = exact_distance(Metric::l2, query, vector) * double{scale};
  return scaled * scaled;
}

// Moves the k nearest of scratch.unvisited and scratch.vectors to the front, by single-precision distances. Returns
// their number.
std::size_t select_nearest(const GraphStorage& storage, const float* query, std::size_t k, SearchScratch& scratch) {
  struct Reranked {
    double distance = 0;
    std::uint64_t id = 0;
    Slot slot = 0;
    const float* vector = nullptr;
  };
  const std::size_t count = scratch.unvisited.size();
  if (count <= k) return count;
  scratch.reserve(count);
  const Projection& projection = storage.graph.encoding.projection;
  const float scale = std::ldexp(1.0F, std::clamp(-projection.exponent, -126, 127));  // a normal float
  float_distances(projection.metric, query, scratch.vectors.data(), count, projection.dim, scale,
                  scratch.scores.data());
  std::vector<Reranked> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Slot slot = scratch.unvisited[i];
    const double distance =
        rerank_distance(projection.metric, {query, projection.dim}, scratch.vectors[i], scale, scratch.scores[i]);
    rows[i] = {distance, storage.versions.id(slot), slot, scratch.vectors[i]};
  }
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(),
                    [](const Reranked& a, const Reranked& b) {
                      return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
                    });
  for (std::size_t i = 0; i < k; ++i) {
    scratch.unvisited[i] = rows[i].slot;
    scratch.vectors[i] = rows[i].vector;
  }
  return k;
}

// The k nearest of scratch.unvisited, by exact distances.
void rerank(const SearchParams& params, const float* query, SearchScratch& scratch, std::vector<Hit>& hits) {
  const GraphStorage& storage = *params.storage;
  const Projection& projection = storage.graph.encoding.projection;
  scratch.reranked += scratch.unvisited.size();
  gather_vectors(storage.vectors, projection.dim, scratch);
  const std::size_t best = select_nearest(storage, query, params.k, scratch);
  hits.clear();
  for (std::size_t first = 0; first < best; first += detail::exact_distances_batch) {
    const std::size_t count = std::min(detail::exact_distances_batch, best - first);
    std::array<double, detail::exact_distances_batch> distances;
    detail::exact_distances(projection.metric, {query, projection.dim},
                            std::span(scratch.vectors).subspan(first, count), distances.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (params.radius && distances[i] > *params.radius) continue;
      hits.push_back({storage.versions.id(scratch.unvisited[first + i]), distances[i]});
    }
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
}

// Moves the best visible neighbors to scratch.unvisited, as many as are reranked.
void select_candidates(const SearchParams& params, std::span<const Neighbor> best, SearchScratch& scratch) {
  scratch.unvisited.clear();
  for (const Neighbor& neighbor : best) {
    if (params.storage->versions.visible(neighbor.slot(), params.epoch)) scratch.unvisited.push_back(neighbor.slot());
    if (scratch.unvisited.size() == rerank_count(params.k)) break;
  }
}

// Reranks what a beam search found. Returns false when that is less than k rows: then too few were reachable, for
// example among many equal vectors, which prune each other's links.
bool rerank_best(const SearchParams& params, const float* query, SearchScratch& scratch, std::vector<Hit>& hits) {
  select_candidates(params, scratch.best.sorted(), scratch);
  if (scratch.unvisited.size() < params.k) return false;
  rerank(params, query, scratch, hits);
  return true;
}

// The lowest `count` of the pushed scores, as a max-heap.
class LowestScores {
 public:
  explicit LowestScores(std::size_t count) : count_(count) {}
  void push(float score) {
    if (heap_.size() == count_) {
      if (score >= heap_.front()) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(score);
    std::push_heap(heap_.begin(), heap_.end());
  }
  [[nodiscard]] float max() const noexcept { return heap_.front(); }
  // The score of this rank, from 0.
  [[nodiscard]] float nth(std::size_t rank) const {
    std::vector<float> scores = heap_;
    const auto found = scores.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(scores.begin(), found, scores.end());
    return *found;
  }

 private:
  std::size_t count_;
  std::vector<float> heap_;
};

// Which rows may be among the k nearest: the rerank_count(k) best, and those whose score differs from that of the k-th
// by less than the quantization error. Relative to the distance it is much larger for near rows than for others.
class RerankLimit {
 public:
  RerankLimit(const Quantizer& quantizer, const QuantizedQuery& query, std::size_t k, float error_margin,
              std::span<const float> scores)
      : deviations_max_(error_margin * std::numbers::sqrt2_v<float>) {  // the errors of two scores add up
    if (scores.size() <= rerank_count(k)) return;
    LowestScores lowest(rerank_count(k));
    for (const float score : scores) lowest.push(score);
    kth_ = lowest.nth(k);
    const float widened = (kth_ + query.squared_norm()) * (1 + error_margin * quantizer.relative_error);
    limit_ = std::max(widened - query.squared_norm(), lowest.max());
  }
  [[nodiscard]] bool allows(float score, float deviation) const noexcept {
    return score <= limit_ || score - kth_ <= deviations_max_ * deviation;
  }

 private:
  float deviations_max_;
  float kth_ = std::numeric_limits<float>::infinity();
  float limit_ = std::numeric_limits<float>::infinity();
};

// Writes scores and their standard deviations.
void score_slots(const Graph& graph, std::span<const Slot> slots, SearchScratch& scratch, float* scores,
                 float* deviations) {
  scratch.reserve(scan_batch);
  for (std::size_t first = 0; first < slots.size(); first += scan_batch) {
    const std::span<const Slot> batch = slots.subspan(first, std::min(scan_batch, slots.size() - first));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      scratch.rows[i] = graph.codes[batch[i]];
      prefetch_codes(graph.encoding.quantizer, scratch.rows[i]);
    }
    graph.score_rows(graph.encoding.quantizer, scratch.query, scratch.rows.data(), batch.size(), scores + first);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      deviations[first + i] = scratch.query.score_deviation(code_header(scratch.rows[i]));
    }
  }
  scratch.scored += slots.size();
}

}  // namespace

// High recall must not lose rows to quantization errors.
float error_margin_for(double recall) noexcept { return recall > 0.99 ? 4 : 2; }

BeamParams beam_for_epsilon(std::size_t k, float epsilon) noexcept {
  // Calibration measured epsilon with calibrated_k; for a smaller k the same epsilon would stop earlier.
  return {.k = std::max(k, calibrated_k), .epsilon = epsilon, .width = std::max(rerank_count(k), calibrated_k)};
}

BeamParams beam_for_ef(std::size_t k, std::size_t ef) noexcept {
  const std::size_t width = std::max(k, ef);
  return {.k = width, .epsilon = 1, .width = std::max(width, rerank_count(k))};
}

bool search_graph(const SearchParams& params, const float* query, SearchScratch& scratch, std::vector<Hit>& hits) {
  const Graph& graph = params.storage->graph;
  const RowVersions& versions = params.storage->versions;
  const bool finished = params.no_tombstones
                            ? beam_search_below(graph, params.entry_points, params.beam, params.rows, scratch)
                            : beam_search_visible(
                                  graph, params.entry_points, params.beam, params.rows,
                                  [&](Slot slot) { return versions.visible(slot, params.epoch); }, scratch);
  return finished && rerank_best(params, query, scratch, hits);
}

void search_at_epsilons(const SearchParams& params, std::span<const float> epsilons, const float* query,
                        SearchScratch& scratch, std::vector<Hit>& hits,
                        const std::function<void(std::size_t, std::span<const Hit>, std::uint64_t)>& report) {
  const RowVersions& versions = params.storage->versions;
  const std::uint64_t scored_before = scratch.scored;
  std::vector<SearchStop> stops;
  beam_search_at_epsilons(
      params.storage->graph, params.entry_points, params.beam, epsilons,
      [&](Slot slot) { return versions.visible(slot, params.epoch); }, scratch, stops);
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (i == 0 || stops[i].best != stops[i - 1].best) {
      select_candidates(params, stops[i].best, scratch);
      rerank(params, query, scratch, hits);
    }
    report(i, hits, stops[i].scored - scored_before);
  }
}

bool rerank_found(const SearchParams& params, std::span<const std::int32_t> found, const float* query,
                  SearchScratch& scratch, std::vector<Hit>& hits) {
  scratch.unvisited.clear();
  for (const std::int32_t row : found) {
    if (row < 0 || scratch.unvisited.size() == rerank_count(params.k)) break;
    const auto slot = static_cast<Slot>(row);
    if (params.storage->versions.visible(slot, params.epoch)) scratch.unvisited.push_back(slot);
  }
  if (scratch.unvisited.size() < params.k) return false;
  rerank(params, query, scratch, hits);
  return true;
}

bool filtered_search(const SearchParams& params, const IdFilter& filter, const FilterBudget& budget, const float* query,
                     SearchScratch& scratch, std::vector<Hit>& hits) {
  const RowVersions& versions = params.storage->versions;
  const bool finished = filtered_beam_search(
      params.storage->graph, params.entry_points, params.beam, budget,
      [&](Slot slot) { return versions.visible(slot, params.epoch) && filter.allows(versions.id(slot)); }, scratch);
  return finished && rerank_best(params, query, scratch, hits);
}

void brute_force_scan(const SearchParams& params, std::span<const Slot> slots, const float* query,
                      SearchScratch& scratch, std::vector<Hit>& hits) {
  const Graph& graph = params.storage->graph;
  std::vector<float> scores(slots.size());
  std::vector<float> deviations(slots.size());
  score_slots(graph, slots, scratch, scores.data(), deviations.data());
  const RerankLimit limit(graph.encoding.quantizer, scratch.query, params.k, params.error_margin, scores);
  scratch.unvisited.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool candidate =
        limit.allows(scores[i], deviations[i]) && params.storage->versions.visible(slots[i], params.epoch);
    if (candidate) scratch.unvisited.push_back(slots[i]);
  }
  rerank(params, query, scratch, hits);
}

}  // namespace vectis::inline v0_1::graph
