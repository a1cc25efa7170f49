#include "search/graph/recalibrate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "search/graph/exact_scan.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t recalibrate_divisor = 8;
// A calibration in steps begins when 1/12 of the rows changed, and the one of before is trusted until 1/6 changed.
constexpr std::size_t recalibrate_steps_divisor = 12;
constexpr std::size_t trusted_divisor = 6;
constexpr std::size_t steps_queries_max = 125;
constexpr std::size_t ranging_queries = 16;
// A file does not hold what was measured since the calibration, so that fewer changed rows are enough after loading.
constexpr std::size_t loaded_divisor = 64;
// Rows that are searched for when as many rows as there are changed. Measured with rows that are added one by one, it
// costs a quarter to a half of linking them, up to as much where linking is cheap; a batch shares the scans for the
// truth.
constexpr std::size_t queries_per_change = 1000;  // when all rows changed
constexpr std::size_t queries_max = 1000;
constexpr std::size_t queries_min = 100;
// Rows that are held out of the first calibration: few, since all rows that are linked after it may change recall.
constexpr std::size_t held_out_divisor = 20;
constexpr std::size_t held_out_min = 200;
// What a neighbor counts that a search for a left-out row missed. Its neighbors found each other through it when they
// were linked, so that they may be easier to find than those of a new vector: where the data has no structure, new
// vectors miss up to 1.7 times as many.
constexpr double left_out_weight = 1.5;
// What a neighbor counts that a search for a held-out row missed while the graph grew: it grows on until the next
// calibration, and more rows are harder to search.
constexpr double grown_weight = 1.2;
// Below this number of rows, those that were held out are a large part of the graph, and linking them may change how
// the others are found. Left-out rows then show it.
constexpr std::size_t few_rows = 20'000;
constexpr std::size_t few_rows_queries = 500;
// Above this, few rows are near to all queries, as under inner product. Recall then depends on whether each of these
// can be reached, which only the finished graph shows. They are far from a left-out row, which does not matter to them.
constexpr double hub_concentration = 0.005;

// The share of answers that may change before the next calibration. Where a few new rows are the answers to all
// queries, a search that does not find them finds nothing.
constexpr double answers_changed_max = 0.1;
constexpr std::size_t probes_max = exact_scan_queries;

// New rows are compared with what the calibration promises for this recall.
constexpr double checked_recall = 0.9;
constexpr std::size_t checked_queries_min = 40;
constexpr double checked_errors = 2.5;   // standard errors that new rows may be found less often
constexpr double compared_errors = 1.5;  // standard errors that they may be found more often
// Missed neighbors of earlier rows grow with this power of the number of rows, more where the data has no structure.
constexpr double growth_exponent = 0.3;

std::size_t affordable_queries(std::uint64_t changed, std::size_t live) {
  return std::clamp<std::size_t>(queries_per_change * std::min<std::size_t>(changed, live) / live, queries_min,
                                 queries_max);
}

// At most `count` of the rows, each as likely as the others.
std::vector<Slot> sample_of(std::vector<Slot> rows, std::size_t count, Random random) {
  count = std::min(count, rows.size());
  for (std::size_t i = 0; i < count; ++i) std::swap(rows[i], rows[i + random.below(rows.size() - i)]);
  rows.resize(count);
  return rows;
}

// At most `count` distinct rows that are visible in params.epoch.
std::vector<Slot> sample_visible(const SearchParams& params, std::size_t count, Random random) {
  constexpr std::size_t tries_per_row = 64;
  std::vector<Slot> sample;
  for (std::size_t i = 0; sample.size() < count && i < tries_per_row * count; ++i) {
    const auto slot = static_cast<Slot>(random.below(params.rows));
    if (!params.storage->versions.visible(slot, params.epoch)) continue;
    if (std::ranges::find(sample, slot) == sample.end()) sample.push_back(slot);
  }
  return sample;
}

