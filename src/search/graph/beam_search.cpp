#include "search/graph/beam_search.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t expected_expansions = 128;

// Scores scratch.unvisited[0..count) into scratch.scores.
void score_unvisited(const Graph& graph, SearchScratch& scratch, std::size_t count) {
  graph.score_rows(graph.encoding.quantizer, scratch.query, scratch.rows.data(), count, scratch.scores.data());
  scratch.scored += count;
}

// Moves the slots that were not visited before to scratch.unvisited and prefetches their codes. Returns their number.
template <class Visited>
std::size_t collect_unvisited(const Graph& graph, std::span<const Slot> slots, Visited& visited,
                              SearchScratch& scratch) {
  std::size_t count = 0;
  for (const Slot slot : slots) {
    scratch.unvisited[count] = slot;
    count += static_cast<std::size_t>(visited.insert(slot));
  }
  for (std::size_t i = 0; i < count; ++i) {
    scratch.rows[i] = graph.codes[scratch.unvisited[i]];
    prefetch_codes(graph.encoding.quantizer, scratch.rows[i]);
  }
  return count;
}

template <class Visited>
std::size_t collect_unvisited_neighbors(const Graph& graph, Slot row, Visited& visited, SearchScratch& scratch) {
  const std::size_t links = graph.links.read(row, scratch.links.data());
  return collect_unvisited(graph, std::span(scratch.links).first(links), visited, scratch);
}

// Scores the entry points and moves the nearest `starts` of them to scratch.unvisited and scratch.scores. Returns their
// number. Only those count as scored and visited: the others are scored faster, and the search may meet them again.
template <class Visited>
std::size_t nearest_entry_points(const Graph& graph, std::span<const Slot> entry_points, std::size_t starts,
                                 Visited& visited, SearchScratch& scratch) {
  for (std::size_t i = 0; i < entry_points.size(); ++i) scratch.rows[i] = graph.codes[entry_points[i]];
  graph.score_rows(graph.encoding.quantizer, scratch.query, scratch.rows.data(), entry_points.size(),
                   scratch.scores.data());
  scratch.starts.clear(starts);
  for (std::size_t i = 0; i < entry_points.size(); ++i) {
    if (scratch.scores[i] <= scratch.starts.worst_score()) scratch.starts.push(scratch.scores[i], entry_points[i]);
  }
  std::size_t count = 0;
  for (const Neighbor& start : scratch.starts.sorted()) {
    visited.insert(start.slot());
    scratch.unvisited[count] = start.slot();
    scratch.scores[count++] = start.score();
  }
  scratch.scored += count;
  return count;
}

void start_search(const Graph& graph, std::span<const Slot> entry_points, std::size_t width, SearchScratch& scratch) {
  const std::size_t room = std::max(entry_points.size(), graph.links.degree());
  scratch.reserve(room + 1);
  scratch.links.resize(graph.links.degree());
  scratch.best.clear(width);
  scratch.frontier.clear();
  scratch.expanded.clear(expected_expansions);
}

// The score from which on no row is expanded, given the best rows so far.
class StoppingRule {
 public:
  StoppingRule(const BeamParams& params, float epsilon, const QuantizedQuery& query)
      : k_(params.k),
        expanded_(std::min(params.k, BeamParams::expanded_min)),
        squared_norm_(query.squared_norm()),
        epsilon_squared_(epsilon * epsilon) {
    if (params.widens && ef_of(params.k, epsilon) > params.k) expanded_ = ef_of(params.k, epsilon);
  }

  [[nodiscard]] float score_limit(const TopK& best) const noexcept {
    const std::span<const Neighbor> sorted = best.sorted();
    if (sorted.size() < std::max(k_, expanded_)) return std::numeric_limits<float>::infinity();
    const float limit = (sorted[k_ - 1].score() + squared_norm_) * epsilon_squared_ - squared_norm_;
    return std::max(limit, sorted[expanded_ - 1].score());
  }

 private:
  std::size_t k_;
  std::size_t expanded_;  // best rows that are expanded, however far they are
  float squared_norm_;
  float epsilon_squared_;
};

