#include "search/graph/graph_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "search/common/checks.hpp"
#include "search/exact/exact_index.hpp"
#include "search/graph/encoded_scan.hpp"
#include "search/graph/exact_scan.hpp"
#include "search/graph/format.hpp"
#include "search/graph/search_plan.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Above this selectivity, scan the rows and test their ids; below it, look the ids up.
constexpr double scan_selectivity_min = 0.25;
// Queries are projected in batches of 8, so that the PCA basis is read once per batch.
constexpr std::size_t projected_batch = 8;

constexpr std::size_t device_queries_max = 8192;  // per launch of a device

// Queries that one thread scans for together, although others may be idle.
constexpr std::size_t scanned_together_min = 16;

// Calls that insert at least this many rows are logged.
constexpr std::size_t logged_rows_min = 10'000;

void validate_range(std::string_view op, std::string_view name, double value, double min, double max) {
  if (value >= min && value <= max) return;
  throw Error(ErrorCode::invalid_input, op, fmt::format("{} of {}, it must be from {} to {}", name, value, min, max));
}

// The share of the nearest rows that a search found, whichever of equally near rows they are.
double share_found(std::span<const Hit> found, std::span<const Hit> nearest) {
  if (nearest.empty()) return 1;
  const double limit = nearest.back().distance;
  const auto hits = std::ranges::count_if(found, [&](const Hit& hit) { return hit.distance <= limit; });
  return std::min(1.0, static_cast<double>(hits) / static_cast<double>(nearest.size()));
}

// Logs start and end of a call that inserts many rows.
class InsertLog {
 public:
  InsertLog(const Runtime& runtime, std::string_view op, std::size_t rows)
      : runtime_(runtime), op_(op), rows_(rows), begin_(monotonic_nanoseconds()) {
    if (rows_ >= logged_rows_min) {
      runtime_.logger().log(LogLevel::info, "search",
                            fmt::format("[{}] linking {} vectors into the graph", op_, rows_));
    }
  }
  void finish() const {
    if (rows_ < logged_rows_min) return;
    const double seconds = static_cast<double>(monotonic_nanoseconds() - begin_) * 1e-9;
    runtime_.logger().log(LogLevel::info, "search",
                          fmt::format("[{}] linked {} vectors in {:.3g} s", op_, rows_, seconds));
  }

 private:
  const Runtime& runtime_;
  std::string_view op_;
  std::size_t rows_;
  std::uint64_t begin_;
};

}  // namespace

void validate_graph(std::string_view op, Metric metric, const GraphParams& params) {
  if (!exact::can_scan(metric, Precision::int8)) {
    throw Error(
        ErrorCode::unsupported, op,
        fmt::format("a graph supports l2, l2_squared, cosine and inner_product, not {}; use 'flat'", name(metric)));
  }
  const auto degree = static_cast<double>(params.degree);
  const auto pruned_degree = static_cast<double>(params.pruned_degree);
  validate_range(op, "a degree", degree, 4, AdjacencyLists::degree_max);
  validate_range(op, "a pruned degree", pruned_degree, 2, degree);
  validate_range(op, "an ef_construction", static_cast<double>(params.ef_construction), pruned_degree, 4096);
  validate_range(op, "an alpha", params.alpha, 1, 4);
  validate_range(op, "a construction epsilon", params.construction_epsilon, 1, 4);
}

// Some of the queries of a search, and what scans found for them.
struct GraphIndex::CheckedQueries {
  std::vector<std::size_t> places;  // among the queries
  std::vector<float> vectors;
  std::vector<std::vector<Hit>> nearest;
};

// Borrows a SearchScratch from the index, and adds its counters to those of the plan when it ends.
class GraphIndex::ScratchLease {
 public:
  ScratchLease(const GraphIndex& index, const SearchPlan& plan) : index_(index), plan_(plan) {
    const Graph& graph = plan.params.storage->graph;
    {
      const std::lock_guard lock(index_.scratch_mutex_);
      if (!index_.idle_scratch_.empty()) {
        scratch_ = std::move(index_.idle_scratch_.back());
        index_.idle_scratch_.pop_back();
      }
    }
    // The encoding may have been retrained since the scratch was made.
    if (!scratch_ || !scratch_->query.fits(graph.encoding.quantizer)) scratch_ = std::make_unique<SearchScratch>(graph);
    scratch_->scored = 0;
    scratch_->reranked = 0;
  }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  ~ScratchLease() {
    plan_.scored.fetch_add(scratch_->scored, std::memory_order_relaxed);
    plan_.reranked.fetch_add(scratch_->reranked, std::memory_order_relaxed);
    const std::lock_guard lock(index_.scratch_mutex_);
    if (index_.idle_scratch_.size() < index_.idle_scratch_.capacity()) {
      index_.idle_scratch_.push_back(std::move(scratch_));
    }
  }
  [[nodiscard]] SearchScratch& scratch() const noexcept { return *scratch_; }

