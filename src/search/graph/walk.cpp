#include "search/graph/walk.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t visited_at_first = 128;

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
  walker.visited.start(visited_at_first);
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
std::optional<Place> next_visit(Walker& walker, float visited_max) {
  while (!walker.frontier.empty() && walker.frontier.nearest().score() <= visited_max) {
    const Place place = walker.frontier.take();
    if (walker.visited.insert(place.slot())) return place;
  }
  return std::nullopt;
}

// Of a walk that is never given up.
struct Endless {
  [[nodiscard]] static constexpr bool visit(const Place& /*next*/, const Walker& /*walker*/) noexcept { return true; }
};

// Records where the search would have stopped with each of several epsilons. A search with a smaller epsilon is a
// prefix of one with a larger epsilon: both expand the same nodes in the same order, one of them stops earlier.
class StopRecorder {
 public:
  StopRecorder(const Effort& effort, std::span<const float> epsilons, const CodedQuery& query,
               std::vector<SearchStop>& stops)
      : stops_(stops) {
    for (const float epsilon : epsilons)
      limits_.emplace_back(Effort{.nearest = effort.nearest, .slack = epsilon}, query);
    stops_.clear();
  }
  [[nodiscard]] bool visit(const Place& next, const Walker& walker) {
    while (stops_.size() < limits_.size() && next.score() > limits_[stops_.size()].of(walker.pool)) record(walker);
    return true;
  }
  // At the end of the search, for the epsilons that did not stop it earlier.
  void finish(const Walker& walker) {
    while (stops_.size() < limits_.size()) record(walker);
  }

 private:
  void record(const Walker& walker) {
    const std::span<const Place> places = walker.pool.places();
    stops_.push_back({{places.begin(), places.end()}, walker.scored});
  }

  std::vector<Limit> limits_;
  std::vector<SearchStop>& stops_;
};

// Whether a walk past rows that are not allowed is worth going on. How many rows it will score follows from the share
// of allowed ones among those it visits: of the later half of them, since the first are on its way to the query.
template <class Allowed>
class Hope {
 public:
  Hope(const Patience& patience, const Allowed& allowed, std::uint64_t scored)
      : patience_(patience), allowed_(allowed), scored_before_(scored) {}

  // False: give up.
  [[nodiscard]] bool visit(const Place& next, const Walker& walker) {
    if (static_cast<double>(walker.scored - scored_before_) > patience_.scored_max) return false;
    found_ += allowed_(next.slot()) ? 1 : 0;
    if (++visits_ < window_end_) return true;
    const double visits = static_cast<double>(window_end_) / 2;
    const double hoped = patience_.share * visits / (found_ + 1);
    window_end_ *= 2;
    found_ = 0;
    return window_end_ == 2 * first_window || hoped * patience_.expected <= patience_.scored_max;
  }

 private:
  static constexpr std::size_t first_window = 64;
  const Patience& patience_;
  const Allowed& allowed_;
  std::uint64_t scored_before_;
  std::size_t visits_ = 0;
  std::size_t window_end_ = first_window;
  double found_ = 0;  // allowed ones since the last window ended
};

// The walk of all others; rows that are not allowed are passed on the way. False when it was given up.
template <class MetBefore, class Allowed, class GoingOn>
bool walk_past(const Graph& graph, std::span<const Slot> entries, const Effort& effort, const Allowed& allowed,
               MetBefore& met, GoingOn& going_on, Walker& walker) {
  begin(graph, entries, effort.kept, walker);
  const Limit limit(effort, walker.query);
  float visited_max = std::numeric_limits<float>::infinity();
  for (std::size_t count = meet(graph, entries, met, walker);;) {
    score_fresh(graph, walker, count);
    for (std::size_t i = 0; i < count; ++i) {
      const float score = walker.scores[i];
      if (score <= visited_max) walker.frontier.push(score, walker.fresh[i]);
      if (score <= walker.pool.worst() && allowed(walker.fresh[i])) walker.pool.offer(score, walker.fresh[i]);
    }
    visited_max = effort.narrow ? std::min(limit.of(walker.pool), walker.pool.worst()) : limit.of(walker.pool);
    const std::optional<Place> here = next_visit(walker, visited_max);
    if (!here) return true;
    if (!going_on.visit(*here, walker)) return false;
    if (!walker.frontier.empty()) prefetch_links(graph, walker.frontier.nearest().slot());
    count = meet_neighbours(graph, here->slot(), met, walker);
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
  Endless endless;
  walk_past(graph, entries, effort, [](Slot) { return true; }, walker.met_lately, endless, walker);
}

void walk_visible(const Graph& graph, std::span<const Slot> entries, const Effort& effort,
                  const std::function<bool(Slot)>& visible, Walker& walker) {
  walker.met_lately.start();
  Endless endless;
  walk_past(graph, entries, effort, visible, walker.met_lately, endless, walker);
}

void walk_with_stops(const Graph& graph, std::span<const Slot> entries, const Effort& effort,
                     std::span<const float> epsilons, const std::function<bool(Slot)>& visible, Walker& walker,
                     std::vector<SearchStop>& stops) {
  Effort widest = effort;
  widest.slack = epsilons.back();
  StopRecorder recorder(effort, epsilons, walker.query, stops);
  walker.met_lately.start();
  walk_past(graph, entries, widest, visible, walker.met_lately, recorder, walker);
  recorder.finish(walker);
}

bool walk_allowed(const Graph& graph, std::span<const Slot> entries, const Effort& effort, const Patience& patience,
                  const std::function<bool(Slot)>& allowed, Walker& walker) {
  walker.met.start();
  Hope hope(patience, allowed, walker.scored);
  return walk_past(graph, entries, effort, allowed, walker.met, hope, walker);
}

}  // namespace vectis::inline v0_1::graph
