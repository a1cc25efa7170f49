#include "search/graph/graph_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/common/checks.hpp"
#include "search/exact/exact_index.hpp"
#include "search/graph/format.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Below this size brute force beats graph search.
constexpr std::size_t brute_force_rows_max = 1000;
// A graph that was never calibrated, since it grew in small steps, is scanned up to this size: no epsilon is known to
// reach the recall.
constexpr std::size_t uncalibrated_rows_max = 20'000;
// Above this selectivity, scan the rows and test their ids; below it, look the ids up.
constexpr double scan_selectivity_min = 0.25;
// Queries are projected in batches of 8, so that the PCA basis is read once per batch.
constexpr std::size_t projected_batch = 8;

// On a device the result list also holds the rows that may still be expanded: one for about 6 scored rows.
constexpr std::size_t scored_per_list_row = 6;
constexpr std::size_t device_queries_max = 8192;  // per launch

// Calls that insert at least this many rows are logged.
constexpr std::size_t logged_rows_min = 10'000;

// Rows whose ids are tested to estimate the selectivity of a filter.
constexpr std::size_t sampled_ids = 1000;

// How many of the live rows a filter allows: by a sample spread over all rows, and by what the filter itself knows.
std::size_t estimate_allowed(const IdFilter& filter, const Epoch& epoch) {
  std::size_t visible = 0;
  std::size_t allowed = 0;
  const std::size_t step = std::max<std::size_t>(1, epoch.rows / sampled_ids);
  for (std::size_t row = 0; row < epoch.rows; row += step) {
    const auto slot = static_cast<Slot>(row);
    if (!epoch.storage->versions.visible(slot, epoch.number)) continue;
    ++visible;
    allowed += static_cast<std::size_t>(filter.allows(epoch.storage->versions.id(slot)));
  }
  const double selectivity = visible == 0 ? 1 : static_cast<double>(allowed) / static_cast<double>(visible);
  const auto estimate = static_cast<std::uint64_t>(std::ceil(selectivity * static_cast<double>(epoch.live)));
  return static_cast<std::size_t>(std::min(filter.count_max().value_or(epoch.live), estimate));
}

// Rows that a search scores for each row of a beam whose width the caller chose: about half of the links lead to rows
// that were not visited.
constexpr double scored_per_ef = 15;

