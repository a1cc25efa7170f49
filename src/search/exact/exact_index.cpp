#include "search/exact/exact_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "search/common/checks.hpp"
#include "search/exact/exact_format.hpp"
#include "search/exact/host_search.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t term_bytes = 4 * sizeof(float);  // that go with the codes of a row

std::uint64_t scanned_bytes(const Snapshot& snapshot, std::size_t dim) noexcept {
  if (snapshot.precision == Precision::fp32) return dim * sizeof(float);
  const std::size_t codes = dim * size_of(snapshot.precision);
  return (codes + chunk_bytes - 1) / chunk_bytes * chunk_bytes + term_bytes;
}

bool any_compacted(const Snapshot& snapshot) noexcept {
  return std::ranges::any_of(snapshot.views, [](const SegmentView& view) { return view.originals == nullptr; });
}

}  // namespace

Precision default_precision(Metric metric) noexcept {
  return can_scan(metric, Precision::int8) ? Precision::int8 : Precision::fp32;
}

bool can_scan(Metric metric, Precision precision) noexcept {
  return precision == Precision::fp32 || is_euclidean(metric) || metric == Metric::cosine ||
         metric == Metric::inner_product;
}

ExactIndex::ExactIndex(Runtime& runtime, std::string_view kind, std::unique_ptr<SegmentStore> store, SearchPlace place)
    : Index(runtime, store->dim(), store->metric()), kind_(kind), place_(std::move(place)), store_(std::move(store)) {
  if (place_.searcher) store_->watch([this](const Snapshot& next) { place_.searcher->prepare(next.views); });
}

std::size_t ExactIndex::size() const { return static_cast<std::size_t>(store_->now()->vectors()); }

std::optional<int> ExactIndex::device_for_rows() const {
  return place_.searcher ? place_.searcher->device_for_rows() : std::nullopt;
}

std::uint64_t ExactIndex::do_add(std::span<const float> vectors, const Context& context) {
  return store_->add(vectors, context, device_for_rows());
}

void ExactIndex::do_add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  store_->add(ids, vectors, context, device_for_rows());
}

void ExactIndex::do_upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  store_->upsert(ids, vectors, context, device_for_rows());
}

void ExactIndex::do_update(std::uint64_t id, std::span<const float> vector) { store_->update(id, vector); }

std::size_t ExactIndex::do_remove(std::span<const std::uint64_t> ids, const Context& context) {
  return store_->remove(ids, context);
}

std::optional<std::vector<float>> ExactIndex::get(std::uint64_t id) const {
  const auto snapshot = store_->now();
  const auto place = snapshot->find(id);
  if (!place) return std::nullopt;
  std::vector<float> vector(dim());
  snapshot->views[place->first].read_row(place->second, vector.data());
  return vector;
}

std::vector<std::uint64_t> ExactIndex::ids() const {
  const auto snapshot = store_->now();
  std::vector<std::uint64_t> ids;
  ids.reserve(snapshot->vectors());
  for (const SegmentView& view : snapshot->views) {
    for (std::size_t row = 0; row < view.rows; ++row) {
      if (!view.is_removed(row)) ids.push_back(view.ids[row]);
    }
  }
  return ids;
}

SearchResult ExactIndex::do_search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  const std::uint64_t begin = monotonic_nanoseconds();
  const std::size_t count = queries.size() / dim();
  const auto snapshot = store_->now();
  ExactAnswer answer;
  answer.hits.resize(count);
  k = std::min<std::size_t>(k, static_cast<std::size_t>(snapshot->vectors()));
  if (count > 0 && k > 0) {
    const SearchTask task{.segments = snapshot->views,
                          .dim = dim(),
                          .metric = metric(),
                          .precision = snapshot->precision,
                          .queries = queries,
                          .k = k,
                          .options = &options};
    if (place_.searcher) {
      answer = place_.searcher->search(task);
    } else {
      answer = host_search(runtime().executor(), task);
      answer.explanation.reason = place_.reason;
    }
  } else {
    answer.explanation.device = "cpu";
    answer.explanation.kernel = "none";
    answer.explanation.reason = "k is 0, or the index or the batch is empty";
  }
  answer.explanation.precision = snapshot->precision;
  answer.explanation.seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  searches_.fetch_add(1, std::memory_order_relaxed);
  queries_.fetch_add(count, std::memory_order_relaxed);
  reranked_.fetch_add(answer.explanation.reranked, std::memory_order_relaxed);
  return SearchResult(answer.hits, std::move(answer.explanation));
}

void ExactIndex::do_set_precision(Precision precision, const Context& context) {
  if (!can_scan(metric(), precision)) {
    throw Error(
        ErrorCode::unsupported, "set_precision",
        fmt::format("{} scans fp32 only, not {}; leave the precision at fp32", name(metric()), name(precision)));
  }
  store_->set_precision(precision, context);
}

void ExactIndex::do_compact(const Context& context) { store_->compact(context); }

void ExactIndex::do_drop_full_precision(const Context& context) { store_->drop_full_precision(context); }

void ExactIndex::do_save(ByteWriter& writer, const Context& context) const {
  save_exact(writer, kind_, metric(), dim(), *store_->now(), runtime().executor(), context);
}

bool ExactIndex::compacted() const { return any_compacted(*store_->now()); }

Precision ExactIndex::precision() const { return store_->now()->precision; }

IndexStatistics ExactIndex::statistics() const {
  const auto snapshot = store_->now();
  IndexStatistics statistics;
  statistics.vectors = snapshot->vectors();
  statistics.removed = snapshot->removed();
  statistics.segments = snapshot->views.size();
  statistics.bytes = snapshot->bytes();
  statistics.device_bytes = place_.searcher ? place_.searcher->resident_bytes() : 0;
  if (statistics.vectors > 0) {
    statistics.bytes_per_vector = static_cast<double>(statistics.bytes) / static_cast<double>(statistics.vectors);
  }
  statistics.scanned_bytes_per_vector = scanned_bytes(*snapshot, dim());
  statistics.searches = searches_.load(std::memory_order_relaxed);
  statistics.queries = queries_.load(std::memory_order_relaxed);
  statistics.reranked = reranked_.load(std::memory_order_relaxed);
  return statistics;
}

std::string ExactIndex::describe() const {
  const auto snapshot = store_->now();
  const IndexStatistics now = statistics();
  std::string text = fmt::format(
      "{}: {} vectors of dimension {}, metric {}, in {} segments, {} removed rows not yet reclaimed\n"
      "{:.1f} bytes per vector; a search scans {} codes of {} bytes per vector, {}\n",
      kind_, now.vectors, dim(), name(metric()), now.segments, now.removed, now.bytes_per_vector,
      name(snapshot->precision), now.scanned_bytes_per_vector,
      any_compacted(*snapshot) ? "full precision was dropped" : "full precision is kept");
  if (now.queries > 0) {
    text += fmt::format("{} searches of {} queries so far, {:.1f} rows reranked per query\n", now.searches, now.queries,
                        static_cast<double>(now.reranked) / static_cast<double>(now.queries));
  }
  return text;
}

std::string ExactIndex::do_explain(std::size_t queries, std::size_t k, const SearchOptions& /*options*/) const {
  const auto snapshot = store_->now();
  const SearchTask task{.segments = snapshot->views,
                        .dim = dim(),
                        .metric = metric(),
                        .precision = snapshot->precision,
                        .queries = {},
                        .k = k};
  return describe() + (place_.searcher ? place_.searcher->explain(task, queries)
                                       : explain_host_search(runtime().executor(), task, queries, place_.reason));
}

}  // namespace vectis::inline v0_1::exact