float largest_epsilon(const Calibration& calibration) {
  float largest = 0;
  for (const CalibrationCurve& curve : calibration.curves) {
    if (!curve.points.empty()) largest = std::max(largest, curve.points.back().epsilon);
  }
  return largest;
}

// The recall of a table with the parameters of a search; nullopt when it was not measured with them.
std::optional<RecallEstimate> recall_at(const RecallTable& table, const SearchSetting& setting) {
  const auto above =
      std::ranges::find_if(table.rows, [&](const RecallTable::Row& row) { return row.epsilon >= setting.epsilon; });
  const auto depth = std::ranges::find(calibrated_reranked, setting.reranked);
  if (above == table.rows.end() || depth == calibrated_reranked.end()) return std::nullopt;
  return table.recall(static_cast<std::size_t>(above - table.rows.begin()),
                      static_cast<std::size_t>(depth - calibrated_reranked.begin()));
}

std::optional<SearchSetting> checked_setting(const CalibrationState& state) {
  if (state.calibration == nullptr || state.recent.queries < double{checked_queries_min}) return std::nullopt;
  return state.calibration->setting_for(checked_recall, state.costs, 1);
}

// Whether rows that were held out since the calibration are found less often than it promises.
bool found_less(const CalibrationState& state) {
  const std::optional<SearchSetting> setting = checked_setting(state);
  if (!setting) return false;
  const std::optional<RecallEstimate> recent = recall_at(state.recent, *setting);
  return recent && recent->mean + checked_errors * recent->error < checked_recall;
}

// Whether they are found more often than the rows that it was made of.
bool found_more(const CalibrationState& state) {
  const std::optional<SearchSetting> setting = checked_setting(state);
  if (!setting) return true;
  const std::optional<RecallEstimate> recent = recall_at(state.recent, *setting);
  const std::optional<RecallEstimate> before = recall_at(state.measured, *setting);
  return !recent || !before || recent->mean - before->mean > compared_errors * std::hypot(recent->error, before->error);
}

// What rows that were held out show about all `live` rows; nullopt when that is too little.
std::optional<RecallTable> measured_by_held_out(const CalibrationState& state, std::size_t live) {
  if (state.recent.queries < double{checked_queries_min}) return std::nullopt;
  if (state.calibration == nullptr) return state.recent;  // most rows are new
  const std::uint64_t removed = state.changed - std::min(state.added, state.changed);
  if (state.measured.queries == 0 || removed >= live / recalibrate_divisor) return std::nullopt;
  RecallTable table = state.recent;
  table.scale(1, grown_weight);
  if (!found_more(state)) return table;
  const auto before = static_cast<double>(live - std::min<std::size_t>(state.added, live - 1));
  const double wanted = table.queries * before / static_cast<double>(state.added);  // in proportion to the rows
  RecallTable old = state.measured;
  const double most = old.queries;
  old.scale(std::min(1.0, wanted / most), std::pow(static_cast<double>(live) / before, growth_exponent));
  if (wanted > most) table.scale(most / wanted, 1);
  table.add(old);
  return table;
}

}  // namespace

AnswerProbes make_probes(const SearchParams& params, std::span<const Slot> sample) {
  AnswerProbes probes;
  run(make_probes_in_steps(params, sample, probes_max, &probes));
  return probes;
}

Steps make_probes_in_steps(SearchParams params, std::span<const Slot> sample, std::size_t together,
                           AnswerProbes* probes) {
  if (params.norm_order == nullptr) co_return;
  RowQueries asked = queries_of(*params.storage, sample.first(std::min(probes_max, sample.size())));
  params.k = calibrated_k;
  probes->dim = params.storage->graph.encoding.projection.dim;
  for (std::span<const ExactQuery> left = asked.queries; !left.empty();) {
    const std::span<const ExactQuery> queries = left.first(std::min(together, left.size()));
    left = left.subspan(queries.size());
    std::vector<std::vector<Hit>> hits(queries.size());
    const ExactScanCounts counts = exact_scan(params, rows_by_norm(params), queries, hits);
    for (const std::vector<Hit>& found : hits) {
      probes->limits.push_back(found.empty() ? std::numeric_limits<double>::infinity() : found.back().distance);
    }
    const Work work = counts.scored / scanned_per_visited + counts.reranked;
    co_yield Pause{.done = work, .next = work};
  }
  probes->queries = std::move(asked.vectors);
}

