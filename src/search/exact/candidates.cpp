#include "search/exact/candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "search/common/exact_distances.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr std::size_t found_extra = 128;       // candidates beyond 4 k before the first reranking
constexpr std::size_t found_limit_min = 4096;  // candidates of a query at most, or 4 k + found_extra

// The k smallest upper bounds (fewer when there are fewer candidates) as a heap, the largest first.
std::vector<double> smallest_uppers(std::span<const Candidate> candidates, std::size_t k) {
  std::vector<double> uppers(candidates.size());
  std::transform(candidates.begin(), candidates.end(), uppers.begin(), [](const Candidate& c) { return c.upper; });
  if (k < uppers.size()) {
    std::nth_element(uppers.begin(), uppers.begin() + static_cast<std::ptrdiff_t>(k - 1), uppers.end());
    uppers.resize(k);
  }
  std::make_heap(uppers.begin(), uppers.end());
  return uppers;
}

// Candidates lie anywhere in memory: prefetches the begins of the next rows while these are computed.
void prefetch_rows(const SearchTask& task, std::span<const Candidate> candidates) noexcept {
  constexpr std::size_t line = 64 / sizeof(float);
  constexpr std::size_t ahead = 16 * line;  // beyond that the hardware prefetcher follows
  for (const Candidate& candidate : candidates) {
    const SegmentView& segment = task.segments[candidate.segment];
    if (segment.originals == nullptr) continue;
    const float* const row = segment.originals + candidate.row * task.dim;
    for (std::size_t i = 0; i < std::min(task.dim, ahead); i += line) __builtin_prefetch(row + i);
  }
}

// The upper bound of the rank that follows from an exact distance; the factors cover the rounding of the root and of
// the difference from 1.
double upper_of_distance(Metric metric, double value) noexcept {
  switch (metric) {
    case Metric::l2:
      return value * value * (1 + 0x1p-48);
    case Metric::cosine:
      return value - 1 + 0x1p-48;
    default:
      return value;
  }
}

// Computes the exact distances that are not known yet. Changes the order of the candidates.
void compute_missing(const SearchTask& task, std::size_t query, std::span<Candidate> candidates) {
  const auto computed =
      std::partition(candidates.begin(), candidates.end(), [](const Candidate& c) { return !c.is_computed(); });
  const std::span<Candidate> missing(candidates.begin(), computed);
  compute_distances(task, query, missing);
  for (Candidate& candidate : missing) {
    candidate.upper = std::min(candidate.upper, upper_of_distance(task.metric, candidate.distance));
  }
}

// Computes the exact distances of the k candidates with the smallest lower bounds, rounded up to whole batches: then
// the k-th smallest upper bound is close to the k-th smallest rank.
void compute_promising(const SearchTask& task, std::size_t query, std::span<Candidate> candidates) {
  const std::size_t wanted =
      std::min(task.k, SIZE_MAX / 2) / detail::exact_distances_batch * detail::exact_distances_batch +
      detail::exact_distances_batch;
  const std::size_t count = std::min(wanted, candidates.size());
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count - 1), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.lower < b.lower; });
  compute_missing(task, query, candidates.first(count));
}

void drop_above(double limit, std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [&](const Candidate& c) { return c.lower > limit; });
}

// Keeps the k nearest, nearest first, equal distances by lower id. Precondition: all exact distances are computed.
void keep_nearest(const SearchTask& task, std::vector<Candidate>& candidates) {
  const auto id = [&](const Candidate& c) { return task.segments[c.segment].ids[c.row]; };
  const std::size_t kept = std::min(task.k, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(kept), candidates.end(),
                    [&](const Candidate& a, const Candidate& b) {
                      return a.distance != b.distance ? a.distance < b.distance : id(a) < id(b);
                    });
  candidates.resize(kept);
}

}  // namespace

double initial_limit(const SearchTask& task) noexcept {
  return task.options->radius ? rank_of_distance(task.metric, *task.options->radius) : no_limit;
}

void compute_distances(const SearchTask& task, std::size_t query, std::span<Candidate> candidates) {
  std::vector<float> decoded;
  for (std::size_t first = 0; first < candidates.size(); first += detail::exact_distances_batch) {
    const std::size_t count = std::min(detail::exact_distances_batch, candidates.size() - first);
    const std::size_t next = std::min(first + detail::exact_distances_batch, candidates.size());
    prefetch_rows(task, candidates.subspan(next, std::min(detail::exact_distances_batch, candidates.size() - next)));
    std::array<const float*, detail::exact_distances_batch> rows;
    for (std::size_t i = 0; i < count; ++i) {
      const Candidate& candidate = candidates[first + i];
      const SegmentView& segment = task.segments[candidate.segment];
      if (segment.originals != nullptr) {
        rows[i] = segment.originals + candidate.row * task.dim;
        continue;
      }
      decoded.resize(detail::exact_distances_batch * task.dim);
      segment.read_row(candidate.row, decoded.data() + i * task.dim);
      rows[i] = decoded.data() + i * task.dim;
    }
    std::array<double, detail::exact_distances_batch> distances;
    detail::exact_distances(task.metric, {task.query(query), task.dim}, std::span(rows).first(count), distances.data());
    for (std::size_t i = 0; i < count; ++i) candidates[first + i].distance = distances[i];
  }
}

