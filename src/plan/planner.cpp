#include "vectis/plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "plan/history.hpp"
#include "plan/parts.hpp"
#include "plan/reason.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

using detail::History;
using detail::Parts;

constexpr std::size_t histories_max = 1024;
constexpr double near_ratio = 1.25;             // of the winner's time: what may be tried to learn more
constexpr double known_deviation = 0.1;         // a candidate known that well needs no trying
constexpr std::uint64_t confirmed_records = 3;  // fewer say little, however far from the winner

std::string key_of(const Placement& candidate) { return candidate.device_label() + '\n' + candidate.workload.name; }

const DeviceProfile& profile_of(const Placement& candidate) {
  return candidate.device ? profile(*candidate.device) : *candidate.modelled;
}

bool is_cpu(const Placement& candidate) { return candidate.device && candidate.device->backend() == "cpu"; }

}  // namespace

struct Planner::State {
  explicit State(const Settings& settings)
      : gpu_bytes_min(settings.number("plan.gpu_bytes_min")),
        gpu_free_factor(settings.number("plan.gpu_free_factor")),
        explore_share(static_cast<double>(settings.number("plan.explore_percent")) / 100) {}

  struct Entry {
    History history;
    std::uint64_t used = 0;
  };

  std::uint64_t gpu_bytes_min;
  std::uint64_t gpu_free_factor;
  double explore_share;

  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> histories;  // guarded by mutex, as is all below
  std::uint64_t uses = 0;
  double recorded_seconds = 0;
  double explored_seconds = 0;
  double choices = 0;
  double explored_choices = 0;

  // The history of a candidate, or null when there is none.
  History* find(const Placement& candidate) {
    const auto found = histories.find(key_of(candidate));
    if (found == histories.end()) return nullptr;
    found->second.used = ++uses;
    return &found->second.history;
  }

  History& find_or_make(const Placement& candidate) {
    if (History* const found = find(candidate)) return *found;
    if (histories.size() >= histories_max) {
      const auto by_use = [](const auto& left, const auto& right) { return left.second.used < right.second.used; };
      histories.erase(std::min_element(histories.begin(), histories.end(), by_use));
    }
    Entry& made = histories[key_of(candidate)];
    made.used = ++uses;
    return made.history;
  }

  Assessment assess(const Placement& candidate, const DeviceProfile& profile) {
    const Parts parts = detail::parts_of(profile, candidate.workload);
    const detail::Place place = detail::place_of(candidate.workload);
    Assessment result;
    result.label = candidate.label;
    result.predicted = {.launch = parts.seconds[Parts::launch],
                        .compile = parts.seconds[Parts::compile],
                        .copy = parts.seconds[Parts::copy],
                        .compute = parts.compute(),
                        .host = parts.seconds[Parts::host]};
    const std::lock_guard lock(mutex);
    History* const history = find(candidate);
    History none;
    const History::Correction correction = (history != nullptr ? *history : none).correct(parts, place);
    result.predicted.correction = correction.factor;
    result.predicted.deviation = correction.deviation;
    if (history == nullptr) return result;
    result.measured = history->measured(place);
    result.records = history->records();
    return result;
  }

  // Why the settings forbid a candidate; empty when they do not.
  [[nodiscard]] std::string forbidden(const Placement& candidate) const {
    if (is_cpu(candidate)) return {};
    const Workload& work = candidate.workload;
    if (work.bytes < static_cast<double>(gpu_bytes_min)) {
      return fmt::format("it touches {:.0f} bytes, fewer than plan.gpu_bytes_min ({})", work.bytes, gpu_bytes_min);
    }
    if (gpu_free_factor == 0 || !candidate.device) return {};
    const auto memory = candidate.device->memory();  // not every driver tells what is free
    const std::uint64_t free = memory ? memory->free_bytes : candidate.device->info().memory_bytes;
    const double needed = work.copy_in_bytes * static_cast<double>(gpu_free_factor);
    if (static_cast<double>(free) >= needed) return {};
    return fmt::format("{} of its bytes {}, fewer than the {:.0f} that plan.gpu_free_factor ({}) asks for", free,
                       memory ? "are free" : "are all it has", needed, gpu_free_factor);
  }

