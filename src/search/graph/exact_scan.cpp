#include "search/graph/exact_scan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "search/common/exact_distances.hpp"
#include "search/graph/float_kernels.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t first_scanned_batch = 32;  // rows: few at first, so that the first limits come early
constexpr double float_rounding = 0x1p-24;
constexpr std::size_t compared_together = 32;  // rows whose vectors are compared in single precision at once
constexpr double infinity = std::numeric_limits<double>::infinity();

// The k nearest rows so far, as a max-heap by distance, then id.
class NearestHits {
 public:
  NearestHits(std::vector<Hit>& hits, std::size_t k, std::optional<double> radius)
      : hits_(hits), k_(k), radius_(radius.value_or(infinity)) {
    hits_.clear();
  }
  // The distance that a row must not exceed to be among the nearest.
  [[nodiscard]] double limit() const { return hits_.size() < k_ ? radius_ : hits_.front().distance; }
  void push(std::uint64_t id, double distance) {
    const Hit hit{id, distance};
    if (!(distance <= radius_)) return;
    if (hits_.size() == k_) {
      if (!nearer(hit, hits_.front())) return;
      std::pop_heap(hits_.begin(), hits_.end(), nearer);
      hits_.pop_back();
    }
    hits_.push_back(hit);
    std::push_heap(hits_.begin(), hits_.end(), nearer);
  }
  void sort() { std::sort_heap(hits_.begin(), hits_.end(), nearer); }

 private:
  static bool nearer(const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  }
  std::vector<Hit>& hits_;
  std::size_t k_;
  double radius_;
};

// One query: the rows of the present batch that may be among the nearest, and the nearest rows so far.
class QueryScan {
 public:
  QueryScan(const SearchParams& params, const ExactQuery& query, const QuantizedQuery& codes, std::vector<Hit>& hits)
      : params_(params),
        vector_(query.vector, params.storage->graph.encoding.projection.dim),
        excluded_(query.excluded),
        codes_(codes),
        sizes_(query_sizes(params.storage->graph.encoding.projection, query.vector)),
        scale_(float_scale(params.storage->graph.encoding.projection)),
        query_norm_(std::sqrt(squared_norm(query.vector, vector_.size()))),
        nearest_(hits, params.k, params.radius) {}

