#include "search/graph/graph_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "search/exact/checks.hpp"
#include "search/exact/exact_index.hpp"
#include "search/exact/results.hpp"
#include "search/graph/build.hpp"
#include "search/graph/device_build.hpp"
#include "search/graph/graph_format.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// So few are looked through faster than a walk takes.
constexpr std::size_t scanned_whole = 1000;
// From this share of allowed rows on, every row is asked for its id instead of every id for its row.
constexpr double asked_from = 0.25;
// Queries are brought into the directions of the codes by so many, which reads the directions less often.
constexpr std::size_t placed_together = 8;

// Walks on a device keep what they may still visit among the rows kept, one of so many that are scored; and so many
// queries are there at once.
constexpr std::size_t scored_per_kept = 6;
constexpr std::size_t device_queries_max = 8192;

std::size_t count_allowed(const IdFilter& filter) {
  std::size_t count = 0;
  for (const std::uint64_t word : filter.words) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

double checked_recall(const SearchOptions& options) {
  const double recall = options.recall.value_or(default_recall);
  if (recall > 0 && recall <= 1) return recall;
  throw Error(ErrorCode::invalid_input, "search",
              fmt::format("a recall of {}, it must be above 0 and at most 1; 0.95 is usual", recall));
}

void require(bool right, std::string_view op, std::string_view what, std::size_t value, std::size_t low,
             std::size_t high) {
  if (right) return;
  throw Error(ErrorCode::invalid_input, op, fmt::format("{} of {}, allowed are {} to {}", what, value, low, high));
}

}  // namespace

void check_graph(std::string_view op, Metric distance, const GraphShape& shape) {
  if (!exact::can_scan(distance, Precision::int8)) {
    throw Error(ErrorCode::unsupported, op,
                fmt::format("a graph knows l2, cosine and inner_product, not {}; use 'brute'", name(distance)));
  }
  require(shape.degree >= 4 && shape.degree <= Links::degree_max, op, "a degree", shape.degree, 4, Links::degree_max);
  require(shape.kept >= 2 && shape.kept <= shape.degree, op, "kept links", shape.kept, 2, shape.degree);
  require(shape.build_width >= shape.kept && shape.build_width <= 4096, op, "a build width", shape.build_width,
          shape.kept, 4096);
  if (!(shape.reach >= 1 && shape.reach <= 4)) {
    throw Error(ErrorCode::invalid_input, op, fmt::format("a reach of {}, allowed are 1 to 4", shape.reach));
  }
  if (!(shape.build_slack >= 1 && shape.build_slack <= 4)) {
    throw Error(ErrorCode::invalid_input, op, fmt::format("a slack of {}, allowed are 1 to 4", shape.build_slack));
  }
}

// How the queries of one search are answered.
struct GraphIndex::Plan {
  std::shared_ptr<const Epoch> epoch;
  Look look;
  std::string way;
  std::string reason;
  bool whole = false;  // all rows that may be found are looked at
  const IdFilter* filter = nullptr;
  Patience patience;      // of a filtered walk
  std::size_t width = 0;  // of walks on a device; 0: they are done here
  // The rows that may be found, looked up by the first query that needs them.
  mutable std::once_flag looked_up;
  mutable std::vector<Slot> among;
};

// A walker for as long as this lives.
class GraphIndex::Borrowed {
 public:
  Borrowed(const GraphIndex& index, const Graph& graph) : index_(index) {
    {
      const std::lock_guard lock(index_.walkers_mutex_);
      if (!index_.walkers_.empty()) {
        walker_ = std::move(index_.walkers_.back());
        index_.walkers_.pop_back();
      }
    }
    // The frame may be another since that walker was made.
    if (!walker_ || !walker_->query.fits(graph.frame)) walker_ = std::make_unique<Walker>(graph);
    walker_->scored = 0;
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    index_.scored_.fetch_add(walker_->scored, std::memory_order_relaxed);
    const std::lock_guard lock(index_.walkers_mutex_);
    if (index_.walkers_.size() < index_.walkers_.capacity()) index_.walkers_.push_back(std::move(walker_));
  }
  [[nodiscard]] Walker& walker() const noexcept { return *walker_; }