  // Excludes what the settings forbid, unless nothing would be left.
  void apply_rules(std::span<const Placement> candidates, Choice& choice, std::vector<std::size_t>& open) const {
    std::vector<std::size_t> kept;
    for (const std::size_t i : open) {
      choice.candidates[i].excluded = forbidden(candidates[i]);
      if (choice.candidates[i].excluded.empty()) kept.push_back(i);
    }
    if (kept.empty()) {
      for (const std::size_t i : open) choice.candidates[i].excluded.clear();
    } else {
      open = std::move(kept);
    }
  }

  // A candidate worth trying instead of the winner, or the winner. It is perhaps faster, and trying it keeps within the
  // share of time that may be spent so; unless hardly anything is known of it, it is also near the winner and within
  // the same share of choices.
  std::size_t explore(const Choice& choice, std::span<const std::size_t> open) {
    const double best = choice.candidates[choice.index].predicted.seconds();
    const std::lock_guard lock(mutex);
    choices += 1;
    const bool often = explored_choices >= explore_share * choices;
    for (const std::size_t i : open) {
      const Assessment& one = choice.candidates[i];
      if (i == choice.index || one.predicted.deviation < known_deviation) continue;
      const double seconds = one.predicted.seconds();
      if (one.records >= confirmed_records && (often || seconds > near_ratio * best)) continue;
      if (seconds * std::exp(-one.predicted.deviation) >= best) continue;
      if (explored_seconds + (seconds - best) >= explore_share * recorded_seconds) continue;
      explored_seconds += seconds - best;
      explored_choices += 1;
      return i;
    }
    return choice.index;
  }
};

Planner::Planner(Runtime& runtime) : state_(std::make_unique<State>(runtime.settings())) {}
Planner::~Planner() = default;

Assessment Planner::assess(const Placement& candidate) {
  detail::check_work(candidate.workload);
  return state_->assess(candidate, profile_of(candidate));
}

Choice Planner::choose(std::span<const Placement> candidates) {
  if (candidates.empty()) {
    throw Error(ErrorCode::invalid_input, "plan", "there are 0 candidates to choose from; give at least 1");
  }
  for (const Placement& candidate : candidates) detail::check_work(candidate.workload);
  Choice choice;
  std::vector<std::size_t> open;
  std::optional<Error> failure;
  for (const Placement& candidate : candidates) {
    try {
      choice.candidates.push_back(state_->assess(candidate, profile_of(candidate)));
      open.push_back(choice.candidates.size() - 1);
    } catch (const Error& error) {
      choice.candidates.push_back({candidate.label, {}, {}, 0, error.what()});
      failure = error;
    }
  }
  if (open.empty()) throw Error(*failure);
  state_->apply_rules(candidates, choice, open);
  const auto seconds = [&](std::size_t i) { return choice.candidates[i].predicted.seconds(); };
  choice.index = *std::ranges::min_element(open, {}, seconds);
  const std::size_t tried = state_->explore(choice, open);
  choice.explored = tried != choice.index;
  choice.index = tried;
  choice.reason = detail::reason_of(choice);
  return choice;
}

void Planner::record(const Placement& candidate, double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0) return;
  detail::check_work(candidate.workload);
  const Parts parts = detail::parts_of(profile_of(candidate), candidate.workload);
  const std::lock_guard lock(state_->mutex);
  state_->recorded_seconds += seconds;
  state_->find_or_make(candidate).add(parts, detail::place_of(candidate.workload), seconds);
}

Planner& planner(Runtime& runtime) { return runtime.service<Planner>(); }

}  // namespace vectis::inline v0_1