void CalibrationState::forget() noexcept {
  calibration.reset();
  measured = {};
  recent = {};
  distrusted = false;
}

void CalibrationState::set_loaded(std::uint64_t changed_rows, std::size_t live) noexcept {
  changed = changed_rows;
  unmeasured = changed > live / loaded_divisor;
}

bool CalibrationState::due(std::size_t live) const noexcept {
  return live >= calibrated_rows_min &&
         (calibration == nullptr || distrusted || unmeasured || changed >= live / recalibrate_divisor ||
          answers_changed >= answers_changed_max);
}

bool CalibrationState::due_in_steps(std::size_t live) const noexcept {
  return live >= calibrated_rows_min &&
         (calibration == nullptr || distrusted || unmeasured || changed >= live / recalibrate_steps_divisor ||
          answers_changed >= answers_changed_max / 2);
}

void CalibrationState::check_trust(std::size_t live) noexcept {
  if (calibration == nullptr) return;
  if (changed >= live / trusted_divisor || answers_changed >= answers_changed_max || found_less(*this)) {
    distrusted = true;
  }
}

void CalibrationState::count_answers(std::size_t answers, double weight) noexcept {
  answers_changed += static_cast<double>(answers) * weight / static_cast<double>(probes.limits.size() * calibrated_k);
}

std::size_t AnswerProbes::answered_by(std::span<const float> vector) const noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto query = std::span(queries).subspan(i * dim, dim);
    count += exact_distance(Metric::inner_product, query, vector) <= limits[i] ? 1U : 0U;
  }
  return count;
}

std::size_t CalibrationState::count_added(std::size_t rows, std::size_t live) noexcept {
  changed += rows;
  added += rows;
  if (live < calibrated_rows_min) return 0;
  if (calibration == nullptr) {
    return rows < live - live / held_out_divisor
               ? 0
               : std::min({std::max(live / held_out_divisor, held_out_min), queries_max, rows / 4});
  }
  held_out_due += static_cast<double>(rows) * static_cast<double>(queries_per_change) / static_cast<double>(live);
  const std::size_t count = std::min({static_cast<std::size_t>(held_out_due), queries_max, (rows + 1) / 2});
  held_out_due -= static_cast<double>(count);
  return count;
}

void measure_held_out(Executor& executor, const SearchParams& params, std::span<const Slot> held_out,
                      const StopCheck& stop, CalibrationState& state) {
  if (held_out.empty()) return;
  std::vector<bool> unlinked(params.rows);
  for (const Slot slot : held_out) unlinked[slot] = true;
  std::vector<Slot> findable = params.storage->versions.visible_rows(params.rows, params.epoch);
  std::erase_if(findable, [&](Slot slot) { return unlinked[slot]; });
  std::optional<float> epsilon_max;
  if (state.calibration != nullptr && held_out.size() < queries_min) epsilon_max = largest_epsilon(*state.calibration);
  RecallTable table = measure_recall(executor, params, findable, held_out, epsilon_max, stop);
  if (held_out.size() < queries_min) table.concentration = 0;  // too few for an estimate
  state.recent.add(table);
}

