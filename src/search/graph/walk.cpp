#include "search/graph/walk.hpp"

#include <algorithm>

namespace vectis::inline v0_1::graph {

namespace {

// Rows that a walk of this width meets, for most graphs.
constexpr std::size_t met_per_place = 16;

// Scores walker.fresh[0..count) into walker.scores.
void score_fresh(const Graph& graph, Walker& walker, std::size_t count) {
  graph.score_rows(graph.frame, graph.codes, walker.query, walker.fresh.data(), count, walker.scores.data());
  walker.scored += count;
}

// Rows of the list that were not met before go to walker.fresh, and their codes are on their way; returns how many.
std::size_t meet(const Graph& graph, std::span<const Slot> list, Walker& walker) {
  std::size_t count = 0;
  for (const Slot slot : list) {
    if (!walker.met.insert(slot)) continue;
    walker.fresh[count++] = slot;
    prefetch_row(graph.frame, graph.codes[slot]);
  }
  return count;
}

std::size_t meet_neighbours(const Graph& graph, Slot here, Walker& walker) {
  const std::size_t links = graph.links.read(here, walker.neighbours.data());
  return meet(graph, std::span(walker.neighbours).first(links), walker);
}

void begin(const Graph& graph, std::span<const Slot> entries, std::size_t width, Walker& walker) {
  const std::size_t room = std::max(entries.size(), graph.links.degree());
  walker.fresh.resize(std::max(walker.fresh.size(), room));
  walker.scores.resize(std::max(walker.scores.size(), room));
  walker.neighbours.resize(graph.links.degree());
  walker.pool.start(width);
  walker.met.start(width * met_per_place);
}

void offer_fresh(Walker& walker, std::size_t count) {
  float worst = walker.pool.worst();
  for (std::size_t i = 0; i < count; ++i) {
    if (walker.scores[i] > worst) continue;
    walker.pool.offer(walker.scores[i], walker.fresh[i]);
    worst = walker.pool.worst();
  }
}

void prefetch_links(const Graph& graph, Slot slot) {
  const auto* const list = static_cast<const std::byte*>(graph.links.address(slot));
  __builtin_prefetch(list);
  __builtin_prefetch(list + 64);
}

}  // namespace

Walker::Walker(const Graph& graph) : query(graph.frame) {}

void walk(const Graph& graph, std::span<const Slot> entries, std::size_t width, Walker& walker) {
  begin(graph, entries, width, walker);
  std::size_t count = meet(graph, entries, walker);
  score_fresh(graph, walker, count);
  offer_fresh(walker, count);
  for (Slot here = 0; walker.pool.visit_next(here);) {
    if (const Place* likely = walker.pool.peek()) prefetch_links(graph, likely->slot());
    count = meet_neighbours(graph, here, walker);
    if (count == 0) continue;
    score_fresh(graph, walker, count);
    offer_fresh(walker, count);
  }
}

bool walk_allowed(const Graph& graph, std::span<const Slot> entries, std::size_t width, std::uint64_t scored_max,
                  const std::function<bool(Slot)>& allowed, Walker& walker) {
  const auto further = [](const Place& a, const Place& b) { return b < a; };
  begin(graph, entries, width, walker);
  walker.frontier.clear();
  const std::uint64_t before = walker.scored;
  for (std::size_t count = meet(graph, entries, walker);;) {
    score_fresh(graph, walker, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (walker.scores[i] > walker.pool.worst()) continue;
      walker.frontier.emplace_back(walker.scores[i], walker.fresh[i]);
      std::push_heap(walker.frontier.begin(), walker.frontier.end(), further);
      if (allowed(walker.fresh[i])) walker.pool.offer(walker.scores[i], walker.fresh[i]);
    }
    if (walker.scored - before > scored_max) return false;
    if (walker.frontier.empty() || walker.frontier.front().score() > walker.pool.worst()) return true;
    const Slot here = walker.frontier.front().slot();
    std::pop_heap(walker.frontier.begin(), walker.frontier.end(), further);
    walker.frontier.pop_back();
    if (!walker.frontier.empty()) prefetch_links(graph, walker.frontier.front().slot());
    count = meet_neighbours(graph, here, walker);
  }
}

}  // namespace vectis::inline v0_1::graph
