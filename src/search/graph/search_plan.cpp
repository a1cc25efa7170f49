#include "search/graph/search_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/graph/encoded_scan.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// On a device the result list also holds the rows that may still be expanded: one for about 6 scored rows.
constexpr std::size_t scored_per_list_row = 6;

// From this many expected scores on, a search remembers every visited row.
constexpr double exact_visited_min = 2000;

// About this share of the time of searches may go to checks of their answers, and a check may take so many seconds,
// those of the first queries aside.
constexpr double checked_share = 0.02;
constexpr double check_seconds_max = 0.005;

// Rows whose ids are tested to estimate the selectivity of a filter.
constexpr std::size_t sampled_ids = 1000;

// How many of the live rows a filter allows: by random rows, and by what the filter itself knows.
std::size_t estimate_allowed(const IdFilter& filter, const Epoch& epoch) {
  std::size_t visible = 0;
  std::size_t allowed = 0;
  Random random(epoch.number);
  for (std::size_t i = 0; i < std::min(sampled_ids, epoch.rows); ++i) {
    const auto slot = static_cast<Slot>(epoch.rows <= sampled_ids ? i : random.below(epoch.rows));
    if (!epoch.storage->versions.visible(slot, epoch.number)) continue;
    ++visible;
    allowed += static_cast<std::size_t>(filter.allows(epoch.storage->versions.id(slot)));
  }
  const double selectivity = visible == 0 ? 1 : static_cast<double>(allowed) / static_cast<double>(visible);
  const auto estimate = static_cast<std::uint64_t>(std::ceil(selectivity * static_cast<double>(epoch.live)));
  return static_cast<std::size_t>(std::min(filter.count_max().value_or(epoch.live), estimate));
}

// What an exact scan without a filter reads.
std::string scanned_text(const SearchParams& params, std::size_t live) {
  return params.norm_order == nullptr ? fmt::format("all {} vectors", live)
                                      : fmt::format("the longest of {} vectors", live);
}

// The recall that is asked for, and why searches go further than it needs by the calibration.
std::string recall_text(double recall, double missed_factor) {
  if (missed_factor == 1) return fmt::format("a recall of {}", recall);
  return fmt::format("a recall of {} (checked queries missed {:.3g} times as much as promised)", recall, missed_factor);
}

// Rows that a search scores for each row of a beam whose width the caller chose: about half of the links lead to rows
// that were not visited.
constexpr double scored_per_ef = 15;

}  // namespace

void GraphIndex::make_plan(std::size_t queries, std::size_t k, const SearchOptions& options, SearchPlan& plan) const {
  plan.epoch = store_->now();
  plan.params = {.storage = plan.epoch->storage.get(),
                 .entry_points = plan.epoch->entry_points,
                 .epoch = plan.epoch->number,
                 .rows = plan.epoch->rows,
                 .no_tombstones = plan.epoch->removed == 0,
                 .k = std::min(k, plan.epoch->live),
                 .radius = options.radius,
                 .norm_order = plan.epoch->norm_order.get()};
  if (plan.params.k == 0) return;
  const bool by_norm = plan.params.norm_order != nullptr && !options.filter;
  plan.costs = by_norm ? plan.epoch->costs.by_norm() : plan.epoch->costs;
  if (options.filter || !can_encode(*plan.params.storage)) plan.costs = plan.costs.without_encoding();
  plan.kernel = "graph";
  plan_search(queries, options, plan);
  if (plan.exact) plan.kernel = "exact scan";
  if (device_ && plan.device_width == 0) {
    plan.reason += fmt::format("; on the host, since {} runs only unfiltered beam searches", device_->device().label());
  }
}