void recalibrate_if_due(Executor& executor, const SearchParams& params, std::size_t live, std::uint64_t seed,
                        const StopCheck& stop, CalibrationState& state) {
  if (!found_less(state) && !state.due(live)) return;
  const std::vector<Slot> rows = params.storage->versions.visible_rows(params.rows, params.epoch);
  const std::vector<Slot> left_out = sample_of(rows, affordable_queries(state.changed, rows.size()), Random(seed));
  std::vector<RecallTable> tables;
  const bool hubs = state.recent.concentration > hub_concentration;
  std::optional<RecallTable> held_out = hubs ? std::nullopt : measured_by_held_out(state, live);
  if (held_out) tables.push_back(std::move(*held_out));
  if (tables.empty()) {
    tables.push_back(measure_recall(executor, params, rows, left_out, std::nullopt, stop));
    if (!hubs) tables.back().scale(1, left_out_weight);
  } else if (live < few_rows) {
    const std::span<const Slot> checked = std::span(left_out).first(std::min(left_out.size(), few_rows_queries));
    const float epsilon_max = tables.front().rows.back().epsilon;
    tables.push_back(measure_recall(executor, params, rows, checked, epsilon_max, stop));
  }
  CalibrationState next;
  next.costs = state.costs;
  next.costs_rows = state.costs_rows;
  if (live > 2 * state.costs_rows || 2 * live < state.costs_rows) {
    next.costs = measure_costs(params, rows, left_out);
    next.costs_rows = live;
  }
  next.probes = make_probes(params, left_out);
  next.calibration = std::make_shared<const Calibration>(make_calibration(tables, rows.size()));
  next.measured = std::move(tables.front());
  state = std::move(next);
}

Steps recalibrate_in_steps(SearchParams params, std::size_t live, std::uint64_t seed, CalibrationState* state) {
  const std::uint64_t changed = state->changed;
  const std::uint64_t added = state->added;
  const double answers_changed = state->answers_changed;
  const bool hubs = state->recent.concentration > hub_concentration;
  std::optional<RecallTable> held_out = hubs ? std::nullopt : measured_by_held_out(*state, live);
  const std::vector<Slot> left_out =
      sample_visible(params, std::min(affordable_queries(changed, live), steps_queries_max), Random(seed));
  if (left_out.empty()) co_return;
  std::optional<float> epsilon_max;
  if (state->calibration != nullptr) epsilon_max = largest_epsilon(*state->calibration);
  std::vector<RecallTable> tables;
  if (held_out) {
    epsilon_max = held_out->rows.back().epsilon;
    tables.push_back(std::move(*held_out));
  }
  if (!epsilon_max) {  // a few queries show how far the others go, which then need one search each
    RecallTable few;
    std::vector<Slot> first(left_out.begin(),
                            left_out.begin() + static_cast<std::ptrdiff_t>(std::min(left_out.size(), ranging_queries)));
    co_await measure_recall_in_steps(params, live, std::move(first), std::nullopt, &few);
    epsilon_max = few.rows.back().epsilon;
  }
  if (tables.empty() || live < few_rows) {
    RecallTable table;
    co_await measure_recall_in_steps(params, live, left_out, epsilon_max, &table);
    if (tables.empty() && !hubs) table.scale(1, left_out_weight);
    tables.push_back(std::move(table));
  }
  CalibrationState next;
  next.costs = state->costs;
  next.costs_rows = state->costs_rows;
  if (live > 2 * state->costs_rows || 2 * live < state->costs_rows) {
    co_await measure_costs_in_steps(params, live, left_out, &next.costs);
    next.costs_rows = live;
  }
  co_await make_probes_in_steps(params, left_out, 1, &next.probes);
  next.calibration = std::make_shared<const Calibration>(make_calibration(tables, live));
  next.measured = std::move(tables.front());
  next.changed = state->changed - changed;
  next.added = state->added - added;
  next.answers_changed = state->answers_changed - answers_changed;
  next.held_out_due = state->held_out_due;
  *state = std::move(next);
}

Steps measure_recent_in_steps(SearchParams params, std::size_t live, Slot row, CalibrationState* state) {
  RecallTable table;
  std::vector<Slot> queries(1, row);
  co_await measure_recall_in_steps(params, live, std::move(queries), largest_epsilon(*state->calibration), &table);
  table.concentration = 0;  // of one query
  if (state->calibration != nullptr) state->recent.add(table);
}

}  // namespace vectis::inline v0_1::graph
