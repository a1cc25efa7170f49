#include "vectis/plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "plan/cost_model.hpp"
#include "plan/history.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

using detail::CostBreakdown;
using detail::History;

constexpr std::size_t max_histories = 1024;     // (device, workload name) pairs; the least recently used is dropped
constexpr double explore_ratio = 1.25;          // explore only candidates within this factor of the fastest
constexpr double known_deviation = 0.1;         // predictions this certain need no exploration
constexpr std::uint64_t confirmed_records = 3;  // with fewer records, explore_ratio does not apply

// The key of a history. A simulated device may have the label of a real one, and names may hold any character.
std::string key_of(const Placement& candidate) {
  const std::string label = candidate.device_label();
  return fmt::format("{} {}:{}{}", candidate.device ? "device" : "simulated", label.size(), label,
                     candidate.workload.name);
}

void validate(const Placement& candidate) {
  detail::validate_workload(candidate.workload);
  if (!candidate.device) detail::validate_profile(*candidate.simulated);
}

const DeviceProfile& profile_of(const Placement& candidate) {
  return candidate.device ? profile(*candidate.device) : *candidate.simulated;
}

bool is_cpu(const Placement& candidate) { return candidate.device && candidate.device->backend() == "cpu"; }

std::string human_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.3g} us", seconds * 1e6);
  return fmt::format("{:.3g} ns", seconds * 1e9);
}

// One sentence: why the chosen candidate was chosen.
std::string reason_for_chosen(const Choice& choice) {
  const Assessment& chosen = choice.candidates[choice.index];
  const double seconds = chosen.predicted.seconds();
  const Assessment* rival = nullptr;
  for (const Assessment& one : choice.candidates) {
    if (&one == &chosen || !one.excluded.empty()) continue;
    if (rival == nullptr || one.predicted.seconds() < rival->predicted.seconds()) rival = &one;
  }
  if (rival == nullptr) {
    return fmt::format("{} is the only {}, predicted {}", chosen.label,
                       choice.candidates.size() == 1 ? "candidate" : "usable candidate", human_seconds(seconds));
  }
  if (choice.explored) {
    return fmt::format("{} is explored: predicted {} against {} of {}, but uncertain after {} records", chosen.label,
                       human_seconds(seconds), human_seconds(rival->predicted.seconds()), rival->label, chosen.records);
  }
  return fmt::format("{} is predicted to take {}, {:.2g} times as fast as {}", chosen.label, human_seconds(seconds),
                     rival->predicted.seconds() / seconds, rival->label);
}

// Why the chosen candidate was chosen, and which ones could not be chosen because their device failed.
std::string reason_of(const Choice& choice, std::span<const std::size_t> failed) {
  std::string reason = reason_for_chosen(choice);
  for (const std::size_t i : failed) {
    reason += fmt::format("; {} cannot be used: {}", choice.candidates[i].label, choice.candidates[i].excluded);
  }
  return reason;
}

using ExplainRow = std::vector<std::string>;

ExplainRow explain_row(const Choice& choice, std::size_t index) {
  const Assessment& one = choice.candidates[index];
  const Prediction& predicted = one.predicted;
  ExplainRow row = {(index == choice.index ? "* " : "  ") + one.label};
  if (!one.excluded.empty() && predicted.seconds() <= 0) return row;
  row.push_back(human_seconds(predicted.seconds()));
  for (const double part : {predicted.launch, predicted.compile, predicted.copy, predicted.compute, predicted.host}) {
    row.push_back(part > 0 ? human_seconds(part) : "-");
  }
  row.push_back(one.records > 0 ? fmt::format("x {:.2f}", predicted.correction) : "-");
  row.push_back(one.measured ? human_seconds(*one.measured) : "-");
  row.push_back(fmt::format("{}", one.records));
  return row;
}

