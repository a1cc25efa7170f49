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

// Twice the largest rounding error of float_distances, for values of about `distance` or nearer.
double rounding_margin(const Projection& projection, std::span<const float> query, float scale, double distance) {
  const double rounding = 2 * sum_rounding(projection.dim);
  if (projection.metric == Metric::cosine) return rounding;
  if (projection.metric != Metric::inner_product) return rounding * distance;
  const double norm = std::sqrt(squared_norm(query.data(), query.size())) * double{scale};
  return rounding * norm * double{projection.max_norm};
}

// Moves the k nearest of scratch.unvisited and scratch.vectors to the front, by single-precision distances, and all
// that may be as near. Returns their number.
std::size_t select_nearest(const GraphStorage& storage, const float* query, std::size_t k, SearchScratch& scratch) {
  struct Reranked {
    double distance = 0;
    Slot slot = 0;
    const float* vector = nullptr;
  };
  const std::size_t count = scratch.unvisited.size();
  if (count <= k) return count;
  scratch.reserve(count);
  const Projection& projection = storage.graph.encoding.projection;
  const float scale = float_scale(projection);
  float_distances(projection.metric, query, scratch.vectors.data(), count, projection.dim, scale,
                  scratch.scores.data());
  std::vector<Reranked> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Slot slot = scratch.unvisited[i];
    const double distance =
        rerank_distance(projection.metric, {query, projection.dim}, scratch.vectors[i], scale, scratch.scores[i]);
    rows[i] = {distance, slot, scratch.vectors[i]};
  }
  const auto nearest = rows.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::ranges::nth_element(rows, nearest, {}, &Reranked::distance);
  const double distance = nearest->distance;
  const double limit = distance + rounding_margin(projection, {query, projection.dim}, scale, distance);
  std::size_t kept = 0;
  for (const Reranked& row : rows) {
    if (row.distance > limit) continue;
    scratch.unvisited[kept] = row.slot;
    scratch.vectors[kept++] = row.vector;
  }
  return kept;
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
  if (hits.size() > params.k) hits.resize(params.k);
}

// Moves the best visible neighbors to scratch.unvisited, as many as are reranked.
void select_candidates(const SearchParams& params, std::span<const Neighbor> best, SearchScratch& scratch) {
  scratch.unvisited.clear();
  for (const Neighbor& neighbor : best) {
    if (params.storage->versions.visible(neighbor.slot(), params.epoch)) scratch.unvisited.push_back(neighbor.slot());
    if (scratch.unvisited.size() == params.reranked) break;
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

}  // namespace

BeamParams beam_for(const SearchReach& reach, std::size_t k) noexcept {
  // Calibration measured epsilon with calibrated_k; for a smaller k the same epsilon would stop earlier.
  const std::size_t best = std::max(k, calibrated_k);
  const std::size_t width = std::max(best * reach.reranked / calibrated_k, ef_of(best, reach.epsilon));
  return {.k = best, .epsilon = reach.epsilon, .width = width, .widens = true};
}

BeamParams beam_for_ef(std::size_t k, std::size_t ef) noexcept {
  const std::size_t width = std::max(k, ef);
  return {.k = width, .epsilon = 1, .width = std::max(width, reranked_for_ef(k, ef))};
}

bool search_graph(const SearchParams& params, const float* query, SearchScratch& scratch, std::vector<Hit>& hits) {
  const Graph& graph = params.storage->graph;
  const RowVersions& versions = params.storage->versions;
  const bool finished = params.no_tombstones
                            ? beam_search_below(graph, params.entry_points, params.beam, params.rows, scratch)
                            : beam_search_visible(
                                  graph, params.entry_points, params.beam,
                                  [&](Slot slot) { return versions.visible(slot, params.epoch); }, scratch);
  return finished && rerank_best(params, query, scratch, hits);
}

bool rerank_found(const SearchParams& params, std::span<const std::int32_t> found, const float* query,
                  SearchScratch& scratch, std::vector<Hit>& hits) {
  scratch.unvisited.clear();
  for (const std::int32_t row : found) {
    if (row < 0 || scratch.unvisited.size() == params.reranked) break;
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

}  // namespace vectis::inline v0_1::graph