// Bounds how many rows that are exactly as far as the k-th best are expanded. They cannot improve it, and copies of one
// vector lead to the same rows: without a bound a search beside a vector with thousands of copies expands them all. The
// same for every epsilon and width.
class TieLimit {
 public:
  explicit TieLimit(std::size_t k) : k_(k) {}
  // Call it before the next rows are tested.
  void update(const TopK& best) noexcept {
    const std::span<const Neighbor> sorted = best.sorted();
    if (sorted.size() < k_ || sorted[k_ - 1].score() == score_) return;
    score_ = sorted[k_ - 1].score();
    ties_ = 0;
  }
  // Whether a row with this score may be expanded; counts it.
  [[nodiscard]] bool may_expand(float score) noexcept { return score != score_ || ++ties_ <= ties_max; }

 private:
  static constexpr std::size_t ties_max = 16;
  std::size_t k_;
  float score_ = std::numeric_limits<float>::quiet_NaN();  // of the k-th best
  std::size_t ties_ = 0;
};

void prefetch_links(const Graph& graph, Slot slot) {
  const auto* const list = static_cast<const std::byte*>(graph.links.address(slot));
  __builtin_prefetch(list);
  __builtin_prefetch(list + cache_line_bytes);
}

// Where a search was left that goes on later, besides its scratch.
struct ResumePoint {
  explicit ResumePoint(std::size_t k) : ties(k) {}
  TieLimit ties;
  std::optional<Neighbor> next;  // the row to expand; none before the search
};

// Pops the nearest row that was not expanded yet; nothing when it is farther than the limit.
std::optional<Neighbor> next_expansion(SearchScratch& scratch, float score_limit) {
  while (!scratch.frontier.empty() && scratch.frontier.nearest().score() <= score_limit) {
    const Neighbor nearest = scratch.frontier.pop();
    if (scratch.expanded.insert(nearest.slot())) return nearest;
  }
  return std::nullopt;
}

// Early-termination policies: may_expand() is called before each expansion; false ends the search.

struct NeverTerminate {
  [[nodiscard]] static constexpr bool may_expand(const Neighbor& /*next*/, const SearchScratch& /*scratch*/) noexcept {
    return true;
  }
};

// Terminates when the search has scored too many rows.
class GiveUp {
 public:
  GiveUp(std::uint64_t scores_max, std::uint64_t scored_before)
      : scored_max_(scores_max > ~scored_before ? ~std::uint64_t{0} : scored_before + scores_max) {}
  [[nodiscard]] bool may_expand(const Neighbor& /*next*/, const SearchScratch& scratch) const noexcept {
    return scratch.scored <= scored_max_;
  }

 private:
  std::uint64_t scored_max_;
};

// Records where the search would have stopped with each of several epsilons. A search with a smaller epsilon is a
// prefix of one with a larger epsilon: both expand the same rows in the same order, and one stops earlier.
class StopRecorder {
 public:
  StopRecorder(const BeamParams& params, std::span<const float> epsilons, const SearchScratch& scratch,
               std::vector<SearchStop>& stops)
      : stops_(stops), give_up_(params.scores_max, scratch.scored) {
    for (const float epsilon : epsilons) rules_.emplace_back(params, epsilon, scratch.query);
    stops_.clear();
  }
  [[nodiscard]] bool may_expand(const Neighbor& next, const SearchScratch& scratch) {
    while (stops_.size() < rules_.size() && next.score() > rules_[stops_.size()].score_limit(scratch.best)) {
      record(scratch, false);
    }
    paused_ = scratch.scored >= pause_at_;
    return !paused_ && give_up_.may_expand(next, scratch);
  }
  // The search returns when it has scored so many rows; then paused() is true.
  void pause_at(std::uint64_t scored) { pause_at_ = scored; }
  [[nodiscard]] bool paused() const { return paused_; }
  // After the search, for the epsilons that did not stop it earlier.
  void finish(const SearchScratch& scratch, bool finished) {
    while (stops_.size() < rules_.size()) record(scratch, !finished);
  }