 private:
  const GraphIndex& index_;
  const SearchPlan& plan_;
  std::unique_ptr<SearchScratch> scratch_;
};

GraphIndex::GraphIndex(Runtime& runtime, std::unique_ptr<GraphStore> store, const std::optional<Device>& device,
                       std::string reason, double recall)
    : Index(runtime, store->dim(), store->metric(), recall),
      store_(std::move(store)),
      device_reason_(std::move(reason)) {
  idle_scratch_.reserve(64);
  if (!device) return;
  device_ = std::make_unique<DeviceGraphSearcher>(runtime, *device);
  store_->set_link_rows([&runtime, target = *device](GraphStorage& storage, std::size_t rows,
                                                     std::span<const Slot> entry_points, std::span<const Slot> slots,
                                                     std::size_t linked_rows, const LinkProgress& progress) {
    if (worth_device_build(slots.size(), linked_rows)) {
      link_rows_on_device(runtime, target, storage, rows, entry_points, slots, linked_rows, progress);
    } else {
      (void)link_rows(runtime.executor(), storage.graph, entry_points, slots, linked_rows, progress);
    }
  });
}

GraphIndex::~GraphIndex() = default;

std::uint64_t GraphIndex::do_add(std::span<const float> vectors, const Context& context) {
  const InsertLog log(runtime(), "add", vectors.size() / dim());
  const std::uint64_t first = store_->add(vectors, context);
  log.finish();
  return first;
}

void GraphIndex::do_add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  const InsertLog log(runtime(), "add", ids.size());
  store_->add(ids, vectors, context);
  log.finish();
}

std::size_t GraphIndex::do_remove(std::span<const std::uint64_t> ids, const Context& context) {
  return store_->remove(ids, context);
}

void GraphIndex::do_update(std::uint64_t id, std::span<const float> vector) { store_->update(id, vector); }

void GraphIndex::do_upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  const InsertLog log(runtime(), "upsert", ids.size());
  store_->upsert(ids, vectors, context);
  log.finish();
}

std::optional<std::vector<float>> GraphIndex::get(std::uint64_t id) const { return store_->get(id); }

std::vector<std::uint64_t> GraphIndex::ids() const {
  const auto now = store_->now();
  std::vector<std::uint64_t> ids;
  if (!now->storage) return ids;
  ids.reserve(now->live);
  const RowVersions& versions = now->storage->versions;
  for (const Slot slot : versions.visible_rows(now->rows, now->number)) ids.push_back(versions.id(slot));
  return ids;
}

std::optional<double> GraphIndex::query_seconds(std::size_t queries, std::size_t k,
                                                const SearchOptions& options) const {
  SearchPlan plan;
  make_plan(queries, k, options, plan);
  if (plan.params.k == 0) return std::nullopt;
  if (!plan.exact) return plan.beam_seconds;
  if (plan.filter != nullptr || plan.params.norm_order == nullptr) return std::nullopt;
  return plan.costs.scan_seconds(plan.epoch->live, queries);
}

ScannedSlots GraphIndex::allowed_rows(const SearchPlan& plan) const {
  if (plan.filter == nullptr && plan.params.norm_order != nullptr) return rows_by_norm(plan.params);
  if (plan.filter == nullptr && plan.params.no_tombstones) return {.count = plan.epoch->rows};
  std::call_once(plan.rows_collected, [&] {
    if (plan.filter != nullptr && plan.budget.selectivity < scan_selectivity_min) {
      // Empty when ids were added, replaced or removed since the search began.
      if (auto rows = store_->rows_of(*plan.filter, *plan.epoch)) {
        plan.rows = std::move(*rows);
        return;
      }
    }
    const RowVersions& versions = plan.params.storage->versions;
    plan.rows.resize(plan.epoch->rows);
    std::size_t count = 0;
    for (Slot slot = 0; slot < plan.epoch->rows; ++slot) {
      // Slots of other rows may be reused right now, and a predicate may know only ids that are there.
      if (!versions.visible(slot, plan.params.epoch)) continue;
      plan.rows[count] = slot;  // no branch: whether a row is allowed is unpredictable
      count += static_cast<std::size_t>(plan.filter == nullptr || plan.filter->allows(versions.id(slot)));
    }
    plan.rows.resize(count);
  });
  return {.count = plan.rows.size(), .listed = plan.rows.data()};
}