SharedLimits::SharedLimits(std::size_t queries, double first)
    : limits_(std::make_unique<std::atomic<double>[]>(queries)) {
  for (std::size_t i = 0; i < queries; ++i) limits_[i].store(first, std::memory_order_relaxed);
}

void SharedLimits::lower(std::size_t query, double limit) noexcept {
  double known = get(query);
  while (limit < known && !limits_[query].compare_exchange_weak(known, limit, std::memory_order_relaxed)) {
  }
}

Candidates::Candidates(const SearchTask& task, SharedLimits& limits)
    : task_(task),
      limits_(limits),
      states_(task.query_count()),
      found_min_(4 * std::min(task.k, SIZE_MAX / 8) + found_extra),
      found_max_(std::max(found_limit_min, found_min_)) {
  for (State& state : states_) state.shrink_at = found_min_;
}

void Candidates::begin(std::size_t segment, PreparedQueries& queries) noexcept {
  segment_ = segment;
  queries_ = &queries;
  refresh_limits();
}

void Candidates::refresh_limits() noexcept {
  for (std::size_t query = 0; query < queries_->count; ++query) queries_->set_limit(query, limits_.get(query));
}

void Candidates::push(std::size_t query, RowPlace place, float lower, float width) {
  if (!task_.allows(task_.segments[place.segment], place.row)) return;
  Candidate candidate{static_cast<std::uint32_t>(place.segment), static_cast<std::uint32_t>(place.row), -no_limit,
                      no_limit};
  if (std::isfinite(lower) && std::isfinite(width)) {
    const double unit = queries_->unit[query];
    const double rank = double{lower} * unit + queries_->shift[query];
    const double room = queries_->rank_error[query] + queries_->rounding * std::abs(rank) + underflow_room * unit;
    candidate.lower = rank - room;
    candidate.upper = rank + double{width} * unit * (1 + queries_->rounding) + room;
  } else if (lower > 0 && queries_->unknown[query] == 0) {
    candidate.lower = double{std::numeric_limits<float>::max()} * queries_->unit[query] * 0.5;  // the sum overflowed
  }
  push_ranked(query, candidate);
}

void Candidates::push_ranked(std::size_t query, const Candidate& candidate) {
  if (candidate.lower > limits_.get(query)) return;
  State& state = states_[query];
  state.found.push_back(candidate);
  note_upper(query, candidate.upper);
  if (state.found.size() >= state.shrink_at) shrink(query);
}

void Candidates::note_upper(std::size_t query, double upper) {
  std::vector<double>& smallest = states_[query].smallest;
  if (smallest.size() == task_.k && upper >= smallest.front()) return;
  if (smallest.size() == task_.k) {
    std::pop_heap(smallest.begin(), smallest.end());
    smallest.pop_back();
  }
  smallest.push_back(upper);
  std::push_heap(smallest.begin(), smallest.end());
  if (smallest.size() == task_.k) lower_limit(query);
}

void Candidates::lower_limit(std::size_t query) {
  limits_.lower(query, states_[query].smallest.front());
  if (queries_ != nullptr) queries_->set_limit(query, limits_.get(query));
}

// The exact distances of a few candidates lower the limit, which then rules out most candidates and most rows still to
// come. Where bounds rule out too little, all candidates are reranked and the k nearest are kept, so that memory stays
// bounded whatever the data.
void Candidates::shrink(std::size_t query) {
  State& state = states_[query];
  compute_promising(task_, query, state.found);
  state.smallest = smallest_uppers(state.found, task_.k);
  lower_limit(query);
  drop_above(limits_.get(query), state.found);
  if (state.found.size() >= found_max_ / 2) {
    compute_missing(task_, query, state.found);
    reranked_ += state.found.size() - std::min(state.found.size(), task_.k);
    keep_nearest(task_, state.found);
    state.smallest = smallest_uppers(state.found, task_.k);
    lower_limit(query);
  }
  state.shrink_at = std::clamp(2 * state.found.size(), found_min_, found_max_);
}

std::vector<Hit> rerank(const SearchTask& task, std::size_t query, std::vector<Candidate> candidates,
                        std::uint64_t& reranked) {
  const auto limit = [&] {
    const std::vector<double> smallest = smallest_uppers(candidates, task.k);
    return smallest.size() < task.k ? initial_limit(task) : std::min(smallest.front(), initial_limit(task));
  };
  if (candidates.size() > task.k) compute_promising(task, query, candidates);
  drop_above(limit(), candidates);
  compute_missing(task, query, candidates);
  drop_above(limit(), candidates);
  reranked += candidates.size();
  keep_nearest(task, candidates);
  std::vector<Hit> hits;
  for (const Candidate& found : candidates) {
    if (task.options->radius && found.distance > *task.options->radius) continue;
    hits.push_back({task.segments[found.segment].ids[found.row], found.distance});
  }
  return hits;
}

}  // namespace vectis::inline v0_1::exact
