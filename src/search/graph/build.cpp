#include "search/graph/build.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "search/graph/beam_search.hpp"
#include "search/graph/prune.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t batch_max = 4096;    // rows
constexpr std::size_t batch_divisor = 32;  // a batch is at most 1/32 of the graph
constexpr std::size_t build_grain = 4;     // rows per task
constexpr std::size_t consolidated_batch = 1024;
constexpr std::size_t replacements_per_link = 4;
// Tombstones whose lists are read for one row. Without a limit, each row beside a large removed region would read all
// of it.
constexpr std::size_t followed_tombstones_max = 128;

// Work in visited rows, measured: rows that RobustPrune compares are read in order and pushed to no queue.
constexpr std::uint64_t pruned_per_visited = 4;
constexpr Work read_list_work = 4;
constexpr Work replaced_list_work = 40;  // candidates are collected from the lists of tombstones

struct BackLink {
  Slot to = 0;
  Slot from = 0;
  bool operator<(const BackLink& other) const noexcept { return to != other.to ? to < other.to : from < other.from; }
};

// Leaves the neighbors of a new row in prune.chosen.
void choose_neighbors(const Graph& graph, std::span<const Slot> entry_points, Slot slot, SearchScratch& search,
                      PruneScratch& prune) {
  search.query.set_row(graph.encoding.quantizer, graph.codes[slot]);
  const GraphParams& params = graph.params;
  beam_search(graph, entry_points, construction_beam(params), search);
  prune.candidates.clear();
  for (const Neighbor& found : search.best.sorted()) {
    if (found.slot() == slot) continue;
    prune.candidates.emplace_back(found.score() + search.query.squared_norm(), found.slot());
  }
  robust_prune(graph, prune.candidates, params.pruned_degree, prune);
}

// Adds back links to a row's list, and prunes the list when it becomes longer than the degree.
void add_back_links(const Graph& graph, Slot slot, std::span<const BackLink> back_links, PruneScratch& prune,
                    std::vector<Slot>& list) {
  list.resize(graph.links.degree() + back_links.size());
  std::size_t count = graph.links.read(slot, list.data());
  for (const BackLink& link : back_links) {
    const auto end = list.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(list.begin(), end, link.from) == end) list[count++] = link.from;
  }
  list.resize(count);
  if (count <= graph.links.degree()) {
    graph.links.write(slot, list);
    return;
  }
  robust_prune_slots(graph, slot, list, graph.params.pruned_degree, prune);
  graph.links.write(slot, prune.chosen);
}

// Returns the work that it took.
Work link_batch(Executor& executor, Graph& graph, std::span<const Slot> entry_points, std::span<const Slot> slots) {
  std::vector<std::vector<Slot>> chosen(slots.size());
  std::atomic<std::uint64_t> scored = 0;
  std::atomic<std::uint64_t> pruned = 0;
  executor.parallel_for(slots.size(), build_grain, [&](std::size_t begin, std::size_t end) {
    SearchScratch search(graph);
    PruneScratch prune(graph);
    for (std::size_t i = begin; i < end; ++i) {
      choose_neighbors(graph, entry_points, slots[i], search, prune);
      chosen[i] = prune.chosen;
    }
    scored += search.scored;
    pruned += prune.scored;
  });
  std::vector<BackLink> back_links;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    graph.links.write(slots[i], chosen[i]);
    for (const Slot to : chosen[i]) back_links.push_back({to, slots[i]});
  }
  std::sort(back_links.begin(), back_links.end());
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < back_links.size(); ++i) {
    if (i == 0 || back_links[i].to != back_links[i - 1].to) starts.push_back(i);
  }
  starts.push_back(back_links.size());
  executor.parallel_for(starts.size() - 1, build_grain, [&](std::size_t begin, std::size_t end) {
    PruneScratch prune(graph);
    std::vector<Slot> list;
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<const BackLink> own(back_links.data() + starts[i], starts[i + 1] - starts[i]);
      add_back_links(graph, own.front().to, own, prune, list);
    }
    pruned += prune.scored;
  });
  return scored + pruned / pruned_per_visited + read_list_work * (starts.size() - 1);
}

