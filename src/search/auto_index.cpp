#include "search/auto_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "base/checksummed_stream.hpp"
#include "search/common/checks.hpp"
#include "search/exact/exact_format.hpp"
#include "search/workloads.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::uint32_t auto_version = 1;

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

// A copy of `context` that sets `threw` when the progress callback throws. `threw` must outlive it.
Context watching(const Context& context, std::atomic<bool>& threw) {
  return context.with_progress([&context, &threw](const Progress& progress) {
    try {
      context.report_progress(progress.operation, progress.done, progress.total);
    } catch (...) {
      threw = true;
      throw;
    }
  });
}

// Whether the caller's Context ended the call.
bool is_stop(const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  return known != nullptr && (known->code() == ErrorCode::cancelled || known->code() == ErrorCode::deadline_exceeded);
}

}  // namespace

AutoIndex::AutoIndex(Runtime& runtime, std::unique_ptr<exact::ExactIndex> exact,
                     std::shared_ptr<graph::GraphIndex> graph, double recall, const GraphOptions& graph_options,
                     AutoRules rules)
    : Index(runtime, exact->dim(), exact->metric(), recall),
      exact_(std::move(exact)),
      graph_options_(graph_options),
      rules_(rules),
      graph_(std::move(graph)) {
  reason_ = graph_ ? "loaded from the file" : fmt::format("fewer than {} vectors", rules_.rows_min);
}

std::shared_ptr<graph::GraphIndex> AutoIndex::graph() const {
  const std::lock_guard lock(graph_mutex_);
  return graph_;
}

SearchResult AutoIndex::with_reason(SearchResult found, std::string_view reason) {
  std::string& own = found.explanation_.reason;
  own.insert(0, "; ").insert(0, reason);
  return found;
}

bool AutoIndex::RecentChoice::serves(const ChoiceKey& other) const noexcept {
  return key == other && uses.fetch_add(1, std::memory_order_relaxed) < uses_max;
}

void AutoIndex::set_graph(std::shared_ptr<graph::GraphIndex> graph, std::string reason) {
  const std::lock_guard lock(graph_mutex_);
  graph_.swap(graph);  // running searches keep the old graph alive
  reason_ = std::move(reason);
}

Workload AutoIndex::graph_work(std::size_t queries, double query_seconds) const {
  return graph::search_workload(query_seconds, queries, runtime().executor().concurrency());
}

std::vector<Placement> AutoIndex::placements(std::size_t queries, std::size_t k, Workload by_graph) const {
  const auto snapshot = exact_->snapshot();
  const exact::SearchTask task{.segments = snapshot->views,
                               .dim = dim(),
                               .metric = metric(),
                               .precision = snapshot->precision,
                               .queries = {},
                               .k = k};
  const Device cpu = runtime().service<DeviceRegistry>().find("cpu").value();
  std::vector<Placement> all{{cpu, exact::work_on_host(task, queries), "exact, cpu"}};
  for (const Device& device : exact_->devices().devices) {
    all.emplace_back(device, exact::work_on_device(task, queries, exact::scanned_bytes(task)),
                     "exact, " + device.label());
  }
  all.emplace_back(cpu, std::move(by_graph), "graph, cpu");
  return all;
}

AutoIndex::GraphDecision AutoIndex::decide_graph() const {
  const graph::GraphTask task{
      .rows = size(), .dim = dim(), .recall = default_search_recall(), .threads = runtime().executor().concurrency()};
  const std::vector<Placement> all = placements(1, task.k, graph_work(1, graph::query_seconds(task)));
  const Choice choice = planner(runtime()).choose(all);  // leaves out a device whose speed cannot be measured
  double exact_seconds = choice.candidates.front().predicted.seconds();
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    const Assessment& device = choice.candidates[i];
    if (device.excluded.empty()) exact_seconds = std::min(exact_seconds, device.predicted.seconds());
  }
  const double graph_seconds = choice.candidates.back().predicted.seconds();
  const double build_seconds = graph::build_seconds(task);
  const double payback = exact_seconds > graph_seconds ? build_seconds / (exact_seconds - graph_seconds) : 0;
  const bool pays_off = exact_seconds >= rules_.gain_min * graph_seconds && payback <= rules_.payback_max;
  return {pays_off,
          fmt::format("with {} vectors of dimension {}, a query is predicted to take {} exactly and {} by a graph at "
                      "recall {}; building the graph takes {:.3g} s, {}; a graph must be {} times as fast and pay off "
                      "within {} queries",
                      size(), dim(), milliseconds(exact_seconds), milliseconds(graph_seconds), default_search_recall(),
                      build_seconds,
                      payback > 0 ? fmt::format("which {:.0f} queries save", payback) : "which no query saves",
                      rules_.gain_min, rules_.payback_max)};
}