  void add_candidate(Slot slot) { candidates_.push_back(slot); }
  // Compares the candidates by their vectors, none of which is longer than `norm`. Returns whether there were any.
  bool rerank(float norm) {
    const RowVersions& versions = params_.storage->versions;
    const VectorRows& vectors = params_.storage->vectors;
    std::erase_if(candidates_, [&](Slot slot) { return slot == excluded_ || !versions.visible(slot, params_.epoch); });
    if (candidates_.empty()) return false;
    for (const Slot slot : candidates_) vectors.prefetch(slot);
    if (!vectors.full_precision()) decoded_.resize(compared_together * vector_.size());
    for (std::size_t first = 0; first < candidates_.size(); first += compared_together) {
      const std::span<Slot> slots =
          std::span(candidates_).subspan(first, std::min(compared_together, candidates_.size() - first));
      std::array<const float*, compared_together> rows;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        rows[i] = vectors.read(slots[i], decoded_.data() + (decoded_.empty() ? 0 : i * vector_.size()));
      }
      compare(slots, rows, norm);
    }
    reranked_ += candidates_.size();
    candidates_.clear();
    return true;
  }

  // Returns the score that no row within the present limit of distances exceeds, apart from the error of its codes.
  [[nodiscard]] float score_limit() const {
    const Projection& projection = params_.storage->graph.encoding.projection;
    const double limit = nearest_.limit();
    double score = infinity;
    if (limit < infinity && sizes_.exact) {
      score = metric() == Metric::inner_product ? product_limit(projection, limit) : square_limit(projection, limit);
    }
    score += double{std::numeric_limits<float>::min()};  // smaller numbers lose precision
    return score < double{std::numeric_limits<float>::max()}
               ? std::nextafter(static_cast<float>(score), std::numeric_limits<float>::infinity())
               : std::numeric_limits<float>::infinity();
  }

  // Returns whether no row of at most this length has a product large enough to be among the nearest.
  [[nodiscard]] bool ends_before(float norm) const {
    constexpr double rounding = 1 + 1e-9;
    return -nearest_.limit() > query_norm_ * double{norm} * rounding;
  }

  void finish() { nearest_.sort(); }
  [[nodiscard]] std::uint64_t reranked() const noexcept { return reranked_; }

 private:
  // Compares rows by their vectors: in single precision, and those that may be among the nearest in double precision.
  void compare(std::span<Slot> slots, std::array<const float*, compared_together>& rows, float norm) {
    std::size_t count = slots.size();
    if (nearest_.limit() < infinity) {
      std::array<float, compared_together> distances;
      float_distances(metric(), vector_.data(), rows.data(), count, vector_.size(), scale_, distances.data());
      count = 0;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        slots[count] = slots[i];
        rows[count] = rows[i];
        count += static_cast<std::size_t>(!beyond_limit(double{distances[i]}, norm));
      }
    }
    constexpr std::size_t together = detail::exact_distances_batch;
    for (std::size_t first = 0; first < count; first += together) {
      const std::size_t some = std::min(together, count - first);
      std::array<double, together> distances;
      detail::exact_distances(metric(), vector_, std::span(rows).subspan(first, some), distances.data());
      for (std::size_t i = 0; i < some; ++i) {
        nearest_.push(params_.storage->versions.id(slots[first + i]), distances[i]);
      }
    }
  }

  // Whether a row of at most this length with this value of float_distances at scale_ is certainly farther than the
  // limit.
  [[nodiscard]] bool beyond_limit(double distance, float norm) const {
    const double rounding = sum_rounding(vector_.size());
    const double limit = nearest_.limit();
    if (metric() == Metric::cosine) return 1 + distance - rounding > limit;
    if (metric() == Metric::inner_product) return product_beyond_limit(distance, norm);
    if (!(distance > 1e-30 && distance < 1e30)) return false;  // floats may have vanished or overflowed
    const auto scale = double{scale_};
    const double square = metric() == Metric::l2 ? limit * scale * (limit * scale) : limit * scale * scale;
    return distance * (1 - rounding) > square;
  }

  [[nodiscard]] bool product_beyond_limit(double distance, float norm) const {
    const auto scale = double{scale_};
    const double query_size = query_norm_ * scale;
    const double row_size = double{norm} * scale;
    if (!(query_size * row_size < 1e30)) return false;
    const auto dim = static_cast<double>(vector_.size());
    // Coordinates and products below the normal floats may vanish.
    const double vanished = dim * double{std::numeric_limits<float>::min()} * (1 + query_size + row_size);
    return distance - sum_rounding(vector_.size()) * query_size * row_size - vanished >
           nearest_.limit() * scale * scale;
  }

  [[nodiscard]] Metric metric() const noexcept { return params_.storage->graph.encoding.projection.metric; }

  // A row within `limit` has coordinates of at most the query's norm plus the limit, which bounds their rounding
  // errors.
  [[nodiscard]] double square_limit(const Projection& projection, double limit) const {
    const double distance = metric() == Metric::cosine       ? std::sqrt(2 * std::max(0.0, limit))
                            : metric() == Metric::l2_squared ? std::ldexp(std::sqrt(limit), -projection.exponent)
                                                             : std::ldexp(limit, -projection.exponent);
    const double rounding = projection_rounding(projection);
    const double reach = (1 + rounding) * distance + rounding * (2 * sizes_.centered_norm + distance + 2 * sizes_.unit);
    const auto square = double{codes_.squared_norm()};
    return reach * reach - square + double{score_rounding} * (square + reach * reach);
  }

  // Scores are minus twice the product of the scaled query and a centered row.
  [[nodiscard]] double product_limit(const Projection& projection, double limit) const {
    const double scaled = std::ldexp(limit * sizes_.scale, -projection.exponent);
    const double largest =
        std::abs(scaled) + std::abs(sizes_.mean_product) + double{codes_.coordinates_norm()} * (1 + sizes_.mean_norm);
    return 2 * (scaled + sizes_.mean_product) + 4 * double{score_rounding} * largest;
  }

  // Of a coordinate: the rounding of the input, and of the sum over the basis.
  static double projection_rounding(const Projection& projection) {
    const double sum = projection.basis.empty() ? 2
                                                : static_cast<double>(projection.augmented_dim + 4) *
                                                      std::sqrt(static_cast<double>(projection.output_dim));
    return sum * float_rounding * 2;
  }

  const SearchParams& params_;
  std::span<const float> vector_;
  Slot excluded_;
  const QuantizedQuery& codes_;
  QuerySizes sizes_;
  float scale_;
  double query_norm_;
  NearestHits nearest_;
  std::vector<Slot> candidates_;
  std::vector<float> decoded_;
  std::uint64_t reranked_ = 0;
};

// Sets the addresses of the codes of rows.count rows. Prefetches rows that do not follow each other in memory; the CPU
// itself prefetches others.
void collect_codes(const Graph& graph, const ScannedSlots& slots, std::size_t first, ScannedRows& rows) {
  const Quantizer& quantizer = graph.encoding.quantizer;
  const std::byte* const begin = graph.codes[slots[first]];
  const std::byte* const last = graph.codes[slots[first + rows.count - 1]];
  if (slots.is_consecutive(first + rows.count - 1) && last == begin + (rows.count - 1) * quantizer.row_bytes) {
    const std::size_t count = rows.count;
    const std::size_t row_bytes = quantizer.row_bytes;
    for (std::size_t i = 0; i < count; ++i) rows.codes[i] = begin + i * row_bytes;
    return;
  }
  for (std::size_t i = 0; i < rows.count; ++i) {
    rows.codes[i] = graph.codes[slots[first + i]];
    prefetch_codes(quantizer, rows.codes[i]);
  }
}