void GraphIndex::scan_block(const SearchPlan& plan, std::span<const float> queries,
                            std::span<std::vector<Hit>> found) const {
  std::vector<ExactQuery> scanned(found.size());
  for (std::size_t i = 0; i < scanned.size(); ++i) scanned[i].vector = queries.data() + i * dim();
  plan.count(exact_scan(plan.params, allowed_rows(plan), scanned, found));
}

void GraphIndex::scan_exactly(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                              std::span<std::vector<Hit>> found) const {
  if (plan.costs.encodes(found.size())) {
    plan.count(encoded_scan(runtime().executor(), plan.params, queries, options.context, found));
    return;
  }
  const std::size_t threads = runtime().executor().concurrency();
  const std::size_t together =
      std::clamp((found.size() + threads - 1) / threads, scanned_together_min, exact_scan_queries);
  const std::size_t blocks = (found.size() + together - 1) / together;
  runtime().executor().parallel_for(blocks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      options.context.check("search", runtime().executor());
      const std::size_t first = block * together;
      const std::size_t count = std::min(together, found.size() - first);
      scan_block(plan, queries.subspan(first * dim(), count * dim()), found.subspan(first, count));
    }
  });
}

void GraphIndex::search_on_host(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                                std::span<std::vector<Hit>> found) const {
  if (plan.exact) return scan_exactly(plan, queries, options, found);
  const Graph& graph = plan.params.storage->graph;
  std::vector<std::uint8_t> answered(found.size());
  runtime().executor().parallel_for(found.size(), 1, [&](std::size_t first, std::size_t end) {
    const std::size_t projected_dim = graph.encoding.projection.output_dim;
    const ScratchLease lease(*this, plan);
    SearchScratch& scratch = lease.scratch();
    scratch.projected.resize(projected_batch * projected_dim);
    for (std::size_t i = first; i < end; ++i) {
      options.context.check("search", runtime().executor());
      const std::size_t in_batch = (i - first) % projected_batch;
      if (in_batch == 0) {
        project_queries(graph.encoding.projection,
                        queries.subspan(i * dim(), std::min(projected_batch, end - i) * dim()),
                        scratch.projected.data());
      }
      const float* const query = queries.data() + i * dim();
      scratch.query.set_projected(graph.encoding, query, scratch.projected.data() + in_batch * projected_dim);
      const bool done = plan.filter == nullptr
                            ? search_graph(plan.params, query, scratch, found[i])
                            : filtered_search(plan.params, *plan.filter, plan.budget, query, scratch, found[i]);
      answered[i] = static_cast<std::uint8_t>(done);
    }
  });
  scan_unanswered(plan, queries, options, answered, found);
}

void GraphIndex::scan_unanswered(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                                 std::span<const std::uint8_t> answered, std::span<std::vector<Hit>> found) const {
  std::vector<std::size_t> unanswered;
  std::vector<float> together;
  for (std::size_t i = 0; i < answered.size(); ++i) {
    if (answered[i] != 0) continue;
    unanswered.push_back(i);
    const std::span<const float> query = queries.subspan(i * dim(), dim());
    together.insert(together.end(), query.begin(), query.end());
  }
  if (unanswered.empty()) return;
  std::vector<std::vector<Hit>> hits(unanswered.size());
  scan_exactly(plan, together, options, hits);
  for (std::size_t i = 0; i < hits.size(); ++i) found[unanswered[i]] = std::move(hits[i]);
}

