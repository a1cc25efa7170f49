#include "search/graph/build.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/graph/prune.hpp"
#include "search/graph/walk.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t batch_max = 4096;
constexpr std::size_t batch_share = 32;  // a batch is at most this part of what is linked
constexpr std::size_t grain = 4;
constexpr std::size_t heirs_per_link = 4;

struct Edge {
  Slot to = 0;
  Slot from = 0;
  bool operator<(const Edge& other) const noexcept { return to != other.to ? to < other.to : from < other.from; }
};

// The links of one new row, from a walk for it.
void choose_links(const Graph& graph, std::span<const Slot> entries, Slot slot, Walker& walker, Pruner& pruner) {
  walker.query.set_row(graph.frame, graph.codes[slot]);
  const GraphShape& shape = graph.shape;
  walk(graph, entries, {.nearest = shape.kept, .slack = shape.build_slack, .kept = shape.build_width, .narrow = true},
       walker);
  pruner.near.clear();
  for (const Place& place : walker.pool.places()) {
    if (place.slot() != slot) pruner.near.push_back({place.score() + walker.query.square(), place.slot()});
  }
  prune(graph, pruner.near, graph.shape.kept, pruner);
}

// Adds new links to a row's list, which is pruned when it is too long.
void take_in(const Graph& graph, Slot slot, std::span<const Edge> edges, Pruner& pruner, std::vector<Slot>& list) {
  list.resize(graph.links.degree() + edges.size());
  std::size_t count = graph.links.read(slot, list.data());
  for (const Edge& edge : edges) {
    if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count), edge.from) ==
        list.begin() + static_cast<std::ptrdiff_t>(count)) {
      list[count++] = edge.from;
    }
  }
  list.resize(count);
  if (count <= graph.links.degree()) {
    graph.links.write(slot, list);
    return;
  }
  prune_rows(graph, slot, list, graph.shape.kept, pruner);
  graph.links.write(slot, pruner.chosen);
}

void link_batch(Executor& executor, Graph& graph, std::span<const Slot> entries, std::span<const Slot> slots) {
  std::vector<std::vector<Slot>> chosen(slots.size());
  executor.parallel_for(slots.size(), grain, [&](std::size_t begin, std::size_t end) {
    Walker walker(graph);
    Pruner pruner(graph);
    for (std::size_t i = begin; i < end; ++i) {
      choose_links(graph, entries, slots[i], walker, pruner);
      chosen[i] = pruner.chosen;
    }
  });
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    graph.links.write(slots[i], chosen[i]);
    for (const Slot to : chosen[i]) edges.push_back({to, slots[i]});
  }
  std::sort(edges.begin(), edges.end());
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i == 0 || edges[i].to != edges[i - 1].to) starts.push_back(i);
  }
  starts.push_back(edges.size());
  executor.parallel_for(starts.size() - 1, grain, [&](std::size_t begin, std::size_t end) {
    Pruner pruner(graph);
    std::vector<Slot> list;
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<const Edge> own(edges.data() + starts[i], starts[i + 1] - starts[i]);
      take_in(graph, own.front().to, own, pruner, list);
    }
  });
}

// Links that stay, and in the place of removed rows the links those had, and so on through removed ones until there are
// enough. Removed rows keep their lists, so that rows relinked at the same time find the same.
void heirs(const Graph& graph, Slot row, std::span<const Slot> list, const std::function<bool(Slot)>& removed,
           std::vector<Slot>& candidates) {
  const std::size_t enough_heirs = heirs_per_link * graph.links.degree();
  std::vector<Slot> further(graph.links.degree());
  std::vector<Slot> passed;  // removed rows, in the order in which they were met
  Met met;
  met.start(enough_heirs);
  met.insert(row);
  candidates.clear();
  const auto take = [&](Slot slot) {
    if (met.insert(slot)) (removed(slot) ? passed : candidates).push_back(slot);
  };
  for (const Slot link : list) take(link);
  for (std::size_t i = 0; i < passed.size() && candidates.size() < enough_heirs; ++i) {
    const std::size_t count = graph.links.read(passed[i], further.data());
    for (std::size_t j = 0; j < count; ++j) take(further[j]);
  }
}

}  // namespace

void link_rows(Executor& executor, Graph& graph, std::span<const Slot> entries, std::span<const Slot> slots,
               std::size_t linked) {
  while (!slots.empty()) {
    const std::size_t batch = std::min({slots.size(), batch_max, std::max<std::size_t>(1, linked / batch_share)});
    link_batch(executor, graph, entries, slots.first(batch));
    slots = slots.subspan(batch);
    linked += batch;
  }
}

void relink_around(Executor& executor, Graph& graph, std::span<const Slot> rows,
                   const std::function<bool(Slot)>& removed) {
  executor.parallel_for(rows.size(), grain, [&](std::size_t begin, std::size_t end) {
    Pruner pruner(graph);
    std::vector<Slot> list(graph.links.degree());
    std::vector<Slot> candidates;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t links = graph.links.read(rows[i], list.data());
      if (std::none_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(links), removed)) continue;
      heirs(graph, rows[i], std::span(list).first(links), removed, candidates);
      prune_rows(graph, rows[i], candidates, graph.shape.kept, pruner);
      graph.links.write(rows[i], pruner.chosen);
    }
  });
}

}  // namespace vectis::inline v0_1::graph