 private:
  const GraphIndex& index_;
  std::unique_ptr<Walker> walker_;
};

GraphIndex::GraphIndex(Runtime& runtime, std::unique_ptr<Corpus> corpus, const std::optional<Device>& device,
                       std::string reason)
    : runtime_(runtime), corpus_(std::move(corpus)), device_reason_(std::move(reason)) {
  walkers_.reserve(64);
  if (!device) return;
  device_ = std::make_unique<DeviceLook>(runtime, *device);
  corpus_->set_linking([&runtime, there = *device](Body& body, std::size_t rows, std::span<const Slot> entries,
                                                   std::span<const Slot> slots, std::size_t linked) {
    if (worth_a_device(slots.size(), linked)) {
      link_rows_on_device(runtime, there, body, rows, entries, slots, linked);
    } else {
      link_rows(runtime.executor(), body.graph, entries, slots, linked);
    }
  });
}

GraphIndex::~GraphIndex() = default;

std::uint64_t GraphIndex::add(std::span<const float> vectors) {
  exact::check_rows("add", runtime_, vectors, dim());
  return corpus_->add(vectors);
}

void GraphIndex::add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  exact::check_ids("add_with_ids", exact::count_rows("add_with_ids", vectors.size(), dim()), ids);
  exact::check_rows("add_with_ids", runtime_, vectors, dim());
  corpus_->add_with_ids(vectors, ids);
}

std::size_t GraphIndex::remove(std::span<const std::uint64_t> ids) {
  runtime_.check_fork("remove");
  return corpus_->remove(ids);
}

void GraphIndex::update(std::uint64_t id, std::span<const float> vector) {
  exact::check_one("update", vector.size(), dim());
  exact::check_rows("update", runtime_, vector, dim());
  corpus_->update(id, vector);
}

void GraphIndex::upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  exact::check_ids("upsert", exact::count_rows("upsert", vectors.size(), dim()), ids);
  exact::check_rows("upsert", runtime_, vectors, dim());
  corpus_->upsert(vectors, ids);
}

std::optional<std::vector<float>> GraphIndex::get(std::uint64_t id) const { return corpus_->get(id); }

void GraphIndex::make_plan(std::size_t k, const SearchOptions& options, Plan& plan) const {
  const double recall = checked_recall(options);
  plan.epoch = corpus_->now();
  const std::size_t live = plan.epoch->live;
  const Calibration unmeasured;
  const Calibration& calibration = plan.epoch->calibration ? *plan.epoch->calibration : unmeasured;
  const CalibrationPoint point = calibration.point_for(recall);
  k = std::min(k, live);
  plan.look = {.body = plan.epoch->body.get(),
               .entries = plan.epoch->entries,
               .epoch = plan.epoch->number,
               .all_visible = plan.epoch->removed == 0,
               .k = k,
               .effort = effort_for(k, point.slack),
               .doubt = doubt_for(recall),
               .radius = options.radius};
  if (k == 0) return;
  plan.way = "graph";
  plan.reason =
      calibration.points.empty()
          ? fmt::format("a walk of slack {:.3f}; nothing was measured for a recall of {}", point.slack, recall)
          : fmt::format("a walk of slack {:.3f} for a recall of {}, measured with {} vectors", point.slack, recall,
                        calibration.vectors);
  std::size_t allowed = live;
  if (options.filter) {
    plan.filter = &*options.filter;
    allowed = std::min(allowed, count_allowed(*options.filter));
  }
  // A walk past what a filter forbids scores as many more rows as it forbids.
  const double walked = double{point.scored} * static_cast<double>(std::max(k, calibrated_k)) /
                        static_cast<double>(calibrated_k) * static_cast<double>(live) /
                        static_cast<double>(std::max<std::size_t>(1, allowed));
  plan.patience = {.share = static_cast<double>(allowed) / static_cast<double>(live),
                   .expected = walked,
                   .scored_max = static_cast<double>(allowed)};
  plan.whole = live <= scanned_whole || static_cast<double>(allowed) <= walked;
  const std::size_t kept = plan.look.effort.kept;
  if (device_ && !plan.whole && plan.filter == nullptr && kept <= device_list_max) {
    plan.width = std::clamp(static_cast<std::size_t>(walked) / scored_per_kept, std::min(2 * kept, device_list_max),
                            device_list_max);
    plan.way = "graph_search";
    plan.reason += "; " + device_reason_;
  }
  if (plan.whole) {
    plan.way = "scan";
    plan.reason = fmt::format("{} of {} vectors may be found: all of them are looked at", allowed, live);
  }
}