void GraphIndex::search_on_device(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                                  std::span<std::vector<Hit>> found) const {
  RowLists lists;
  BeamParams beam = plan.params.beam;
  beam.width = plan.device_width;
  // The device has no second limit: its search goes on beyond epsilon times the last of the rows that this one asks
  // for, and expands all of the k best instead of BeamParams::expanded_min.
  beam.k = std::min(ef_of(beam.k, beam.epsilon), beam.width);
  beam.epsilon = std::max(beam.epsilon, 1.0F);
  for (std::size_t first = 0; first < found.size(); first += device_queries_max) {
    options.context.check("search", runtime().executor());
    const std::size_t count = std::min(device_queries_max, found.size() - first);
    const std::span<const float> batch = queries.subspan(first * dim(), count * dim());
    const std::optional<std::uint64_t> scored = device_->search(*plan.epoch, beam, batch, lists);
    if (!scored) {  // the device has later rows, which would take the places of rows of this epoch
      plan.host_queries += count;
      search_on_host(plan, batch, options, found.subspan(first, count));
      continue;
    }
    plan.scored.fetch_add(*scored, std::memory_order_relaxed);
    runtime().executor().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      const ScratchLease lease(*this, plan);
      SearchScratch& scratch = lease.scratch();
      for (std::size_t i = begin; i < end; ++i) {
        const float* const query = batch.data() + i * dim();
        const auto rows = std::span(lists.rows).subspan(i * lists.columns, lists.columns);
        if (rerank_found(plan.params, rows, query, scratch, found[first + i])) continue;
        scan_block(plan, {query, dim()}, found.subspan(first + i, 1));
      }
    });
  }
}

void GraphIndex::answer(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                        std::span<std::vector<Hit>> found) const {
  if (plan.device_width > 0) return search_on_device(plan, queries, options, found);
  search_on_host(plan, queries, options, found);
}

bool GraphIndex::check_queries(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                               CheckedQueries& checked) const {
  if (plan.check == nullptr) return false;
  const std::size_t count = queries.size() / dim();
  QueryCheck::Due checks = plan.check->count_due(count, plan.check_every);
  const std::size_t due = checks.size();
  if (due == 0) return false;
  for (std::size_t i = 0; i < due; ++i) {
    checked.places.push_back(i * count / due);
    const std::span<const float> query = queries.subspan(checked.places.back() * dim(), dim());
    checked.vectors.insert(checked.vectors.end(), query.begin(), query.end());
  }
  std::vector<std::vector<Hit>> found(due);
  answer(plan, checked.vectors, options, found);
  checked.nearest.resize(due);
  scan_exactly(plan, checked.vectors, options, checked.nearest);
  std::vector<double> shares;
  shares.reserve(due);
  for (std::size_t i = 0; i < due; ++i) shares.push_back(share_found(found[i], checked.nearest[i]));
  return checks.record(plan.recall, plan.missed_factor, shares);
}

SearchResult GraphIndex::do_search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  const std::uint64_t begin = monotonic_nanoseconds();
  const std::size_t count = queries.size() / dim();
  CheckedQueries checked;
  std::size_t checks = 0;
  std::optional<SearchPlan> planned;
  bool goes_further = false;
  do {
    checked = {};
    planned.emplace();
    make_plan(count, k, options, *planned);
    goes_further = check_queries(*planned, queries, options, checked);
    checks += checked.places.size();
  } while (goes_further);
  SearchPlan& plan = *planned;
  std::vector<std::vector<Hit>> found(count);
  if (plan.params.k > 0 && checked.places.size() < count) {
    plan.forget_counts();  // of the check
    answer(plan, queries, options, found);
  }
  for (std::size_t i = 0; i < checked.places.size(); ++i) found[checked.places[i]] = std::move(checked.nearest[i]);
  if (checks > 0) plan.reason += fmt::format("; {} checked by a scan", checks);
  searches_.fetch_add(1, std::memory_order_relaxed);
  queries_.fetch_add(count, std::memory_order_relaxed);
  reranked_.fetch_add(plan.reranked, std::memory_order_relaxed);
  SearchExplanation explanation;
  const bool on_device = plan.device_width > 0 && plan.host_queries < count;
  explanation.device = on_device ? device_->device().label() : "cpu";
  if (on_device && plan.host_queries > 0) explanation.device += ", cpu";
  explanation.kernel = plan.kernel.empty() ? "none" : plan.kernel;
  explanation.reason = plan.reason.empty() ? "the index or k is empty" : plan.reason;
  explanation.precision = on_device ? Precision::fp32 : Precision::int8;
  explanation.rows_scanned = plan.scored;
  explanation.reranked = plan.reranked;
  explanation.seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  return {found, std::move(explanation)};
}