void AutoIndex::build_graph(std::string reason, const Context& context) {
  const auto snapshot = exact_->snapshot();
  exact::OwnedRows rows;
  for (const exact::SegmentView& view : snapshot->views) {
    exact::OwnedRows some = exact::live_rows(view);
    rows.vectors.insert(rows.vectors.end(), some.vectors.begin(), some.vectors.end());
    rows.ids.insert(rows.ids.end(), some.ids.begin(), some.ids.end());
  }
  std::shared_ptr<graph::GraphIndex> made =
      make_graph_index(dim(), metric(), {.device = "cpu", .graph = graph_options_, .runtime = &runtime()});
  made->add(rows.ids, rows.vectors, context);
  set_graph(std::move(made), std::move(reason));
}

void AutoIndex::drop_graph(std::string_view failure) noexcept {
  set_graph(nullptr, "out of memory");  // a reason that needs no allocation
  try {
    set_graph(nullptr, fmt::format("it failed: {}", failure));
    runtime().logger().log(LogLevel::warning, "search",
                           fmt::format("an 'auto' index continues without a graph: {}", failure));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the graph goes without a message
  }
}

void AutoIndex::change_both(const Change& on_graph, const Change& on_exact, const Context& context) {
  const auto current = graph();
  bool changed = false;
  std::string failure;
  if (current) {
    std::atomic<bool> callback_threw = false;
    try {
      on_graph(*current, watching(context, callback_threw));
      changed = true;
    } catch (const std::exception& error) {
      if (callback_threw || is_stop(error)) throw;
      failure = error.what();
    }
  }
  try {
    on_exact(*exact_, changed ? Context{} : context);
  } catch (...) {
    if (changed) drop_graph("the exact index could not follow a change");
    throw;
  }
  if (current && !changed) drop_graph(failure);
  try {
    follow_size(context);
  } catch (const std::exception&) {  // the change is made; the next one decides again
    decided_at_ = 0;
  }
}

void AutoIndex::follow_size(const Context& context) {
  const bool has_graph = graph() != nullptr;
  const std::size_t vectors = size();
  if (has_graph && vectors < rules_.rows_min / 2) {
    decided_at_ = 0;
    set_graph(nullptr, fmt::format("dropped when {} vectors were left", vectors));
  } else if (!has_graph && vectors >= rules_.rows_min &&
             static_cast<double>(vectors) >= rules_.growth * static_cast<double>(decided_at_)) {
    decided_at_ = vectors;
    GraphDecision decision = decide_graph();
    if (decision.pays_off) {
      try_build_graph(decision.reason, context);
    } else {
      set_graph(nullptr, std::move(decision.reason));
    }
  }
}

void AutoIndex::try_build_graph(std::string_view reason, const Context& context) noexcept {
  std::atomic<bool> callback_threw = false;
  try {
    build_graph(std::string(reason), watching(context, callback_threw));
  } catch (const std::exception& error) {                   // the exact index has every vector
    if (callback_threw || is_stop(error)) decided_at_ = 0;  // the next change tries again
    drop_graph(error.what());
  } catch (...) {
    decided_at_ = 0;
    drop_graph("the progress callback threw");
  }
}

std::uint64_t AutoIndex::do_add(std::span<const float> vectors, const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  const std::vector<std::uint64_t> ids = detail::with_memory("add", vectors.size_bytes(), [&] {
    return detail::next_ids("add", exact_->snapshot()->highest_id, vectors.size() / dim());
  });
  std::uint64_t first = 0;
  change_both([&](Index& graph, const Context& some) { graph.add(ids, vectors, some); },
              [&](Index& exact, const Context& some) { first = exact.add(vectors, some); }, context);
  return first;
}

void AutoIndex::do_add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  const Change change = [&](Index& index, const Context& some) { index.add(ids, vectors, some); };
  change_both(change, change, context);
}

std::size_t AutoIndex::do_remove(std::span<const std::uint64_t> ids, const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  std::size_t removed = 0;
  const Change change = [&](Index& index, const Context& some) { removed = index.remove(ids, some); };
  change_both(change, change, context);
  return removed;
}

void AutoIndex::do_update(std::uint64_t id, std::span<const float> vector) {
  const std::lock_guard lock(writer_mutex_);
  const Change change = [&](Index& index, const Context&) { index.update(id, vector); };
  change_both(change, change, {});
}

void AutoIndex::do_upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  const Change change = [&](Index& index, const Context& some) { index.upsert(ids, vectors, some); };
  change_both(change, change, context);
}

