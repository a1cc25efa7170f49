#include "search/auto_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/exact/results.hpp"
#include "search/exact/summed.hpp"
#include "search/exact_work.hpp"
#include "search/graph_work.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::uint32_t auto_version = 1;

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

SearchResult with_reason(const SearchResult& found, std::string reason) {
  std::vector<std::vector<Hit>> hits(found.queries());
  for (std::size_t i = 0; i < hits.size(); ++i) hits[i].assign(found[i].begin(), found[i].end());
  SearchExplanation explanation = found.explanation();
  explanation.reason = std::move(reason);
  return exact::joined_result(std::move(hits), std::move(explanation));
}

std::vector<std::uint64_t> ids_from(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

}  // namespace

AutoIndex::AutoIndex(Runtime& runtime, std::unique_ptr<exact::ExactIndex> exact, std::shared_ptr<Index> graph,
                     double recall, AutoRules rules)
    : runtime_(runtime), exact_(std::move(exact)), recall_(recall), rules_(rules), graph_(std::move(graph)) {
  reason_ = graph_ ? "it was in the file" : fmt::format("below {} vectors none is thought of", rules_.rows_min);
}

std::shared_ptr<Index> AutoIndex::graph() const {
  const std::lock_guard lock(graph_lock_);
  return graph_;
}

void AutoIndex::set_graph(std::shared_ptr<Index> graph, std::string reason) {
  const std::lock_guard lock(graph_lock_);
  graph_.swap(graph);  // the old one ends with its last search
  reason_ = std::move(reason);
}

std::vector<Placement> AutoIndex::ways(std::size_t queries, std::size_t k, double recall) const {
  const auto snapshot = exact_->snapshot();
  const exact::SearchTask task{.segments = snapshot->views,
                               .dim = dim(),
                               .distance = distance(),
                               .precision = snapshot->precision,
                               .queries = {},
                               .k = k};
  const Device cpu = runtime_.service<DeviceRegistry>().find("cpu").value();
  std::vector<Placement> all{{cpu, exact::work_on_host(task, queries), "exact, cpu"}};
  for (const Device& device : exact_->devices().devices) {
    all.emplace_back(device, exact::work_on_device(task, queries, exact::scanned_bytes(task)),
                     "exact, " + device.label());
  }
  all.emplace_back(cpu,
                   graph::work_of_walks({.rows = static_cast<std::size_t>(snapshot->vectors()),
                                         .dim = dim(),
                                         .k = k,
                                         .recall = recall,
                                         .threads = runtime_.executor().concurrency()},
                                        queries),
                   "graph, cpu");
  return all;
}

AutoIndex::Judgement AutoIndex::judge() const {
  const std::vector<Placement> all = ways(1, 10, recall_);
  double scanning = planner(runtime_).assess(all.front()).predicted.seconds();
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    const Assessment device = planner(runtime_).assess(all[i]);
    if (device.excluded.empty()) scanning = std::min(scanning, device.predicted.seconds());
  }
  const double walking = planner(runtime_).assess(all.back()).predicted.seconds();
  const double building = graph::seconds_to_build(
      {.rows = size(), .dim = dim(), .recall = recall_, .threads = runtime_.executor().concurrency()});
  const double payback = scanning > walking ? building / (scanning - walking) : 0;
  const bool pays = scanning >= rules_.gain_min * walking && payback <= rules_.payback_max;
  return {pays,
          fmt::format("with {} vectors of {} numbers a query is predicted to take {} exactly and {} by a graph at "
                      "a recall of {}, which takes {:.3g} s to build, {}: a graph must be {} times as fast and "
                      "be paid for by {} queries",
                      size(), dim(), milliseconds(scanning), milliseconds(walking), recall_, building,
                      payback > 0 ? fmt::format("the time of {:.0f} queries", payback) : "and never pays",
                      rules_.gain_min, rules_.payback_max)};
}

void AutoIndex::build(std::string reason) {
  const auto snapshot = exact_->snapshot();
  exact::OwnedRows rows;
  for (const exact::SegmentView& view : snapshot->views) {
    exact::OwnedRows some = exact::live_rows(view);
    rows.vectors.insert(rows.vectors.end(), some.vectors.begin(), some.vectors.end());
    rows.ids.insert(rows.ids.end(), some.ids.begin(), some.ids.end());
  }
  std::shared_ptr<Index> made = make_graph_index(dim(), distance(), {}, runtime_);
  made->add_with_ids(rows.vectors, rows.ids);
  set_graph(std::move(made), std::move(reason));
}

