#include "search/exact/exact_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "search/exact/checks.hpp"
#include "search/exact/exact_format.hpp"
#include "search/exact/results.hpp"
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

Precision default_precision(Metric distance) noexcept {
  return can_scan(distance, Precision::int8) ? Precision::int8 : Precision::fp32;
}

bool can_scan(Metric distance, Precision precision) noexcept {
  return precision == Precision::fp32 || distance == Metric::l2 || distance == Metric::cosine ||
         distance == Metric::inner_product;
}

ExactIndex::ExactIndex(Runtime& runtime, std::string_view kind, std::unique_ptr<Corpus> corpus,
                       std::unique_ptr<Searcher> searcher)
    : runtime_(runtime), kind_(kind), searcher_(std::move(searcher)), corpus_(std::move(corpus)) {
  corpus_->watch([this](const Snapshot& next) { searcher_->prepare(next.views); });
}

std::size_t ExactIndex::size() const { return static_cast<std::size_t>(corpus_->now()->vectors()); }

std::uint64_t ExactIndex::add(std::span<const float> vectors) {
  check_rows("add", runtime_, vectors, dim());
  return corpus_->add(vectors);
}

void ExactIndex::add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  check_ids("add_with_ids", count_rows("add_with_ids", vectors.size(), dim()), ids);
  check_rows("add_with_ids", runtime_, vectors, dim());
  corpus_->add_with_ids(vectors, ids);
}

std::size_t ExactIndex::remove(std::span<const std::uint64_t> ids) {
  runtime_.check_fork("remove");
  return corpus_->remove(ids);
}

void ExactIndex::update(std::uint64_t id, std::span<const float> vector) {
  check_one("update", vector.size(), dim());
  check_rows("update", runtime_, vector, dim());
  corpus_->update(id, vector);
}

void ExactIndex::upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  check_ids("upsert", count_rows("upsert", vectors.size(), dim()), ids);
  check_rows("upsert", runtime_, vectors, dim());
  corpus_->upsert(vectors, ids);
}

std::optional<std::vector<float>> ExactIndex::get(std::uint64_t id) const {
  const auto snapshot = corpus_->now();
  const auto place = snapshot->find(id);
  if (!place) return std::nullopt;
  std::vector<float> vector(dim());
  snapshot->views[place->first].read_row(place->second, vector.data());
  return vector;
}

SearchResult ExactIndex::search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  const std::uint64_t begin = monotonic_nanoseconds();
  const std::size_t count = check_rows("search", runtime_, queries, dim());
  check_radius("search", options.radius);
  options.context.check("search", runtime_.executor());
  const auto snapshot = corpus_->now();
  ExactAnswer answer;
  answer.hits.resize(count);
  k = std::min<std::size_t>(k, static_cast<std::size_t>(snapshot->vectors()));
  if (count > 0 && k > 0) {
    answer = searcher_->search({.segments = snapshot->views,
                                .dim = dim(),
                                .distance = distance(),
                                .precision = snapshot->precision,
                                .queries = queries,
                                .k = k,
                                .options = &options});
  } else {
    answer.explanation.device = "cpu";
    answer.explanation.way = "none";
    answer.explanation.reason = "there was nothing to look for";
  }
  answer.explanation.precision = snapshot->precision;
  answer.explanation.seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  searches_.fetch_add(1, std::memory_order_relaxed);
  queries_.fetch_add(count, std::memory_order_relaxed);
  survivors_.fetch_add(answer.explanation.survivors, std::memory_order_relaxed);
  return joined_result(std::move(answer.hits), std::move(answer.explanation));
}

void ExactIndex::set_precision(Precision precision) {
  runtime_.check_fork("set_precision");
  if (!can_scan(distance(), precision)) {
    throw Error(ErrorCode::unsupported, "set_precision",
                fmt::format("{} scans fp32 only, not {}; leave it at fp32", name(distance()), name(precision)));
  }
  corpus_->set_precision(precision);
}

bool ExactIndex::compacted() const { return any_compacted(*corpus_->now()); }

Precision ExactIndex::precision() const { return corpus_->now()->precision; }

void ExactIndex::compact() {
  runtime_.check_fork("compact");
  corpus_->compact();
}

IndexStatistics ExactIndex::statistics() const {
  const auto snapshot = corpus_->now();
  IndexStatistics statistics;
  statistics.vectors = snapshot->vectors();
  statistics.removed = snapshot->removed();
  statistics.segments = snapshot->views.size();
  statistics.bytes = snapshot->bytes();
  statistics.device_bytes = searcher_->resident_bytes();
  if (statistics.vectors > 0) {
    statistics.bytes_per_vector = static_cast<double>(statistics.bytes) / static_cast<double>(statistics.vectors);
  }
  statistics.scanned_bytes_per_vector = scanned_bytes(*snapshot, dim());
  statistics.searches = searches_.load(std::memory_order_relaxed);
  statistics.queries = queries_.load(std::memory_order_relaxed);
  statistics.survivors = survivors_.load(std::memory_order_relaxed);
  return statistics;
}

std::string ExactIndex::explain(std::size_t queries, std::size_t k) const {
  const auto snapshot = corpus_->now();
  const IndexStatistics now = statistics();
  std::string text = fmt::format(
      "{}: {} vectors of {} numbers, {} distance, in {} segments, {} rows removed\n"
      "{:.1f} bytes per vector; a search scans {} as {} bytes of each, {}\n",
      kind_, now.vectors, dim(), name(distance()), now.segments, now.removed, now.bytes_per_vector,
      name(snapshot->precision), now.scanned_bytes_per_vector,
      any_compacted(*snapshot) ? "which are the truth where the index was compacted" : "and originals are kept");
  if (now.queries > 0) {
    text += fmt::format("{} searches of {} queries so far, {:.1f} survivors for each query\n", now.searches,
                        now.queries, static_cast<double>(now.survivors) / static_cast<double>(now.queries));
  }
  return text + searcher_->explain({.segments = snapshot->views,
                                    .dim = dim(),
                                    .distance = distance(),
                                    .precision = snapshot->precision,
                                    .queries = {},
                                    .k = k},
                                   queries);
}

void ExactIndex::save(ByteWriter& writer) const {
  runtime_.check_fork("save");
  save_exact(writer, kind_, distance(), dim(), *corpus_->now());
}

}  // namespace vectis::inline v0_1::exact
