// Choosing where and how work runs, by predicted time corrected by what was measured before.
//
//   Planner& plan = planner(runtime);
//   const std::vector<Placement> ways = {{cpu, work_on_cpu}, {gpu, work_on_gpu}};
//   const Choice choice = plan.choose(ways);
//   const double seconds = run(ways[choice.index]);
//   plan.record(ways[choice.index], seconds);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1 {

// Seconds by part, as the profile says; history corrects their sum.
struct Prediction {
  double launch = 0;
  double compile = 0;
  double copy = 0;
  double compute = 0;  // max(arithmetic, memory)
  double host = 0;
  double correction = 1;  // by history
  double deviation = 0;   // how sure that is: one standard deviation of its logarithm

  [[nodiscard]] double seconds() const noexcept { return (launch + compile + copy + compute + host) * correction; }
};

struct Assessment {
  std::string label;
  Prediction predicted;
  std::optional<double> measured;  // the median of what work of this very size took before, seconds
  std::uint64_t records = 0;       // of this work on this device, all sizes
  std::string excluded;            // why it was not allowed; empty: it was
};

struct VECTIS_API Choice {
  std::size_t index = 0;               // of the winner
  std::vector<Assessment> candidates;  // in the order they were given
  bool explored = false;               // it was not predicted to be the fastest, but near, and little is known of it
  std::string reason;                  // one sentence

  // The reason and a table of all candidates, for people.
  [[nodiscard]] std::string explain() const;
};

// A service of the Runtime. What it learns lasts as long as the process. Thread-safe.
class VECTIS_API Planner {
 public:
  explicit Planner(Runtime& runtime);
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // The candidate with the shortest predicted time; the first of equals. Devices not yet calibrated are; one that
  // cannot be is passed over with its reason. The settings `plan.gpu_bytes_min` and `plan.gpu_free_factor` exclude
  // devices, but never all: where they would, they do not apply. InvalidInput without candidates or for costs that are
  // no numbers; the last device's own error when none can be used.
  [[nodiscard]] Choice choose(std::span<const Placement> candidates);
  // What one candidate would take, as `choose` sees it.
  [[nodiscard]] Assessment assess(const Placement& candidate);
  // What the work took in truth, from before its first copy until its result was there. Measurements that are not
  // positive are ignored.
  void record(const Placement& candidate, double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

VECTIS_API Planner& planner(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