 private:
  void record(const SearchScratch& scratch, bool gave_up) {
    const std::span<const Neighbor> sorted = scratch.best.sorted();
    stops_.push_back({{sorted.begin(), sorted.end()}, scratch.scored, gave_up});
  }

  std::vector<StoppingRule> rules_;
  std::vector<SearchStop>& stops_;
  GiveUp give_up_;
  std::uint64_t pause_at_ = std::numeric_limits<std::uint64_t>::max();
  bool paused_ = false;
};

// Terminates when the budget is used up, or will be: the number of rows that the search will score is predicted from
// the share of allowed rows among those expanded, in windows that double. The prediction uses the last window only,
// because the first expansions are on the way to the query. The first window predicts nothing.
template <class Allowed>
class BudgetPolicy {
 public:
  BudgetPolicy(const FilterBudget& budget, const Allowed& allowed, std::uint64_t scored_before)
      : budget_(budget), allowed_(allowed), scored_before_(scored_before) {}

  [[nodiscard]] bool may_expand(const Neighbor& next, const SearchScratch& scratch) {
    if (static_cast<double>(scratch.scored - scored_before_) > budget_.scores_max) return false;
    allowed_in_window_ += allowed_(next.slot()) ? 1 : 0;
    if (++expansions_ < window_end_) return true;
    const double window = static_cast<double>(window_end_) / 2;
    const double slowdown = budget_.selectivity * window / (allowed_in_window_ + 1);
    window_end_ *= 2;
    allowed_in_window_ = 0;
    return window_end_ == 2 * first_window || slowdown * budget_.expected_scores <= budget_.scores_max;
  }

 private:
  static constexpr std::size_t first_window = 64;  // expansions
  const FilterBudget& budget_;
  const Allowed& allowed_;
  std::uint64_t scored_before_;
  std::size_t expansions_ = 0;
  std::size_t window_end_ = first_window;
  double allowed_in_window_ = 0;
};

// Returns false when the policy ended the search. Goes on where `resume` says, if it has a row, and leaves the next row
// there.
template <class Visited, class Allowed, class Policy>
bool best_first_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                       const Allowed& allowed, Visited& visited, Policy& policy, SearchScratch& scratch,
                       ResumePoint& resume) {
  const StoppingRule rule(params, params.epsilon, scratch.query);
  TieLimit& ties = resume.ties;
  float score_limit = std::numeric_limits<float>::infinity();
  std::size_t count = 0;
  if (resume.next) {
    score_limit = rule.score_limit(scratch.best);
    count = collect_unvisited_neighbors(graph, resume.next->slot(), visited, scratch);
    score_unvisited(graph, scratch, count);
  } else {
    start_search(graph, entry_points, params.width, scratch);
    if (params.skipped != AdjacencyLists::no_link) scratch.expanded.insert(params.skipped);
    count = nearest_entry_points(graph, entry_points, params.starts, visited, scratch);
  }
  for (;;) {
    for (std::size_t i = 0; i < count; ++i) {
      const float score = scratch.scores[i];
      const Slot slot = scratch.unvisited[i];
      if (score <= score_limit && ties.may_expand(score)) scratch.frontier.push(score, slot);
      if (score <= scratch.best.worst_score() && allowed(slot)) scratch.best.push(score, slot);
    }
    score_limit = rule.score_limit(scratch.best);
    ties.update(scratch.best);
    if (params.bounded) score_limit = std::min(score_limit, scratch.best.worst_score());
    const std::optional<Neighbor> next = next_expansion(scratch, score_limit);
    if (!next) return true;
    if (!policy.may_expand(*next, scratch)) {
      resume.next = next;
      return false;
    }
    if (!scratch.frontier.empty()) prefetch_links(graph, scratch.frontier.nearest().slot());
    count = collect_unvisited_neighbors(graph, next->slot(), visited, scratch);
    score_unvisited(graph, scratch, count);
  }
}

template <class Visited, class Allowed, class Policy>
bool best_first_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                       const Allowed& allowed, Visited& visited, Policy& policy, SearchScratch& scratch) {
  ResumePoint resume(params.k);
  return best_first_search(graph, entry_points, params, allowed, visited, policy, scratch, resume);
}