void AutoIndex::follow(const std::function<void(Index&)>& change) {
  const auto there = graph();
  const std::size_t vectors = size();
  try {
    if (there && vectors < rules_.rows_min / 2) {
      judged_ = 0;
      set_graph(nullptr, fmt::format("it was dropped when {} vectors were left", vectors));
    } else if (there) {
      change(*there);
    } else if (vectors >= rules_.rows_min &&
               static_cast<double>(vectors) >= rules_.growth * static_cast<double>(judged_)) {
      judged_ = vectors;
      Judgement judgement = judge();
      if (judgement.pays) {
        build(std::move(judgement.text));
      } else {
        set_graph(nullptr, std::move(judgement.text));
      }
    }
  } catch (const std::exception& error) {  // the exact index has everything and goes on alone
    runtime_.logger().log(LogLevel::warning, "search",
                          fmt::format("an 'auto' index goes on without a graph: {}", error.what()));
    set_graph(nullptr, fmt::format("it could not be kept: {}", error.what()));
  }
}

std::uint64_t AutoIndex::add(std::span<const float> vectors) {
  const std::lock_guard lock(writer_);
  const std::uint64_t first = exact_->add(vectors);
  follow([&](Index& graph) { graph.add_with_ids(vectors, ids_from(first, vectors.size() / dim())); });
  return first;
}

void AutoIndex::add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  const std::lock_guard lock(writer_);
  exact_->add_with_ids(vectors, ids);
  follow([&](Index& graph) { graph.add_with_ids(vectors, ids); });
}

std::size_t AutoIndex::remove(std::span<const std::uint64_t> ids) {
  const std::lock_guard lock(writer_);
  const std::size_t removed = exact_->remove(ids);
  follow([&](Index& graph) { graph.remove(ids); });
  return removed;
}

void AutoIndex::update(std::uint64_t id, std::span<const float> vector) {
  const std::lock_guard lock(writer_);
  exact_->update(id, vector);
  follow([&](Index& graph) { graph.update(id, vector); });
}

void AutoIndex::upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  const std::lock_guard lock(writer_);
  exact_->upsert(vectors, ids);
  follow([&](Index& graph) { graph.upsert(vectors, ids); });
}

SearchResult AutoIndex::search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  const auto there = graph();
  const double recall = options.recall.value_or(recall_);
  if (!there || !(recall > 0 && recall < 1) || queries.empty() || k == 0) return exact_->search(queries, k, options);
  const std::vector<Placement> all = ways(queries.size() / dim(), k, recall);
  const Choice choice = planner(runtime_).choose(all);
  const bool walks = choice.index + 1 == all.size();
  SearchOptions asked = options;
  asked.recall = recall;
  SearchResult found = walks ? there->search(queries, k, asked) : exact_->search(queries, k, asked);
  // Where there are devices, the exact index chooses among them and records it itself.
  if (walks || all.size() == 2) planner(runtime_).record(all[choice.index], found.explanation().seconds);
  return with_reason(found, fmt::format("{}; {}", choice.reason, found.explanation().reason));
}

void AutoIndex::set_precision(Precision precision) {
  const std::lock_guard lock(writer_);
  exact_->set_precision(precision);
  if (exact_->compacted()) follow([&](Index&) { build("what is stored changed with the precision"); });
}

void AutoIndex::compact() {
  const std::lock_guard lock(writer_);
  exact_->compact();
  follow([&](Index&) { build("what is stored changed by compacting"); });
}

IndexStatistics AutoIndex::statistics() const {
  IndexStatistics all = exact_->statistics();
  if (const auto there = graph()) {
    const IndexStatistics more = there->statistics();
    all.bytes += more.bytes;
    all.searches += more.searches;
    all.queries += more.queries;
    if (all.vectors > 0) all.bytes_per_vector = static_cast<double>(all.bytes) / static_cast<double>(all.vectors);
  }
  return all;
}

std::string AutoIndex::explain(std::size_t queries, std::size_t k) const {
  const auto there = graph();
  std::string text = exact_->explain(queries, k);
  {
    const std::lock_guard lock(graph_lock_);
    text += fmt::format("{}: {}\n", there ? "a graph beside it" : "no graph", reason_);
  }
  if (!there) return text;
  text += there->explain(queries, k);
  return text + planner(runtime_).choose(ways(std::max<std::size_t>(queries, 1), k, recall_)).explain();
}

void AutoIndex::save(ByteWriter& writer) const {
  const std::lock_guard lock(writer_);  // both as they are now
  const auto there = graph();
  if (!there) return exact_->save(writer);
  writer.write(std::as_bytes(std::span(auto_mark)));
  writer.put(auto_version);
  exact::SummingWriter out(writer);
  out.put(std::uint64_t{0});  // what a reader must know: nothing yet
  out.put(std::uint64_t{0});  // nor a writer
  out.close();
  exact_->save(writer);
  there->save(writer);
}

void read_auto_header(ByteReader& reader) {
  exact::refuse_version(reader.get<std::uint32_t>(), auto_version);
  exact::SummingReader in(reader);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  in.close("header");
  exact::refuse_features("reader", reader_features, 0);
  exact::refuse_features("writer", writer_features, 0);
}

}  // namespace vectis::inline v0_1