std::span<const Slot> GraphIndex::rows_among(const Plan& plan) const {
  std::call_once(plan.looked_up, [&] {
    if (plan.filter != nullptr && plan.patience.share < asked_from) {
      if (auto rows = corpus_->rows_of(*plan.filter, *plan.look.body)) {
        plan.among = std::move(*rows);
        return;
      }
    }
    // Or its ids are looked up in another body by now.
    const Heads& heads = plan.look.body->heads;
    plan.among.resize(plan.epoch->rows);
    std::size_t count = 0;
    for (Slot slot = 0; slot < plan.epoch->rows; ++slot) {
      plan.among[count] = slot;  // no branch: which rows are allowed cannot be foreseen
      const bool allowed = plan.filter == nullptr || plan.filter->allows(heads.id(slot));
      count += static_cast<std::size_t>(allowed) & static_cast<std::size_t>(heads.visible(slot, plan.look.epoch));
    }
    plan.among.resize(count);
  });
  return plan.among;
}

void GraphIndex::answer(const Plan& plan, const float* query, Walker& walker, std::vector<Hit>& hits) const {
  if (!plan.whole && plan.filter == nullptr) {
    graph::look(plan.look, query, walker, hits);
    return;
  }
  if (!plan.whole && look_filtered(plan.look, *plan.filter, plan.patience, query, walker, hits)) return;
  look_among(plan.look, rows_among(plan), query, walker, hits);
}

void GraphIndex::search_here(const Plan& plan, std::span<const float> queries, const SearchOptions& options,
                             std::vector<std::vector<Hit>>& found) const {
  runtime_.executor().parallel_for(found.size(), 1, [&](std::size_t first, std::size_t end) {
    const Frame& frame = plan.look.body->graph.frame;
    const Borrowed borrowed(*this, plan.look.body->graph);
    Walker& walker = borrowed.walker();
    walker.placed.resize(placed_together * frame.coded_dim);
    for (std::size_t i = first; i < end; ++i) {
      options.context.check("search", runtime_.executor());
      const std::size_t place = (i - first) % placed_together;
      if (place == 0) {
        place_queries(frame, queries.subspan(i * dim(), std::min(placed_together, end - i) * dim()),
                      walker.placed.data());
      }
      const float* const query = queries.data() + i * dim();
      walker.query.set_placed(frame, query, walker.placed.data() + place * frame.coded_dim);
      answer(plan, query, walker, found[i]);
    }
  });
}

void GraphIndex::search_on_device(const Plan& plan, std::span<const float> queries, const SearchOptions& options,
                                  std::vector<std::vector<Hit>>& found) const {
  RowLists rows;
  for (std::size_t first = 0; first < found.size(); first += device_queries_max) {
    options.context.check("search", runtime_.executor());
    const std::size_t count = std::min(device_queries_max, found.size() - first);
    const std::span<const float> some = queries.subspan(first * dim(), count * dim());
    scored_.fetch_add(device_->find(*plan.epoch, plan.look.effort, plan.width, some, rows), std::memory_order_relaxed);
    runtime_.executor().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      const Borrowed borrowed(*this, plan.look.body->graph);
      for (std::size_t i = begin; i < end; ++i) {
        look_at_found(plan.look, std::span(rows.rows).subspan(i * rows.columns, rows.columns), some.data() + i * dim(),
                      borrowed.walker(), found[first + i]);
      }
    });
  }
}

