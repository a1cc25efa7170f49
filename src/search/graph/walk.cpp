#include "search/graph/walk.hpp"

#include <algorithm>
#include <limits>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t met_at_first = 512;

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
  walker.met.start(met_at_first);
}

// The score that is too far to be visited or kept, given what is in the pool.
class Limit {
 public:
  Limit(const Effort& effort, const CodedQuery& query)
      : effort_(effort), square_(query.square()), factor_(effort.slack * effort.slack) {}

  [[nodiscard]] float visited(const Pool& pool) const noexcept {
    const std::span<const Place> places = pool.places();
    if (places.size() < effort_.nearest) return std::numeric_limits<float>::infinity();
    return std::min(pool.worst(), (places[effort_.nearest - 1].score() + square_) * factor_ - square_);
  }
  [[nodiscard]] float kept(const Pool& pool, float visited) const noexcept {
    const std::span<const Place> places = pool.places();
    if (places.size() < effort_.kept) return std::numeric_limits<float>::infinity();
    return std::min(pool.worst(), std::max(visited, places[effort_.kept - 1].score()));
  }

 private:
  const Effort& effort_;
  float square_;
  float factor_;
};

void prefetch_links(const Graph& graph, Slot slot) {
  const auto* const list = static_cast<const std::byte*>(graph.links.address(slot));
  __builtin_prefetch(list);
  __builtin_prefetch(list + line_bytes);
}

}  // namespace

Walker::Walker(const Graph& graph) : query(graph.frame) {}

void walk(const Graph& graph, std::span<const Slot> entries, const Effort& effort, Walker& walker) {
  begin(graph, entries, effort.width, walker);
  const Limit limit(effort, walker.query);
  float visited = limit.visited(walker.pool);
  std::size_t count = meet(graph, entries, walker);
  for (;;) {
    score_fresh(graph, walker, count);
    const float kept = limit.kept(walker.pool, visited);
    for (std::size_t i = 0; i < count; ++i) {
      if (walker.scores[i] <= kept) walker.pool.offer(walker.scores[i], walker.fresh[i]);
    }
    visited = limit.visited(walker.pool);
    do {
      const Place* const next = walker.pool.peek();
      if (next == nullptr || next->score() > visited) return;
      Slot here = 0;
      walker.pool.visit_next(here);
      if (const Place* const likely = walker.pool.peek()) prefetch_links(graph, likely->slot());
      count = meet_neighbours(graph, here, walker);
    } while (count == 0);
  }
}

bool walk_allowed(const Graph& graph, std::span<const Slot> entries, const Effort& effort, std::uint64_t scored_max,
                  const std::function<bool(Slot)>& allowed, Walker& walker) {
  const auto further = [](const Place& a, const Place& b) { return b < a; };
  begin(graph, entries, effort.width, walker);
  const Limit limit(effort, walker.query);
  walker.frontier.clear();
  const std::uint64_t before = walker.scored;
  for (std::size_t count = meet(graph, entries, walker);;) {
    score_fresh(graph, walker, count);
    for (std::size_t i = 0; i < count; ++i) {
      const float visited = limit.visited(walker.pool);
      if (walker.scores[i] <= visited) {
        walker.frontier.emplace_back(walker.scores[i], walker.fresh[i]);
        std::push_heap(walker.frontier.begin(), walker.frontier.end(), further);
      }
      if (walker.scores[i] <= limit.kept(walker.pool, visited) && allowed(walker.fresh[i])) {
        walker.pool.offer(walker.scores[i], walker.fresh[i]);
      }
    }
    if (walker.scored - before > scored_max) return false;
    if (walker.frontier.empty() || walker.frontier.front().score() > limit.visited(walker.pool)) return true;
    const Slot here = walker.frontier.front().slot();
    std::pop_heap(walker.frontier.begin(), walker.frontier.end(), further);
    walker.frontier.pop_back();
    if (!walker.frontier.empty()) prefetch_links(graph, walker.frontier.front().slot());
    count = meet_neighbours(graph, here, walker);
  }
}

}  // namespace vectis::inline v0_1::graph