// A table: the first column left-aligned, the others right-aligned.
std::string aligned(const std::vector<ExplainRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const ExplainRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const ExplainRow& row : rows) {
    text += row.size() == 1 ? row[0] : fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string Choice::explain() const {
  std::vector<ExplainRow> rows = {
      {"  candidate", "predicted", "launch", "compile", "copy", "compute", "host", "history", "measured", "records"}};
  for (std::size_t i = 0; i < candidates.size(); ++i) rows.push_back(explain_row(*this, i));
  std::string text = reason + '\n' + aligned(rows);
  for (const Assessment& one : candidates) {
    if (!one.excluded.empty()) text += fmt::format("  {} is excluded: {}\n", one.label, one.excluded);
  }
  return text;
}

struct Planner::State {
  explicit State(const Runtime& runtime)
      : logger(runtime.logger()),
        gpu_bytes_min(runtime.settings().number("plan.gpu_bytes_min")),
        gpu_free_factor(runtime.settings().number("plan.gpu_free_factor")),
        explore_share(static_cast<double>(runtime.settings().number("plan.explore_percent")) / 100) {}

  struct Entry {
    History history;
    std::uint64_t used = 0;
  };

  const Logger& logger;
  std::uint64_t gpu_bytes_min;
  std::uint64_t gpu_free_factor;
  double explore_share;

  std::mutex mutex;
  std::set<std::string, std::less<>> failed_devices;    // labels of those that were logged; guarded by mutex
  std::map<std::string, Entry, std::less<>> histories;  // guarded by mutex, as is all below
  std::uint64_t uses = 0;
  double recorded_seconds = 0;
  double explored_seconds = 0;
  double choices = 0;
  double explored_choices = 0;

  // The history of a candidate, or null without one. With the mutex held.
  History* find(const Placement& candidate) {
    const auto found = histories.find(key_of(candidate));
    if (found == histories.end()) return nullptr;
    found->second.used = ++uses;
    return &found->second.history;
  }

  History& find_or_make(const Placement& candidate) {
    if (History* const found = find(candidate)) return *found;
    if (histories.size() >= max_histories) {
      const auto by_use = [](const auto& left, const auto& right) { return left.second.used < right.second.used; };
      histories.erase(std::min_element(histories.begin(), histories.end(), by_use));
    }
    Entry& made = histories[key_of(candidate)];
    made.used = ++uses;
    return made.history;
  }

  Assessment assess(const Placement& candidate, const DeviceProfile& profile) {
    const CostBreakdown cost = detail::cost_breakdown(profile, candidate.workload);
    const detail::Features features = detail::features_of(candidate.workload);
    Assessment result;
    result.label = candidate.label;
    result.predicted = {.launch = cost.seconds[CostBreakdown::launch],
                        .compile = cost.seconds[CostBreakdown::compile],
                        .copy = cost.seconds[CostBreakdown::copy],
                        .compute = cost.compute(),
                        .host = cost.seconds[CostBreakdown::host]};
    const std::lock_guard lock(mutex);
    History* const history = find(candidate);
    History none;
    const History::Correction correction = (history != nullptr ? *history : none).correct(cost, features);
    result.predicted.correction = correction.factor;
    result.predicted.deviation = correction.deviation;
    if (history == nullptr) return result;
    result.measured = history->measured(features);
    result.records = history->records();
    return result;
  }

  // Logs that a device cannot be used, once for each device.
  void log_failed(const Placement& candidate, std::string_view failure) {
    {
      const std::lock_guard lock(mutex);
      if (!failed_devices.insert(candidate.device_label()).second) return;
    }
    logger.log(LogLevel::warning, "plan",
               fmt::format("the planner does not choose {}: {}", candidate.device_label(), failure));
  }

  // Why the settings exclude a candidate; empty when they do not. Throws the device's own error when it cannot be
  // asked for its free memory.
  [[nodiscard]] std::string excluded_by_settings(const Placement& candidate) const {
    if (is_cpu(candidate)) return {};
    const Workload& workload = candidate.workload;
    if (workload.bytes < static_cast<double>(gpu_bytes_min)) {
      return fmt::format("it touches {:.0f} bytes, fewer than plan.gpu_bytes_min ({})", workload.bytes, gpu_bytes_min);
    }
    if (gpu_free_factor == 0 || !candidate.device) return {};
    const auto memory = candidate.device->memory();  // empty where the driver does not report free memory
    const std::uint64_t free = memory ? memory->free_bytes : candidate.device->info().memory_bytes;
    if (!memory && free == 0) return {};  // unknown
    const double needed = workload.copy_in_bytes * static_cast<double>(gpu_free_factor);
    if (static_cast<double>(free) >= needed) return {};
    return fmt::format("it has {} bytes {}, fewer than the {:.0f} required by plan.gpu_free_factor ({})", free,
                       memory ? "free" : "in total", needed, gpu_free_factor);
  }

  // Removes from `usable` what the settings exclude, unless nothing would be left.
  static void apply_settings(Choice& choice, std::vector<std::size_t>& usable) {
    std::vector<std::size_t> kept;
    for (const std::size_t i : usable) {
      if (choice.candidates[i].excluded.empty()) kept.push_back(i);
    }
    if (kept.empty()) {
      for (const std::size_t i : usable) choice.candidates[i].excluded.clear();
    } else {
      usable = std::move(kept);
    }
  }

  // Returns a candidate to run instead of the fastest in order to learn its run time, or else the fastest. A candidate
  // is explored when its confidence interval reaches below the fastest prediction and the extra time stays within
  // plan.explore_percent of all recorded time. With confirmed_records it must also be within explore_ratio of the
  // fastest, and explorations within plan.explore_percent of all choices.
  std::size_t explore(const Choice& choice, std::span<const std::size_t> usable) {
    const double best = choice.candidates[choice.index].predicted.seconds();
    const std::lock_guard lock(mutex);
    choices += 1;
    const bool share_used = explored_choices >= explore_share * choices;
    for (const std::size_t i : usable) {
      const Assessment& one = choice.candidates[i];
      if (i == choice.index || one.predicted.deviation < known_deviation) continue;
      const double seconds = one.predicted.seconds();
      if (one.records >= confirmed_records && (share_used || seconds > explore_ratio * best)) continue;
      if (seconds * std::exp(-one.predicted.deviation) >= best) continue;
      if (explored_seconds + (seconds - best) >= explore_share * recorded_seconds) continue;
      explored_seconds += seconds - best;
      explored_choices += 1;
      return i;
    }
    return choice.index;
  }
};

Planner::Planner(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {}
Planner::~Planner() = default;

Assessment Planner::assess(const Placement& candidate) {
  validate(candidate);
  return state_->assess(candidate, profile_of(candidate));
}

Choice Planner::choose(std::span<const Placement> candidates) {
  if (candidates.empty()) {
    throw Error(ErrorCode::invalid_input, "plan", "got 0 candidates; give at least 1");
  }
  for (const Placement& candidate : candidates) validate(candidate);
  Choice choice;
  std::vector<std::size_t> usable;
  std::vector<std::size_t> failed;
  std::optional<Error> failure;
  for (const Placement& candidate : candidates) {
    try {
      Assessment assessment = state_->assess(candidate, profile_of(candidate));
      assessment.excluded = state_->excluded_by_settings(candidate);
      choice.candidates.push_back(std::move(assessment));
      usable.push_back(choice.candidates.size() - 1);
    } catch (const Error& error) {
      failed.push_back(choice.candidates.size());
      choice.candidates.push_back({candidate.label, {}, {}, 0, error.what()});
      state_->log_failed(candidate, error.what());
      failure = error;
    }
  }
  if (usable.empty()) throw Error(*failure);
  State::apply_settings(choice, usable);
  const auto seconds = [&](std::size_t i) { return choice.candidates[i].predicted.seconds(); };
  choice.index = *std::ranges::min_element(usable, {}, seconds);
  const std::size_t tried = state_->explore(choice, usable);
  choice.explored = tried != choice.index;
  choice.index = tried;
  choice.reason = reason_of(choice, failed);
  return choice;
}

void Planner::record(const Placement& candidate, double seconds) {
  if (!(seconds >= detail::min_seconds && seconds <= detail::max_seconds)) return;
  validate(candidate);
  const CostBreakdown cost = detail::cost_breakdown(profile_of(candidate), candidate.workload);
  if (cost.total() >= detail::max_seconds) return;  // the true cost is unknown: nothing can be learned from the ratio
  const std::lock_guard lock(state_->mutex);
  state_->recorded_seconds += seconds;
  state_->find_or_make(candidate).add(cost, detail::features_of(candidate.workload), seconds);
}

Planner& planner(Runtime& runtime) { return runtime.service<Planner>(); }

}  // namespace vectis::inline v0_1
