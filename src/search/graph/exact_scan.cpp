#include "search/graph/exact_scan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "search/common/exact_distances.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Rows whose codes are compared at once: few at first, so that the first limits come early.
constexpr std::size_t first_scanned_batch = 32;
constexpr std::size_t scanned_batch = 256;
constexpr double float_rounding = 0x1p-24;
// Bound of the rounding errors of a score, relative to its largest terms: about ten operations of 2^-24 each.
constexpr float score_rounding = 0x1p-20F;
// Rows and queries with larger squared norms may have been shortened by the projection, which changes their distances.
constexpr float unclamped_square_max = 0x1p38F;

constexpr double infinity = std::numeric_limits<double>::infinity();

// What the bounds need to know about the rows of a batch.
struct RowBatch {
  std::array<float, scanned_batch> step;    // of the codes, and the rounding of the terms that it multiplies
  std::array<float, scanned_batch> norm;    // at least that of the decoded row
  std::array<float, scanned_batch> square;  // of the norm before quantization

  void read(const Quantizer& quantizer, std::span<const std::byte* const> rows) {
    const auto levels = static_cast<float>((1U << quantizer.bits) - 1);
    const float half_diagonal = 0.5F * std::sqrt(static_cast<float>(quantizer.dim)) * (1 + score_rounding);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CodeHeader header = code_header(rows[i]);
      const float span = levels * header.scale + std::abs(header.min);
      step[i] = header.scale + 2 * score_rounding * span;
      norm[i] = std::sqrt(header.squared_norm) * (1 + score_rounding) + half_diagonal * header.scale;
      square[i] = header.squared_norm;
    }
  }
};

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

// One query: its codes, the bounds of the errors of its scores, and the nearest rows so far.
class QueryScan {
 public:
  QueryScan(const SearchParams& params, const ExactQuery& query, std::vector<Hit>& hits)
      : params_(params),
        vector_(query.vector, params.storage->graph.encoding.projection.dim),
        excluded_(query.excluded),
        codes_(params.storage->graph.encoding.quantizer),
        nearest_(hits, params.k, params.radius) {
    const Encoding& encoding = params.storage->graph.encoding;
    codes_.set_vector(encoding, query.vector);
    sizes_ = query_sizes(encoding.projection, query.vector);
    norm_sum_ = codes_.coordinates_sum() * (1 + score_rounding);
    error_ = 2 * codes_.error() * (1 + score_rounding) + 4 * score_rounding * codes_.coordinates_norm();
    update_limit();
  }

  // Scores a batch of rows and compares those that may be among the nearest by their vectors.
  void scan(std::span<const Slot> slots, const std::byte* const* rows, const RowBatch& terms) {
    const Graph& graph = params_.storage->graph;
    std::array<float, scanned_batch> scores;
    graph.score_rows(graph.encoding.quantizer, codes_, rows, slots.size(), scores.data());
    std::array<Slot, scanned_batch> candidates;
    std::size_t count = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const float lower =
          scores[i] - norm_sum_ * terms.step[i] - error_ * terms.norm[i] - score_rounding * terms.square[i];
      candidates[count] = slots[i];
      // Also when the bound is NaN.
      count += static_cast<std::size_t>(!(lower > score_limit_) || terms.square[i] >= unclamped_square_max);
    }
    scored_ += slots.size();
    rerank(std::span(candidates).first(count));
  }

  void finish() { nearest_.sort(); }
  [[nodiscard]] std::uint64_t scored() const noexcept { return scored_; }
  [[nodiscard]] std::uint64_t reranked() const noexcept { return reranked_; }

 private:
  void rerank(std::span<Slot> candidates) {
    const RowVersions& versions = params_.storage->versions;
    const VectorRows& vectors = params_.storage->vectors;
    const auto removed = std::remove_if(candidates.begin(), candidates.end(), [&](Slot slot) {
      return slot == excluded_ || !versions.visible(slot, params_.epoch);
    });
    candidates = candidates.first(static_cast<std::size_t>(removed - candidates.begin()));
    if (candidates.empty()) return;
    for (const Slot slot : candidates) vectors.prefetch(slot);
    constexpr std::size_t together = detail::exact_distances_batch;
    if (!vectors.full_precision()) decoded_.resize(together * vector_.size());
    for (std::size_t first = 0; first < candidates.size(); first += together) {
      const std::size_t count = std::min(together, candidates.size() - first);
      std::array<const float*, together> rows;
      for (std::size_t i = 0; i < count; ++i) {
        rows[i] = vectors.read(candidates[first + i], decoded_.data() + (decoded_.empty() ? 0 : i * vector_.size()));
      }
      std::array<double, together> distances;
      detail::exact_distances(metric(), vector_, std::span(rows).first(count), distances.data());
      for (std::size_t i = 0; i < count; ++i) nearest_.push(versions.id(candidates[first + i]), distances[i]);
    }
    reranked_ += candidates.size();
    update_limit();
  }

  [[nodiscard]] Metric metric() const noexcept { return params_.storage->graph.encoding.projection.metric; }

  // Sets the score that no row within the present limit of distances exceeds, apart from the error of its codes.
  void update_limit() {
    const Projection& projection = params_.storage->graph.encoding.projection;
    const double limit = nearest_.limit();
    double score = infinity;
    if (limit < infinity && sizes_.exact) {
      score = metric() == Metric::inner_product ? product_limit(projection, limit) : square_limit(projection, limit);
    }
    score += double{std::numeric_limits<float>::min()};  // smaller numbers lose precision
    score_limit_ = score < double{std::numeric_limits<float>::max()}
                       ? std::nextafter(static_cast<float>(score), std::numeric_limits<float>::infinity())
                       : std::numeric_limits<float>::infinity();
  }

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
  QuantizedQuery codes_;
  QuerySizes sizes_;
  NearestHits nearest_;
  float norm_sum_ = 0;  // of absolute coordinates: what a step of a row's codes can change in twice the product
  float error_ = 0;     // what a unit of a row's norm can change in twice the product
  float score_limit_ = std::numeric_limits<float>::infinity();
  std::vector<float> decoded_;
  std::uint64_t scored_ = 0;
  std::uint64_t reranked_ = 0;
};

}  // namespace

ExactScanCounts exact_scan(const SearchParams& params, std::span<const Slot> slots, std::span<const ExactQuery> queries,
                           std::span<std::vector<Hit>> hits) {
  const Graph& graph = params.storage->graph;
  std::vector<QueryScan> scans;
  scans.reserve(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) scans.emplace_back(params, queries[i], hits[i]);
  RowBatch terms;
  std::array<const std::byte*, scanned_batch> rows;
  std::size_t batch = first_scanned_batch;
  for (std::size_t first = 0; first < slots.size(); first += batch, batch = std::min(scanned_batch, 2 * batch)) {
    const std::span<const Slot> some = slots.subspan(first, std::min(batch, slots.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) {
      rows[i] = graph.codes[some[i]];
      prefetch_codes(graph.encoding.quantizer, rows[i]);
    }
    terms.read(graph.encoding.quantizer, std::span(rows).first(some.size()));
    for (QueryScan& scan : scans) scan.scan(some, rows.data(), terms);
  }
  ExactScanCounts counts;
  for (QueryScan& scan : scans) {
    scan.finish();
    counts.scored += scan.scored();
    counts.reranked += scan.reranked();
  }
  return counts;
}

}  // namespace vectis::inline v0_1::graph
