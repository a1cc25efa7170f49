#include "search/graph/encoded_scan.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "search/exact/host_search.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr int exponent_min = -100;
constexpr int exponent_max = 126;

// The center and scale of the projection serve as those of the codes: any are exact, and these are of all rows.
exact::Quantizer quantizer_of(const Projection& projection) {
  exact::Quantizer quantizer{.metric = projection.metric,
                             .precision = Precision::int8,
                             .dim = projection.dim,
                             .chunks = exact::code_chunks(Precision::int8, projection.dim),
                             .center = std::make_unique<float[]>(projection.dim),
                             .exponent = std::clamp(projection.exponent, exponent_min, exponent_max)};
  for (std::size_t i = 0; i < projection.dim; ++i) {
    const double center = std::ldexp(double{projection.mean[i]}, projection.exponent);
    quantizer.center[i] = std::isfinite(static_cast<float>(center)) ? static_cast<float>(center) : 0.0F;
  }
  return quantizer;
}

}  // namespace

RowSegments::RowSegments(const SearchParams& params)
    : quantizer_(quantizer_of(params.storage->graph.encoding.projection)), ids_(params.rows) {
  for (std::size_t first = 0; first < params.rows;) {
    const std::size_t end = std::min(params.rows, first + RowBlocks::rows_to_block_end(static_cast<Slot>(first)));
    add_block(params, first, end);
    first = end;
  }
}

void RowSegments::add_block(const SearchParams& params, std::size_t first, std::size_t end) {
  constexpr std::size_t word_bits = 64;
  const RowVersions& versions = params.storage->versions;
  exact::SegmentView view;
  view.quantizer = &quantizer_;
  view.rows = end - first;
  view.originals = params.storage->vectors.read(static_cast<Slot>(first), nullptr);
  view.ids = ids_.data() + first;
  for (std::size_t i = first; i < end; ++i) ids_[i] = versions.id(static_cast<Slot>(i));
  if (!params.no_tombstones) {
    auto removed = std::make_shared<std::uint64_t[]>((view.rows + word_bits - 1) / word_bits);
    for (std::size_t i = 0; i < view.rows; ++i) {
      const bool visible = versions.visible(static_cast<Slot>(first + i), params.epoch);
      removed.get()[i / word_bits] |= static_cast<std::uint64_t>(!visible) << (i % word_bits);
    }
    view.removed = std::move(removed);
  }
  views_.push_back(std::move(view));
}

bool can_encode(const GraphStorage& storage) noexcept {
  return storage.vectors.full_precision() && storage.file == nullptr;
}

ExactScanCounts encoded_scan(Executor& executor, const SearchParams& params, std::span<const float> queries,
                             const Context& context, std::span<std::vector<Hit>> hits) {
  const RowSegments segments(params);
  SearchOptions options;
  options.radius = params.radius;
  options.context = context;
  const Projection& projection = params.storage->graph.encoding.projection;
  const exact::SearchTask task{.segments = segments.views(),
                               .dim = projection.dim,
                               .metric = projection.metric,
                               .precision = Precision::int8,
                               .queries = queries,
                               .k = params.k,
                               .options = &options};
  exact::ExactAnswer answer = exact::host_search(executor, task);
  std::ranges::move(answer.hits, hits.begin());
  return {.scored = answer.explanation.rows_scanned, .reranked = answer.explanation.reranked};
}

}  // namespace vectis::inline v0_1::graph
