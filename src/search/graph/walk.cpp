#include "search/graph/walk.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t met_at_first = 512;

// Scores walker.fresh[0..count) into walker.scores.
void score_fresh(const Graph& graph, Walker& walker, std::size_t count) {
  graph.score_rows(graph.frame, walker.query, walker.rows.data(), count, walker.scores.data());
  walker.scored += count;
}

// Rows of the list that were not met before go to walker.fresh, and their codes are on their way; returns how many.
template <class MetBefore>
std::size_t meet(const Graph& graph, std::span<const Slot> list, MetBefore& met, Walker& walker) {
  std::size_t count = 0;
  for (const Slot slot : list) {
    walker.fresh[count] = slot;
    count += static_cast<std::size_t>(met.insert(slot));
  }
  for (std::size_t i = 0; i < count; ++i) {
    walker.rows[i] = graph.codes[walker.fresh[i]];
    prefetch_row(graph.frame, walker.rows[i]);
  }
  return count;
}

template <class MetBefore>
std::size_t meet_neighbours(const Graph& graph, Slot here, MetBefore& met, Walker& walker) {
  const std::size_t links = graph.links.read(here, walker.neighbours.data());
  return meet(graph, std::span(walker.neighbours).first(links), met, walker);
}

void begin(const Graph& graph, std::span<const Slot> entries, std::size_t width, Walker& walker) {
  const std::size_t room = std::max(entries.size(), graph.links.degree());
  walker.make_room(room + 1);
  walker.neighbours.resize(graph.links.degree());
  walker.pool.start(width);
  walker.frontier.start();
  walker.visited.start(met_at_first / 4);
}

// The score from which on nothing is visited any more, given the best so far.
class Limit {
 public:
  Limit(const Effort& effort, const CodedQuery& query)
      : nearest_(effort.nearest), square_(query.square()), factor_(effort.slack * effort.slack) {}

  [[nodiscard]] float of(const Pool& pool) const noexcept {
    const std::span<const Place> places = pool.places();
    if (places.size() < nearest_) return std::numeric_limits<float>::infinity();
    return (places[nearest_ - 1].score() + square_) * factor_ - square_;
  }

 private:
  std::size_t nearest_;
  float square_;
  float factor_;
};

void prefetch_links(const Graph& graph, Slot slot) {
  const auto* const list = static_cast<const std::byte*>(graph.links.address(slot));
  __builtin_prefetch(list);
  __builtin_prefetch(list + line_bytes);
}

// The nearest row of the frontier that was not visited yet, unless it is too far.
std::optional<Slot> next_visit(Walker& walker, float visited_max) {
  while (!walker.frontier.empty() && walker.frontier.nearest().score() <= visited_max) {
    const Slot slot = walker.frontier.take();
    if (walker.visited.insert(slot)) return slot;
  }
  return std::nullopt;
}

// The walk of all others; rows that are not allowed are passed on the way. False when it scored too many rows.
template <class MetBefore, class Allowed>
bool walk_past(const Graph& graph, std::span<const Slot> entries, const Effort& effort, std::uint64_t scored_max,
               const Allowed& allowed, MetBefore& met, Walker& walker) {
  begin(graph, entries, effort.kept, walker);
  const Limit limit(effort, walker.query);
  const std::uint64_t scored_end = walker.scored + std::min(scored_max, ~walker.scored);
  float visited_max = std::numeric_limits<float>::infinity();
  for (std::size_t count = meet(graph, entries, met, walker);;) {
    score_fresh(graph, walker, count);
    for (std::size_t i = 0; i < count; ++i) {
      const float score = walker.scores[i];
      if (score <= visited_max) walker.frontier.push(score, walker.fresh[i]);
      if (score <= walker.pool.worst() && allowed(walker.fresh[i])) walker.pool.offer(score, walker.fresh[i]);
    }
    visited_max = effort.narrow ? std::min(limit.of(walker.pool), walker.pool.worst()) : limit.of(walker.pool);
    if (walker.scored > scored_end) return false;
    const std::optional<Slot> here = next_visit(walker, visited_max);
    if (!here) return true;
    if (!walker.frontier.empty()) prefetch_links(graph, walker.frontier.nearest().slot());
    count = meet_neighbours(graph, *here, met, walker);
  }
}

}  // namespace

Walker::Walker(const Graph& graph) : query(graph.frame) {}

void Walker::make_room(std::size_t count) {
  if (fresh.size() < count) fresh.resize(count);
  if (rows.size() < count) rows.resize(count);
  if (scores.size() < count) scores.resize(count);
}

void walk(const Graph& graph, std::span<const Slot> entries, const Effort& effort, Walker& walker) {
  walker.met_lately.start();
  walk_past(
      graph, entries, effort, std::numeric_limits<std::uint64_t>::max(), [](Slot) { return true; }, walker.met_lately,
      walker);
}

void walk_visible(const Graph& graph, std::span<const Slot> entries, const Effort& effort,
                  const std::function<bool(Slot)>& visible, Walker& walker) {
  walker.met_lately.start();
  walk_past(graph, entries, effort, std::numeric_limits<std::uint64_t>::max(), visible, walker.met_lately, walker);
}

bool walk_allowed(const Graph& graph, std::span<const Slot> entries, const Effort& effort, std::uint64_t scored_max,
                  const std::function<bool(Slot)>& allowed, Walker& walker) {
  walker.met.start(met_at_first);
  return walk_past(graph, entries, effort, scored_max, allowed, walker.met, walker);
}

}  // namespace vectis::inline v0_1::graph