SearchResult AutoIndex::do_search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  std::shared_ptr<graph::GraphIndex> current;
  std::shared_ptr<const RecentChoice> recent;
  {
    const std::lock_guard lock(graph_mutex_);
    current = graph_;
    recent = recent_choice_;
  }
  if (options.ef) {  // without a graph the exact index finds all, which no beam does better
    if (current) return current->search(queries, k, options);
    SearchOptions exact_options = options;
    exact_options.ef.reset();
    return exact_->search(queries, k, exact_options);
  }
  const double recall = options.recall.value_or(default_search_recall());
  if (!current || !(recall > 0 && recall < 1) || queries.empty() || k == 0) return exact_->search(queries, k, options);
  const std::size_t count = queries.size() / dim();
  SearchOptions graph_options = options;
  graph_options.recall = recall;
  const ChoiceKey key{.graph = current.get(), .vectors = size(), .queries = count, .k = k, .recall = recall};
  if (recent && !options.filter && recent->serves(key)) {
    return with_reason(current->search(queries, k, graph_options), recent->reason);
  }
  const std::optional<double> seconds = current->query_seconds(count, k, graph_options);
  if (!seconds) {
    return with_reason(exact_->search(queries, k, options),
                       fmt::format("no beam search is cheaper at a recall of {}", recall));
  }
  const std::vector<Placement> all = placements(count, k, graph_work(count, *seconds));
  const Choice choice = planner(runtime()).choose(all);
  const bool by_graph = choice.index + 1 == all.size();
  SearchResult found = by_graph ? current->search(queries, k, graph_options) : exact_->search(queries, k, options);
  // With devices, the exact index chooses among them and records the time itself.
  if (by_graph || all.size() == 2) planner(runtime()).record(all[choice.index], found.explanation().seconds);
  if (by_graph && !options.filter) {
    auto chosen = std::make_shared<RecentChoice>(key, choice.reason);
    const std::lock_guard lock(graph_mutex_);
    recent_choice_ = std::move(chosen);
  }
  return with_reason(std::move(found), choice.reason);
}

void AutoIndex::do_set_precision(Precision precision, const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  exact_->set_precision(precision, context);
  if (exact_->compacted() && graph()) try_build_graph("rebuilt after the precision changed", context);
}

void AutoIndex::do_compact(const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  const Change change = [](Index& index, const Context& some) { index.compact(some); };
  change_both(change, change, context);
}

void AutoIndex::do_drop_full_precision(const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  exact_->drop_full_precision(context);
  if (graph()) try_build_graph("rebuilt after full precision was dropped", context);
}

IndexStatistics AutoIndex::statistics() const {
  IndexStatistics all = exact_->statistics();
  if (const auto current = graph()) {
    const IndexStatistics more = current->statistics();
    all.bytes += more.bytes;
    all.searches += more.searches;
    all.queries += more.queries;
    all.reranked += more.reranked;
    if (all.vectors > 0) all.bytes_per_vector = static_cast<double>(all.bytes) / static_cast<double>(all.vectors);
  }
  return all;
}

std::string AutoIndex::do_explain(std::size_t queries, std::size_t k, const SearchOptions& options) const {
  const auto current = graph();
  // With a graph the planner's table below has a row for each placement of the exact search.
  std::string text = current ? exact_->describe() : exact_->explain(queries, k, options);
  {
    const std::lock_guard lock(graph_mutex_);
    text += fmt::format("{}: {}\n", current ? "with a graph" : "no graph", reason_);
  }
  if (!current) return text;
  const double recall = options.recall.value_or(default_search_recall());
  SearchOptions graph_options = options;
  if (!options.ef) graph_options.recall = recall;
  text += current->explain(queries, k, graph_options);
  const std::size_t count = std::max<std::size_t>(queries, 1);
  const std::optional<double> seconds = current->query_seconds(count, k, graph_options);
  if (!seconds) return text + "the exact index answers\n";
  return text + planner(runtime()).choose(placements(count, k, graph_work(count, *seconds))).explain();
}

void AutoIndex::do_save(ByteWriter& writer, const Context& context) const {
  std::shared_ptr<const exact::Snapshot> snapshot;
  std::shared_ptr<const graph::GraphIndex> current;
  graph::GraphContents contents;
  {
    // Exact index and graph of the same moment. Writers wait for the copy of the graph, not for the file.
    const std::lock_guard lock(writer_mutex_);
    snapshot = exact_->snapshot();
    current = graph();
    if (current) contents = current->contents(context);
  }
  if (!current)
    return exact::save_exact(writer, exact_->kind(), metric(), dim(), *snapshot, runtime().executor(), context);
  writer.write(std::as_bytes(std::span(auto_magic)));
  writer.put(auto_version);
  detail::ChecksumWriter out(writer);
  out.put(std::uint64_t{0});  // features that a reader must support: none yet
  out.put(std::uint64_t{0});  // features that a writer must support: none yet
  out.close();
  exact::save_exact(writer, exact_->kind(), metric(), dim(), *snapshot, runtime().executor(), context);
  current->save_contents(writer, contents, context);
}

void read_auto_header(ByteReader& reader) {
  detail::validate_version(reader.get<std::uint32_t>(), auto_version);
  detail::ChecksumReader in(reader);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  in.close("header");
  detail::validate_features("reader", reader_features, 0);
  detail::validate_features("writer", writer_features, 0);
}

}  // namespace vectis::inline v0_1
