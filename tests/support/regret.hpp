// The regret of the planner: how much slower its choices are than the best ones. A cell is one workload with several
// placements; each placement is measured in each cell, and the planner chooses with a history of other cells.
//
//   const RegretReport report = measure_regret(runtime, cells, [&](std::size_t cell, std::size_t placement) {
//     return seconds_of(cells[cell][placement]);
//   });
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/random.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis::test {

// Placement i of every cell is the same policy: "always this device".
using RegretCell = std::vector<Placement>;
using RegretMeasure = std::function<double(std::size_t cell, std::size_t placement)>;

struct RegretOptions {
  std::size_t history_cells = 24;  // cells that the planner learns from before it is judged on the others
  std::size_t visits = 3;          // of each history cell; only the chosen placement is recorded
  std::size_t rounds = 8;          // each with another history and a new planner
  std::size_t repeats = 3;         // measurements of which the median counts
  std::uint64_t seed = 1;
};

struct RegretFigures {
  double median = 0;
  double p95 = 0;
  double mean = 0;
};

struct RegretReport {
  std::size_t cells = 0;
  std::size_t judged = 0;         // choices in all rounds
  std::size_t history_cells = 0;  // before each of them
  double crossovers = 0;          // fraction of cells whose best placement is not that of the best constant policy
  RegretFigures planner;
  RegretFigures uncorrected;  // the same choices from calibration alone
  RegretFigures constant;     // the best constant policy
  std::string constant_label;
  std::vector<double> regrets;              // of every judged choice
  std::vector<double> uncorrected_regrets;  // likewise
  std::vector<double> constant_regrets;     // of every cell

  [[nodiscard]] std::string text() const {
    const auto line = [](const std::string& who, const RegretFigures& figures) {
      return fmt::format("{:<30} median {:6.2f} %, 95th {:7.2f} %, mean {:7.2f} %\n", who, 100 * figures.median,
                         100 * figures.p95, 100 * figures.mean);
    };
    return fmt::format("{} cells, crossovers in {:.0f} %, {} choices judged, each after {} other cells\n", cells,
                       100 * crossovers, judged, history_cells) +
           line("planner", planner) + line("calibration alone", uncorrected) +
           line("always " + constant_label, constant);
  }
};

namespace regret {

using Table = std::vector<std::vector<std::vector<double>>>;  // by cell, placement, repetition

inline double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

inline RegretFigures figures_of(std::vector<double> regrets) {
  std::ranges::sort(regrets);
  const auto at = [&](double share) {
    return regrets[static_cast<std::size_t>(share * static_cast<double>(regrets.size() - 1))];
  };
  const double sum = std::accumulate(regrets.begin(), regrets.end(), 0.0);
  return {at(0.5), at(0.95), sum / static_cast<double>(regrets.size())};
}

// regrets[cell][placement]: time relative to the best placement, minus 1.
inline std::vector<std::vector<double>> regrets_of(const Table& table) {
  std::vector<std::vector<double>> result;
  for (const auto& cell : table) {
    std::vector<double>& times = result.emplace_back();
    for (const auto& placement : cell) times.push_back(middle(placement));
    const double best = *std::ranges::min_element(times);
    for (double& time : times) time = time / best - 1;
  }
  return result;
}

inline std::vector<std::size_t> shuffled(std::size_t count, Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// A new planner learns from the first cells of the order and is judged on the rest.
inline void judge(Runtime& runtime, std::span<const RegretCell> cells, const Table& table, const RegretOptions& options,
                  std::span<const std::size_t> order, const std::function<void(std::size_t, std::size_t)>& chosen) {
  Planner planner(runtime);
  for (std::size_t visit = 0; visit < options.visits; ++visit) {
    for (const std::size_t cell : order.first(options.history_cells)) {
      const std::size_t placement = planner.choose(cells[cell]).index;
      planner.record(cells[cell][placement], table[cell][placement][visit % options.repeats]);
    }
  }
  for (const std::size_t cell : order.subspan(options.history_cells)) chosen(cell, planner.choose(cells[cell]).index);
}

// Fills the figures from the regrets.
inline void complete(RegretReport& report) {
  report.cells = report.constant_regrets.size();
  report.judged = report.regrets.size();
  report.planner = figures_of(report.regrets);
  report.uncorrected = figures_of(report.uncorrected_regrets);
  report.constant = figures_of(report.constant_regrets);
  const auto crossed = std::ranges::count_if(report.constant_regrets, [](double regret) { return regret > 0; });
  report.crossovers = static_cast<double>(crossed) / static_cast<double>(report.cells);
}

}  // namespace regret

inline RegretReport measure_regret(Runtime& runtime, std::span<const RegretCell> cells, const RegretMeasure& measure,
                                   const RegretOptions& options = {}) {
  regret::Table table(cells.size());
  for (std::size_t repeat = 0; repeat < options.repeats;
       ++repeat) {  // interleaved, so that disturbances affect all equally
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      table[cell].resize(cells[cell].size());
      for (std::size_t placement = 0; placement < cells[cell].size(); ++placement)
        table[cell][placement].push_back(measure(cell, placement));
    }
  }
  const auto regrets = regret::regrets_of(table);
  RegretReport report;
  report.history_cells = options.history_cells;
  Random random(options.seed);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const auto order = regret::shuffled(cells.size(), random);
    regret::judge(runtime, cells, table, options, order, [&](std::size_t cell, std::size_t placement) {
      report.regrets.push_back(regrets[cell][placement]);
      report.uncorrected_regrets.push_back(regrets[cell][Planner(runtime).choose(cells[cell]).index]);
    });
  }
  double best_mean = 0;
  for (std::size_t placement = 0; placement < cells.front().size(); ++placement) {
    std::vector<double> always;
    always.reserve(cells.size());
    for (const auto& cell : regrets) always.push_back(cell[placement]);
    const double mean = regret::figures_of(always).mean;
    if (placement != 0 && mean >= best_mean) continue;
    best_mean = mean;
    report.constant_regrets = std::move(always);
    report.constant_label = cells.front()[placement].label;
  }
  regret::complete(report);
  return report;
}

// Combines the choices of several reports; each has its own best constant policy.
inline RegretReport joined(std::span<const RegretReport> reports) {
  RegretReport all;
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const RegretReport& report : reports) {
    all.history_cells = report.history_cells;
    append(all.regrets, report.regrets);
    append(all.uncorrected_regrets, report.uncorrected_regrets);
    append(all.constant_regrets, report.constant_regrets);
  }
  all.constant_label = "the best of each world";
  regret::complete(all);
  return all;
}

}  // namespace vectis::test