std::optional<SearchSetting> GraphIndex::choose_beam(std::size_t queries, const SearchOptions& options,
                                                     SearchPlan& plan) const {
  SearchParams& params = plan.params;
  const std::size_t live = plan.epoch->live;
  if (options.ef) {
    if (*options.ef >= live) {
      plan.reason = fmt::format("ef {} is as wide as all {} vectors, which are scanned", *options.ef, live);
      return std::nullopt;
    }
    params.beam = beam_for_ef(params.k, *options.ef);
    params.beam.scores_max = live;
    params.reranked = reranked_for_ef(params.k, *options.ef);
    plan.reason = fmt::format("a beam search with ef {}", *options.ef);
    const double scored = scored_per_ef * static_cast<double>(std::max(params.k, *options.ef));
    return SearchSetting{.epsilon = 1, .reranked = params.reranked, .scored = scored};
  }
  const double recall = options.recall.value_or(default_search_recall());
  const Calibration* const calibration = live < calibrated_rows_min ? nullptr : plan.epoch->calibration.get();
  if (calibration == nullptr) {
    plan.reason = fmt::format("{} are scanned", scanned_text(plan.params, live));
    return std::nullopt;
  }
  plan.recall = recall;
  plan.missed_factor = calibration->checks->of(recall).missed_factor();
  const std::optional<double> reached = QueryCheck::recall_for(recall, plan.missed_factor);
  std::optional<SearchSetting> setting;
  if (reached) setting = calibration->setting_for(*reached, plan.costs, queries);
  const std::string wanted = recall_text(recall, plan.missed_factor);
  if (!setting) {
    plan.reason = fmt::format("no beam search reaches {}: {} are scanned", wanted, scanned_text(plan.params, live));
    return std::nullopt;
  }
  params.beam = beam_for({.epsilon = setting->epsilon, .reranked = setting->reranked}, params.k);
  params.beam.scores_max = std::min<std::uint64_t>(calibration->scores_max, live) * params.beam.k / calibrated_k;
  params.reranked = params.beam.k * setting->reranked / calibrated_k;
  setting->scored *= static_cast<double>(params.beam.k) / static_cast<double>(calibrated_k);
  setting->reranked = params.reranked;
  plan.reason =
      fmt::format("a beam search with epsilon {:.3f} and {} reranked vectors for {}, calibrated with {} of {} vectors",
                  setting->epsilon, setting->reranked, wanted, calibration->queries, calibration->vectors);
  return setting;
}

void GraphIndex::plan_check(const SearchOptions& options, SearchPlan& plan) const {
  const Epoch& epoch = *plan.epoch;
  // A scan would read all of a mapped file.
  if (plan.recall == 0 || options.filter || options.radius || epoch.storage->mapped_bytes() > 0) return;
  plan.check = &epoch.calibration->checks->of(plan.recall);
  const double seconds = plan.costs.scan_seconds(epoch.live, 1);
  const double queries = seconds / (checked_share * plan.beam_seconds);
  if (seconds <= check_seconds_max && queries < 1e9)
    plan.check_every = static_cast<std::uint64_t>(std::max(1.0, queries));
}

void GraphIndex::plan_search(std::size_t queries, const SearchOptions& options, SearchPlan& plan) const {
  const std::optional<SearchSetting> setting = choose_beam(queries, options, plan);
  const std::size_t live = plan.epoch->live;
  const SearchCosts& costs = plan.costs;
  std::size_t allowed = live;
  if (options.filter) {
    plan.filter = &*options.filter;
    allowed = std::min(allowed, estimate_allowed(*options.filter, *plan.epoch));
  }
  plan.budget.selectivity = static_cast<double>(allowed) / static_cast<double>(live);
  plan.exact = !setting;
  if (plan.exact) return;
  // A filtered search scores more rows, in inverse proportion to the selectivity.
  const double expected_scores =
      setting->scored * static_cast<double>(live) / static_cast<double>(std::max<std::size_t>(1, allowed));
  plan.params.beam.exact_visited = expected_scores > exact_visited_min;
  plan.budget.expected_scores = expected_scores;
  plan.budget.scores_max = static_cast<double>(allowed) * costs.scanned / costs.visited;
  SearchSetting expected = *setting;
  expected.scored = expected_scores;
  plan.beam_seconds = expected.seconds(costs, allowed, queries);
  const double scan_seconds = costs.scan_seconds(allowed, queries);
  const std::size_t width = plan.params.beam.width;
  // The costs are those of the host; a device that was chosen runs the searches that it can.
  const bool on_device =
      device_ && plan.filter == nullptr && width <= device_list_max && expected_scores < static_cast<double>(live);
  const bool beam_requested = options.ef.has_value() && plan.filter == nullptr;
  if (scan_seconds <= plan.beam_seconds && !beam_requested && !on_device) {
    plan.exact = true;
    plan.reason =
        plan.filter == nullptr
            ? fmt::format("a scan of {} is predicted to take {:.3g} ms per query, {} {:.3g} ms",
                          scanned_text(plan.params, live), scan_seconds * 1e3, plan.reason, plan.beam_seconds * 1e3)
            : fmt::format("an estimated {} of {} vectors pass the filter: those that pass are scanned", allowed, live);
    return;
  }
  plan_check(options, plan);
  if (on_device) {
    plan.device_width = std::clamp(static_cast<std::size_t>(expected_scores) / scored_per_list_row,
                                   std::min(2 * width, device_list_max), device_list_max);
    plan.kernel = "graph_search";
    plan.reason += "; " + device_reason_;
  }
}

}  // namespace vectis::inline v0_1::graph