SearchResult GraphIndex::search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  const std::uint64_t begin = monotonic_nanoseconds();
  const std::size_t count = exact::check_rows("search", runtime_, queries, dim());
  exact::check_radius("search", options.radius);
  options.context.check("search", runtime_.executor());
  Plan how;
  make_plan(k, options, how);
  std::vector<std::vector<Hit>> found(count);
  const std::uint64_t scored_before = scored_.load(std::memory_order_relaxed);
  if (how.look.k > 0 && how.width > 0) {
    search_on_device(how, queries, options, found);
  } else if (how.look.k > 0) {
    search_here(how, queries, options, found);
  }
  searches_.fetch_add(1, std::memory_order_relaxed);
  queries_.fetch_add(count, std::memory_order_relaxed);
  SearchExplanation explanation;
  explanation.device = how.width > 0 ? device_->device().label() : "cpu";
  explanation.way = how.way.empty() ? "none" : how.way;
  explanation.reason = how.reason.empty() ? "there was nothing to look for" : how.reason;
  explanation.precision = how.width > 0 ? Precision::fp32 : Precision::int8;
  explanation.rows_scanned = scored_.load(std::memory_order_relaxed) - scored_before;
  explanation.seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  return exact::joined_result(std::move(found), std::move(explanation));
}

void GraphIndex::set_precision(Precision precision) {
  runtime_.check_fork("set_precision");
  if (precision == Precision::int8) return;
  throw Error(ErrorCode::unsupported, "set_precision",
              fmt::format("a graph walks int8 codes, not {}; leave it at int8", name(precision)));
}

void GraphIndex::compact() {
  runtime_.check_fork("compact");
  corpus_->compact();
}

IndexDevices GraphIndex::devices() const {
  if (!device_) return Index::devices();
  return {{device_->device()}, device_reason_};
}

IndexStatistics GraphIndex::statistics() const {
  const auto now = corpus_->now();
  IndexStatistics statistics;
  statistics.vectors = now->live;
  statistics.removed = now->removed;
  statistics.segments = now->body ? 1 : 0;
  statistics.bytes = now->bytes();
  statistics.mapped_bytes = now->mapped_bytes();
  statistics.device_bytes = device_ ? device_->bytes() : 0;
  if (now->live > 0) {
    statistics.bytes_per_vector = static_cast<double>(statistics.bytes) / static_cast<double>(now->live);
  }
  statistics.scanned_bytes_per_vector = now->body ? now->body->graph.frame.row_bytes : 0;
  statistics.searches = searches_.load(std::memory_order_relaxed);
  statistics.queries = queries_.load(std::memory_order_relaxed);
  statistics.survivors = scored_.load(std::memory_order_relaxed);
  return statistics;
}

std::string GraphIndex::explain(std::size_t queries, std::size_t k) const {
  const auto now = corpus_->now();
  const Frame& frame = now->body ? now->body->graph.frame : Frame();
  std::string text = fmt::format(
      "hnsw: {} vectors of {} numbers, {} distance, {} rows removed\n"
      "{:.1f} bytes per vector: {} of links ({} at most), {} of codes ({} coordinates of {} bits), {} of vectors, and "
      "what finds ids\n",
      now->live, dim(), name(distance()), now->removed, statistics().bytes_per_vector,
      now->body ? now->body->graph.links.row_bytes() : 0, corpus_->shape().degree, frame.row_bytes, frame.coded_dim,
      frame.bits, now->body ? now->body->vectors.row_bytes() : 0);
  if (now->calibration) {
    text += fmt::format("recall of {} neighbours by slack, measured on held-out vectors beside {}:", calibrated_k,
                        now->calibration->vectors);
    for (const CalibrationPoint& point : now->calibration->points) {
      text += fmt::format(" {:.2f}: {:.3f}", point.slack, point.recall);
    }
    text += '\n';
  }
  Plan how;
  make_plan(k, {}, how);
  return text + fmt::format("{} queries: {}\n", queries, how.reason.empty() ? "nothing to look for" : how.reason);
}

void GraphIndex::save(ByteWriter& writer) const {
  runtime_.check_fork("save");
  save_graph(writer, distance(), dim(), corpus_->shape(), corpus_->contents());
}

}  // namespace vectis::inline v0_1::graph
