// Chooses the device for a workload by predicted run time, corrected by the times measured before.
//
//   Planner& plan = planner(runtime);
//   const std::vector<Placement> candidates = {{cpu, workload_on_cpu}, {gpu, workload_on_gpu}};
//   const Choice choice = plan.choose(candidates);
//   const double seconds = run(candidates[choice.index]);
//   plan.record(candidates[choice.index], seconds);
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

// Predicted run time of a workload on a device, in seconds by component: computed from the device profile, and
// multiplied by one correction learned from history.
struct Prediction {
  double launch = 0;
  double compile = 0;
  double copy = 0;
  double compute = 0;  // max(arithmetic, memory): the two overlap (roofline model)
  double host = 0;
  double correction = 1;  // factor learned from history, 1 without records
  double deviation = 0;   // standard deviation of log(correction): how uncertain the prediction is

  // Returns the predicted run time in seconds: the sum of the components times `correction`. Does not throw.
  [[nodiscard]] double seconds() const noexcept { return (launch + compile + copy + compute + host) * correction; }
};

// What the planner knows about one candidate: its predicted time, its measured times, and why it cannot be chosen, if
// so.
struct Assessment {
  std::string label;
  Prediction predicted;
  std::optional<double> measured;  // median of the recorded times of this workload at this size, seconds
  std::uint64_t records = 0;       // recorded times of this workload on this device, all sizes
  std::string excluded;            // why the candidate cannot be chosen; empty when it can
};

// Result of Planner::choose: the chosen candidate, what the planner knows about all candidates, and the reason.
struct VECTIS_API Choice {
  std::size_t index = 0;               // of the chosen candidate
  std::vector<Assessment> candidates;  // in the order given
  bool explored = false;               // chosen to learn its run time although another was predicted to be faster
  std::string reason;                  // one sentence

  // Returns text: the reason, a table of all candidates with their predicted and measured times, and why some are
  // excluded.
  [[nodiscard]] std::string explain() const;
};

// Predicts run times and chooses among devices; learns from measured times, which it keeps as long as it lives and
// does not save. A service of the Runtime: planner() returns it. Thread-safe.
class VECTIS_API Planner {
 public:
  // Makes a planner with an empty history. Reads the settings `plan.*` of `runtime` once and logs through it, so
  // `runtime` must outlive the planner. Throws InvalidInput when one of the settings is not an integer from 0 to
  // 2^64-1. planner() returns the Runtime's shared one.
  explicit Planner(Runtime& runtime);
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // Returns the candidate with the shortest predicted time, or an uncertain one to learn its time (Choice::explored).
  // Calibrates devices without a profile; excludes those that fail, with a warning in the log, and those that
  // plan.gpu_bytes_min or plan.gpu_free_factor exclude unless these exclude all. Throws InvalidInput without candidates
  // or for an invalid workload or profile, and the last device's own error when no device can be used.
  [[nodiscard]] Choice choose(std::span<const Placement> candidates);
  // Returns the predicted and the measured time of one candidate; calibrates its device if it has no profile yet.
  // Throws InvalidInput for an invalid workload (an amount that is negative or not finite, an efficiency that is not
  // above 0) or simulated profile, and the device's own error when its calibration fails.
  [[nodiscard]] Assessment assess(const Placement& candidate);
  // Adds a measured run time, from before the first copy to the arrival of the result, to the history of the
  // candidate. Ignores `seconds` outside 1e-9 to 1e15, and workloads predicted to take more. Throws InvalidInput for an
  // invalid workload (see Workload), and the device's own error when its calibration fails.
  void record(const Placement& candidate, double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the planner of `runtime`, created at the first call and destroyed with the Runtime. Throws Forked in a
// forked child.
VECTIS_API Planner& planner(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
