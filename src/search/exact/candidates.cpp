#include "search/exact/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vectis::inline v0_1::exact {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr std::size_t found_min = 4096;

// The k-th smallest upper bound, or infinity when there are fewer.
double limit_of(std::span<const Candidate> candidates, std::size_t k) {
  if (candidates.size() < k) return no_limit;
  std::vector<double> uppers(candidates.size());
  std::transform(candidates.begin(), candidates.end(), uppers.begin(), [](const Candidate& c) { return c.upper; });
  const auto kth = uppers.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(uppers.begin(), kth, uppers.end());
  return *kth;
}

// A hit, and which of the candidates it was.
struct RankedHit {
  Hit hit;
  std::size_t place = 0;
};

// The k nearest of the candidates by the truth, nearest first, ties by lower id.
std::vector<RankedHit> nearest_of(const SearchTask& task, std::size_t query, std::span<const Candidate> candidates) {
  std::vector<double> distances(candidates.size());
  exact_distances(task, query, candidates, distances.data());
  std::vector<RankedHit> hits(candidates.size());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    hits[i] = {{task.segments[candidates[i].segment].ids[candidates[i].row], distances[i]}, i};
  }
  const auto nearer = [](const RankedHit& a, const RankedHit& b) {
    return a.hit.distance != b.hit.distance ? a.hit.distance < b.hit.distance : a.hit.id < b.hit.id;
  };
  const std::size_t kept = std::min(task.k, hits.size());
  std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end(), nearer);
  hits.resize(kept);
  return hits;
}

// Bounds from a distance that is known; a squared root and a difference from 1 are off by a rounding or two.
void set_known_rank(Distance distance, double value, Candidate& candidate) noexcept {
  const bool squared = distance == Distance::euclidean;
  const double rank = squared ? value * value : (distance == Distance::cosine ? value - 1 : value);
  const double room = squared ? rank * 0x1p-48 : (distance == Distance::cosine ? 0x1p-48 : 0.0);
  candidate.lower = rank - room;
  candidate.upper = rank + room;
}

}  // namespace

double SearchTask::first_limit() const noexcept {
  return options->radius ? rank_of_distance(distance, *options->radius) : no_limit;
}

std::uint64_t SearchTask::rows_to_scan() const noexcept {
  std::uint64_t rows = 0;
  for (const SegmentView& segment : segments) rows += segment.rows;
  return rows * query_count();
}

bool SearchTask::allows(const SegmentView& segment, std::size_t row) const noexcept {
  return !segment.is_removed(row) && (!options->filter || options->filter->allows(segment.ids[row]));
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
      found_max_(std::max(found_min, 4 * std::min(task.k, SIZE_MAX / 8))) {}

void Candidates::begin(std::size_t segment, PreparedQueries& queries) noexcept {
  segment_ = segment;
  queries_ = &queries;
  refresh_limits();
}

void Candidates::refresh_limits() noexcept {
  for (std::size_t query = 0; query < queries_->count; ++query) queries_->set_limit(query, limits_.get(query));
}

void Candidates::take(std::size_t query, std::size_t row, float lower, float width) {
  if (!task_.allows(task_.segments[segment_], row)) return;
  Candidate candidate{static_cast<std::uint32_t>(segment_), static_cast<std::uint32_t>(row), -no_limit, no_limit};
  if (std::isfinite(lower) && std::isfinite(width)) {
    const double unit = queries_->unit[query];
    const double rank = double{lower} * unit + queries_->shift[query];
    const double room = queries_->slack[query] + queries_->rounding * std::abs(rank) + underflow_room * unit;
    candidate.lower = rank - room;
    candidate.upper = rank + double{width} * unit * (1 + queries_->rounding) + room;
  } else if (lower > 0 && queries_->unknown[query] == 0) {
    candidate.lower = double{std::numeric_limits<float>::max()} * queries_->unit[query] * 0.5;  // a sum that overflowed
  }
  take_ranked(query, candidate);
}

void Candidates::take_ranked(std::size_t query, const Candidate& candidate) {
  if (candidate.lower > limits_.get(query)) return;
  State& state = states_[query];
  state.found.push_back(candidate);
  note_upper(query, candidate.upper);
  if (state.found.size() >= found_max_) shrink(query);
}

void Candidates::note_upper(std::size_t query, double upper) {
  std::vector<double>& least = states_[query].least;
  if (least.size() == task_.k && upper >= least.front()) return;
  if (least.size() == task_.k) {
    std::pop_heap(least.begin(), least.end());
    least.pop_back();
  }
  least.push_back(upper);
  std::push_heap(least.begin(), least.end());
  if (least.size() < task_.k) return;
  limits_.lower(query, least.front());
  if (queries_ != nullptr) queries_->set_limit(query, limits_.get(query));
}

// Where bounds are too wide to choose among so many, the truth is computed now and the nearest are kept, so memory
// stays bounded whatever the data.
void Candidates::shrink(std::size_t query) {
  State& state = states_[query];
  std::erase_if(state.found, [&](const Candidate& c) { return c.lower > limits_.get(query); });
  if (state.found.size() < found_max_ / 2) return;
  resolved_ += state.found.size();
  const std::vector<RankedHit> nearest = nearest_of(task_, query, state.found);
  std::vector<Candidate> kept(nearest.size());
  state.least.clear();
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    kept[i] = state.found[nearest[i].place];
    set_known_rank(task_.distance, nearest[i].hit.distance, kept[i]);
  }
  state.found = std::move(kept);
  for (const Candidate& candidate : state.found) note_upper(query, candidate.upper);
}

std::vector<Hit> resolve(const SearchTask& task, std::size_t query, std::vector<Candidate> candidates,
                         std::uint64_t& resolved) {
  const double limit = std::min(limit_of(candidates, task.k), task.first_limit());
  std::erase_if(candidates, [&](const Candidate& c) { return c.lower > limit; });
  resolved += candidates.size();
  std::vector<Hit> hits;
  for (const RankedHit& found : nearest_of(task, query, candidates)) {
    if (!task.options->radius || found.hit.distance <= *task.options->radius) hits.push_back(found.hit);
  }
  return hits;
}

}  // namespace vectis::inline v0_1::exact