void validate_range(std::string_view op, std::string_view name, double value, double min, double max) {
  if (value >= min && value <= max) return;
  throw Error(ErrorCode::invalid_input, op, fmt::format("{} of {}, it must be from {} to {}", name, value, min, max));
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

// How the queries of one search are answered.
struct GraphIndex::SearchPlan {
  std::shared_ptr<const Epoch> epoch;
  SearchParams params;
  std::string kernel;
  std::string reason;
  bool brute_force = false;  // scan all rows that may be found
  const IdFilter* filter = nullptr;
  FilterBudget budget;           // of a filtered search
  std::size_t device_width = 0;  // list length on a device; 0: the host searches
  // The rows that may be found, collected by the first query that needs them.
  mutable std::once_flag rows_collected;
  mutable std::vector<Slot> rows;
  // What the search did so far; its threads add to them.
  mutable std::atomic<std::uint64_t> scored = 0;
  mutable std::atomic<std::uint64_t> reranked = 0;
  mutable std::size_t host_queries = 0;  // that the host answered although a device was chosen
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
      link_rows(runtime.executor(), storage.graph, entry_points, slots, linked_rows, progress);
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

void GraphIndex::make_plan(std::size_t k, const SearchOptions& options, SearchPlan& plan) const {
  const double recall = options.recall.value_or(default_search_recall());
  plan.epoch = store_->now();
  const std::size_t live = plan.epoch->live;
  const Calibration uncalibrated;
  const Calibration& calibration = plan.epoch->calibration ? *plan.epoch->calibration : uncalibrated;
  const CalibrationPoint point = calibration.point_for(recall);
  k = std::min(k, live);
  plan.params = {.storage = plan.epoch->storage.get(),
                 .entry_points = plan.epoch->entry_points,
                 .epoch = plan.epoch->number,
                 .rows = plan.epoch->rows,
                 .no_tombstones = plan.epoch->removed == 0,
                 .k = k,
                 .beam = options.ef ? beam_for_ef(k, *options.ef) : beam_for_epsilon(k, point.epsilon),
                 .error_margin = error_margin_for(recall),
                 .radius = options.radius};
  if (k == 0) return;
  plan.kernel = "graph";
  plan.reason =
      calibration.points.empty()
          ? fmt::format("a beam search with epsilon {:.3f}; not calibrated for a recall of {}", point.epsilon, recall)
          : fmt::format("a beam search with epsilon {:.3f} for a recall of {}, calibrated with {} vectors",
                        point.epsilon, recall, calibration.vectors);
  if (options.ef) plan.reason = fmt::format("a beam search with ef {}", *options.ef);
  std::size_t allowed = live;
  if (options.filter) {
    plan.filter = &*options.filter;
    allowed = std::min(allowed, estimate_allowed(*options.filter, *plan.epoch));
  }
  // A filtered search scores more rows, in inverse proportion to the selectivity.
  const double selectivity = static_cast<double>(std::max<std::size_t>(1, allowed)) / static_cast<double>(live);
  const double unfiltered_scores = options.ef ? scored_per_ef * static_cast<double>(std::max(k, *options.ef))
                                              : double{point.scored} * static_cast<double>(std::max(k, calibrated_k)) /
                                                    static_cast<double>(calibrated_k);
  const double expected_scores = unfiltered_scores / selectivity;
  plan.budget = {.selectivity = static_cast<double>(allowed) / static_cast<double>(live),
                 .expected_scores = expected_scores,
                 .scores_max = static_cast<double>(allowed)};
  // Data without structure: at this recall the calibration scored every row. Or rows differ by less than the error of
  // their codes: no beam search reached the recall, or what counts as reached.
  const bool calibrated = !options.ef && !calibration.points.empty();
  const bool scores_all = calibrated && double{point.scored} >= static_cast<double>(calibration.vectors);
  const bool unreachable =
      calibrated && double{calibration.points.back().recall} < std::min(recall, plateau_recall_min);
  const bool never_calibrated = !options.ef && calibration.points.empty();
  plan.brute_force = live <= (never_calibrated ? uncalibrated_rows_max : brute_force_rows_max) || scores_all ||
                     unreachable || static_cast<double>(allowed) <= expected_scores;
  const std::size_t width = plan.params.beam.width;
  if (device_ && !plan.brute_force && plan.filter == nullptr && width <= device_list_max) {
    plan.device_width = std::clamp(static_cast<std::size_t>(expected_scores) / scored_per_list_row,
                                   std::min(2 * width, device_list_max), device_list_max);
    plan.kernel = "graph_search";
    plan.reason += "; " + device_reason_;
  }
  if (plan.brute_force) {
    plan.kernel = "scan";
    plan.reason =
        plan.filter == nullptr
            ? fmt::format("all {} vectors are scanned", live)
            : fmt::format("an estimated {} of {} vectors pass the filter: those that pass are scanned", allowed, live);
  }
  if (device_ && plan.device_width == 0) {
    plan.reason += fmt::format("; on the host, since {} runs only unfiltered beam searches", device_->device().label());
  }
}

std::span<const Slot> GraphIndex::allowed_rows(const SearchPlan& plan) const {
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
  return plan.rows;
}

void GraphIndex::search_query(const SearchPlan& plan, const float* query, SearchScratch& scratch,
                              std::vector<Hit>& hits) const {
  const bool found = !plan.brute_force && (plan.filter == nullptr ? search_graph(plan.params, query, scratch, hits)
                                                                  : filtered_search(plan.params, *plan.filter,
                                                                                    plan.budget, query, scratch, hits));
  if (!found) brute_force_scan(plan.params, allowed_rows(plan), query, scratch, hits);
}

void GraphIndex::search_on_host(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                                std::span<std::vector<Hit>> found) const {
  const Graph& graph = plan.params.storage->graph;
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
      search_query(plan, query, scratch, found[i]);
    }
  });
}

void GraphIndex::search_on_device(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                                  std::span<std::vector<Hit>> found) const {
  RowLists lists;
  BeamParams beam = plan.params.beam;
  beam.width = plan.device_width;
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
        scratch.query.set_vector(plan.params.storage->graph.encoding, query);
        brute_force_scan(plan.params, allowed_rows(plan), query, scratch, found[first + i]);
      }
    });
  }
}

SearchResult GraphIndex::do_search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  const std::uint64_t begin = monotonic_nanoseconds();
  const std::size_t count = queries.size() / dim();
  SearchPlan plan;
  make_plan(k, options, plan);
  std::vector<std::vector<Hit>> found(count);
  if (plan.params.k > 0 && plan.device_width > 0) {
    search_on_device(plan, queries, options, found);
  } else if (plan.params.k > 0) {
    search_on_host(plan, queries, options, found);
  }
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
    text += fmt::format("recall of {} neighbors by epsilon, calibrated with held-out vectors in a graph of {}:",
                        calibrated_k, now->calibration->vectors);
    for (const CalibrationPoint& point : now->calibration->points) {
      text += fmt::format(" {:.3f}: {:.3f}", point.epsilon, point.recall);
    }
    text += '\n';
  }
  SearchPlan plan;
  make_plan(k, options, plan);
  return text + fmt::format("{} queries: {}\n", queries, plan.reason.empty() ? "the index or k is empty" : plan.reason);
}

}  // namespace vectis::inline v0_1::graph