void GraphIndex::do_set_precision(Precision precision, const Context& /*context*/) {
  if (precision == Precision::int8) return;
  throw Error(ErrorCode::unsupported, "set_precision",
              fmt::format("a graph index searches int8 codes, not {}; keep int8", name(precision)));
}

void GraphIndex::do_compact(const Context& context) { store_->compact(context); }

void GraphIndex::do_drop_full_precision(const Context& context) { store_->drop_full_precision(context); }

void GraphIndex::do_save(ByteWriter& writer, const Context& context) const {
  save_contents(writer, contents(context), context);
}

void GraphIndex::save_contents(ByteWriter& writer, const GraphContents& contents, const Context& context) const {
  save_graph(writer, *store_, contents, runtime().executor(), context);
}

IndexDevices GraphIndex::devices() const {
  if (!device_) return Index::devices();
  return {{device_->device()}, device_reason_};
}

IndexStatistics GraphIndex::statistics() const {
  const auto now = store_->now();
  IndexStatistics statistics;
  statistics.vectors = now->live;
  statistics.removed = now->removed;
  statistics.segments = now->storage ? 1 : 0;
  statistics.bytes = now->bytes();
  statistics.mapped_bytes = now->mapped_bytes();
  statistics.device_bytes = device_ ? device_->bytes() : 0;
  if (now->live > 0) {
    statistics.bytes_per_vector = static_cast<double>(statistics.bytes) / static_cast<double>(now->live);
  }
  statistics.scanned_bytes_per_vector = now->storage ? now->storage->graph.encoding.quantizer.row_bytes : 0;
  statistics.searches = searches_.load(std::memory_order_relaxed);
  statistics.queries = queries_.load(std::memory_order_relaxed);
  statistics.reranked = reranked_.load(std::memory_order_relaxed);
  return statistics;
}

std::string GraphIndex::do_explain(std::size_t queries, std::size_t k, const SearchOptions& options) const {
  const auto now = store_->now();
  const Quantizer quantizer = now->storage ? now->storage->graph.encoding.quantizer : Quantizer();
  std::string text = fmt::format(
      "{}: {} vectors of dimension {}, metric {}, {} rows removed\n"
      "{:.1f} bytes per vector: {} for links (degree {}), {} for codes ({} coordinates of {} bits), {} for the vector, "
      "and the id table\n",
      kind(), now->live, dim(), name(metric()), now->removed, statistics().bytes_per_vector,
      now->storage ? now->storage->graph.links.row_bytes() : 0, store_->params().degree, quantizer.row_bytes,
      quantizer.dim, quantizer.bits, now->storage ? now->storage->vectors.row_bytes() : 0);
  if (now->calibration) {
    text += fmt::format("recall of {} neighbors by epsilon, calibrated with {} of {} vectors:\n", calibrated_k,
                        now->calibration->queries, now->calibration->vectors);
    for (const CalibrationCurve& curve : now->calibration->curves) {
      text += fmt::format("  {} reranked:", curve.reranked);
      for (const CalibrationPoint& point : curve.points) {
        text += fmt::format(" {:.3f}: {:.3f} ({:.0f} visited", point.epsilon, point.recall, point.scored);
        text += point.scans == 0 ? ")" : fmt::format(", {:.1f} % scanned)", 100 * point.scans);
      }
      text += '\n';
    }
    text += fmt::format(
        "nanoseconds per vector: {:.1f} visited, {:.1f} reranked, {:.1f} scanned, {:.1f} scanned in a "
        "batch\n",
        now->costs.visited * 1e9, now->costs.reranked * 1e9, now->costs.scanned * 1e9,
        now->costs.scanned_in_batch * 1e9);
    if (now->costs.encoded > 0) {
      text +=
          fmt::format("nanoseconds per vector of a scan that encodes: {:.1f} for one query, {:.1f} in a batch of {}\n",
                      now->costs.encoded * 1e9, now->costs.encoded_in_batch * 1e9, exact_scan_queries);
    }
  }
  SearchPlan plan;
  make_plan(queries, k, options, plan);
  return text + fmt::format("{} queries: {}\n", queries, plan.reason.empty() ? "the index or k is empty" : plan.reason);
}

}  // namespace vectis::inline v0_1::graph