// Calls best_first_search with the set of visited rows that the parameters ask for.
template <class Allowed, class Policy>
bool search_visible(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                    const Allowed& allowed, Policy& policy, SearchScratch& scratch) {
  if (params.exact_visited) {
    scratch.visited_bitmap.clear();
    return best_first_search(graph, entry_points, params, allowed, scratch.visited_bitmap, policy, scratch);
  }
  scratch.visited_filter.clear();
  return best_first_search(graph, entry_points, params, allowed, scratch.visited_filter, policy, scratch);
}

}  // namespace

std::size_t ef_of(std::size_t k, float epsilon) noexcept {
  // Measured: most data needs no larger epsilon than 1.1 for a recall of 0.99, and is faster without this.
  const float beyond = std::max(0.0F, epsilon - 1.1F);
  return k + static_cast<std::size_t>((40 + 400 * beyond) * beyond * static_cast<float>(k));
}

BeamParams construction_beam(const GraphParams& params) noexcept {
  return {.k = params.pruned_degree,
          .epsilon = params.construction_epsilon,
          .width = params.ef_construction,
          .starts = 16,
          .bounded = true};
}

SearchScratch::SearchScratch(const Graph& graph) : query(graph.encoding.quantizer) {}

void SearchScratch::reserve(std::size_t count) {
  if (unvisited.size() < count) unvisited.resize(count);
  if (rows.size() < count) rows.resize(count);
  if (scores.size() < count) scores.resize(count);
}

void beam_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                 SearchScratch& scratch) {
  scratch.visited_filter.clear();
  NeverTerminate policy;
  best_first_search(graph, entry_points, params, [](Slot) { return true; }, scratch.visited_filter, policy, scratch);
}

bool beam_search_below(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                       std::size_t end, SearchScratch& scratch) {
  GiveUp policy(params.scores_max, scratch.scored);
  return search_visible(graph, entry_points, params, [end](Slot slot) { return slot < end; }, policy, scratch);
}

bool beam_search_visible(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                         const std::function<bool(Slot)>& visible, SearchScratch& scratch) {
  GiveUp policy(params.scores_max, scratch.scored);
  return search_visible(graph, entry_points, params, visible, policy, scratch);
}

void beam_search_at_epsilons(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                             std::span<const float> epsilons, const std::function<bool(Slot)>& visible,
                             SearchScratch& scratch, std::vector<SearchStop>& stops) {
  BeamParams widest = params;
  widest.epsilon = epsilons.back();
  StopRecorder recorder(params, epsilons, scratch, stops);
  const bool finished = search_visible(graph, entry_points, widest, visible, recorder, scratch);
  recorder.finish(scratch, finished);
}

Steps beam_search_at_epsilons_in_steps(const Graph* graph, std::span<const Slot> entry_points, BeamParams params,
                                       std::span<const float> epsilons, std::function<bool(Slot)> visible,
                                       SearchScratch* scratch, std::vector<SearchStop>* stops) {
  constexpr std::uint64_t scored_at_once = 500;
  params.epsilon = epsilons.back();
  StopRecorder recorder(params, epsilons, *scratch, *stops);
  ResumePoint resume(params.k);
  scratch->visited_bitmap.clear();
  for (;;) {
    const std::uint64_t before = scratch->scored;
    recorder.pause_at(before + scored_at_once);
    const bool finished =
        best_first_search(*graph, entry_points, params, visible, scratch->visited_bitmap, recorder, *scratch, resume);
    co_yield Pause{.done = scratch->scored - before, .next = scored_at_once};
    if (!finished && recorder.paused()) continue;
    recorder.finish(*scratch, finished);
    break;
  }
}

bool filtered_beam_search(const Graph& graph, std::span<const Slot> entry_points, const BeamParams& params,
                          const FilterBudget& budget, const std::function<bool(Slot)>& allowed,
                          SearchScratch& scratch) {
  scratch.visited_bitmap.clear();
  BudgetPolicy policy(budget, allowed, scratch.scored);
  return best_first_search(graph, entry_points, params, allowed, scratch.visited_bitmap, policy, scratch);
}

}  // namespace vectis::inline v0_1::graph