// Collects the live links of `row`, and instead of each tombstone its neighbors, through further tombstones until there
// are enough, or one after followed_tombstones_max of them. Tombstones keep their lists, so that rows that are
// consolidated at the same time see the same lists.
void replacement_candidates(const Graph& graph, Slot row, std::span<const Slot> list,
                            const std::function<bool(Slot)>& is_tombstone, std::vector<Slot>& candidates) {
  const std::size_t candidates_max = replacements_per_link * graph.links.degree();
  std::vector<Slot> links(graph.links.degree());
  std::vector<Slot> tombstones;  // in the order in which they were met
  VisitedSet visited;
  visited.clear(candidates_max);
  visited.insert(row);
  candidates.clear();
  const auto collect = [&](Slot slot) {
    if (visited.insert(slot)) (is_tombstone(slot) ? tombstones : candidates).push_back(slot);
  };
  for (const Slot link : list) collect(link);
  for (std::size_t i = 0; i < tombstones.size() && candidates.size() < candidates_max; ++i) {
    if (i >= followed_tombstones_max && !candidates.empty()) break;
    const std::size_t count = graph.links.read(tombstones[i], links.data());
    for (std::size_t j = 0; j < count; ++j) collect(links[j]);
  }
}

void consolidate_batch(Executor& executor, Graph& graph, std::span<const Slot> rows,
                       const std::function<bool(Slot)>& is_tombstone) {
  executor.parallel_for(rows.size(), build_grain, [&](std::size_t begin, std::size_t end) {
    DeleteConsolidator consolidator(graph);
    for (std::size_t i = begin; i < end; ++i) consolidator.consolidate(rows[i], is_tombstone);
  });
}

}  // namespace

DeleteConsolidator::DeleteConsolidator(const Graph& graph)
    : graph_(graph), prune_(graph), list_(graph.links.degree()) {}

Work DeleteConsolidator::consolidate(Slot row, const std::function<bool(Slot)>& is_tombstone) {
  const std::span<const Slot> links = std::span(list_).first(graph_.links.read(row, list_.data()));
  if (std::ranges::none_of(links, is_tombstone)) return read_list_work;
  replacement_candidates(graph_, row, links, is_tombstone, candidates_);
  const std::uint64_t before = prune_.scored;
  robust_prune_slots(graph_, row, candidates_, graph_.params.pruned_degree, prune_);
  graph_.links.write(row, prune_.chosen);
  return replaced_list_work + (prune_.scored - before) / pruned_per_visited;
}

Work link_rows(Executor& executor, Graph& graph, std::span<const Slot> entry_points, std::span<const Slot> slots,
               std::size_t linked_rows, const LinkProgress& progress) {
  std::size_t done = 0;
  Work work = 0;
  while (done < slots.size()) {
    const std::size_t batch =
        std::min({slots.size() - done, batch_max, std::max<std::size_t>(1, (linked_rows + done) / batch_divisor)});
    work += link_batch(executor, graph, entry_points, slots.subspan(done, batch));
    done += batch;
    if (progress) progress(done);
  }
  return work;
}

void consolidate_deletes(Executor& executor, Graph& graph, std::span<const Slot> rows,
                         const std::function<bool(Slot)>& is_tombstone, const LinkProgress& progress) {
  std::size_t done = 0;
  while (done < rows.size()) {
    const std::span<const Slot> batch = rows.subspan(done, std::min(rows.size() - done, consolidated_batch));
    consolidate_batch(executor, graph, batch, is_tombstone);
    done += batch.size();
    if (progress) progress(done);
  }
}

}  // namespace vectis::inline v0_1::graph