// Adds each of `count` rows from place `first` on to the candidates of the queries that it passes for. Hardly any pass,
// so that most rows are skipped by groups.
void add_candidates(const ScannedSlots& slots, std::size_t first, std::size_t count,
                    std::array<std::uint64_t, scanned_batch>& passing, std::span<QueryScan> scans) {
  for (std::size_t group = 0; group < count; group += scanned_group) {
    for (std::size_t i = count; i < group + scanned_group; ++i) passing[i] = 0;
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < scanned_group; ++i) any |= passing[group + i];
    if (any == 0) continue;
    for (std::size_t i = group; i < group + scanned_group; ++i) {
      for (std::uint64_t left = passing[i]; left != 0; left &= left - 1) {
        scans[static_cast<std::size_t>(std::countr_zero(left))].add_candidate(slots[first + i]);
      }
    }
  }
}

// A length that no row from place `first` on exceeds; infinity when none is known.
float norm_from(const ScannedSlots& slots, std::size_t first) {
  if (!slots.is_sorted(first)) return std::numeric_limits<float>::infinity();
  return slots.sorted->norms[(first - slots.unsorted) / norm_group];
}

// Ends the scans of queries that no row from place `first` on can answer. Returns whether others are left.
bool any_left(const ScannedSlots& slots, std::size_t first, std::span<const QueryScan> scans, ScannedQueries& scanned) {
  const float norm = norm_from(slots, first);
  if (norm == std::numeric_limits<float>::infinity()) return true;
  bool left = false;
  for (std::size_t i = 0; i < scans.size(); ++i) {
    if (scans[i].ends_before(norm)) {
      scanned.limit[i] = -std::numeric_limits<float>::infinity();
    } else {
      left = true;
    }
  }
  return left;
}

}  // namespace

RowQueries queries_of(const GraphStorage& storage, std::span<const Slot> rows) {
  const std::size_t dim = storage.graph.encoding.projection.dim;
  RowQueries result{.vectors = std::vector<float>(rows.size() * dim), .queries = {}};
  result.queries.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float* const vector = result.vectors.data() + i * dim;
    storage.read_vector(rows[i], vector);
    result.queries.push_back({vector, rows[i]});
  }
  return result;
}

ScannedSlots rows_by_norm(const SearchParams& params) noexcept {
  const NormOrder& order = *params.norm_order;
  const std::size_t later = params.rows - order.slots_end;
  const std::size_t unsorted = later + order.reused.size();
  return {.count = unsorted + order.sorted->slots.size(),
          .listed = order.reused.data(),
          .consecutive = later,
          .first = order.slots_end,
          .sorted = order.sorted.get(),
          .unsorted = unsorted};
}

ExactScanCounts exact_scan(const SearchParams& params, const ScannedSlots& slots, std::span<const ExactQuery> queries,
                           std::span<std::vector<Hit>> hits) {
  const Graph& graph = params.storage->graph;
  const Quantizer& quantizer = graph.encoding.quantizer;
  ScannedQueries scanned(quantizer, queries.size());
  std::vector<QueryScan> scans;
  scans.reserve(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    scanned.set_vector(i, graph.encoding, queries[i].vector);
    scans.emplace_back(params, queries[i], scanned.codes(i), hits[i]);
    scanned.limit[i] = scans[i].score_limit();
  }
  const FilterRows filter_rows = prepare_filter(quantizer, scanned);
  ScannedRows rows;
  std::array<std::uint64_t, scanned_batch> passing;
  std::size_t batch = first_scanned_batch;
  std::size_t first = 0;
  for (; first < slots.count && any_left(slots, first, scans, scanned);
       first += batch, batch = std::min(scanned_batch, 2 * batch)) {
    rows.count = std::min(batch, slots.count - first);
    collect_codes(graph, slots, first, rows);
    filter_rows(quantizer, scanned, rows, graph.score_rows, passing.data());
    add_candidates(slots, first, rows.count, passing, scans);
    const float norm = norm_from(slots, first);
    for (std::size_t i = 0; i < scans.size(); ++i) {
      if (scans[i].rerank(norm)) scanned.limit[i] = scans[i].score_limit();
    }
  }
  ExactScanCounts counts{.scored = queries.size() * std::min(first, slots.count)};
  for (QueryScan& scan : scans) {
    scan.finish();
    counts.reranked += scan.reranked();
  }
  return counts;
}

}  // namespace vectis::inline v0_1::graph
