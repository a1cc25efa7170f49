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

// Predicted run time in seconds, by component: from the device profile, times one correction from history.
struct Prediction {
  double launch = 0;
  double compile = 0;
  double copy = 0;
  double compute = 0;  // max(arithmetic, memory): the two overlap (roofline model)
  double host = 0;
  double correction = 1;  // factor learned from history, 1 without records
  double deviation = 0;   // standard deviation of log(correction): how uncertain the prediction is

  [[nodiscard]] double seconds() const noexcept { return (launch + compile + copy + compute + host) * correction; }
};

// What the planner knows about one candidate.
struct Assessment {
  std::string label;
  Prediction predicted;
  std::optional<double> measured;  // median of the recorded times of this workload at this size, seconds
  std::uint64_t records = 0;       // recorded times of this workload on this device, all sizes
  std::string excluded;            // why the candidate cannot be chosen; empty when it can
};

struct VECTIS_API Choice {
  std::size_t index = 0;               // of the chosen candidate
  std::vector<Assessment> candidates;  // in the order given
  bool explored = false;               // chosen to learn its run time although another was predicted to be faster
  std::string reason;                  // one sentence

  // Returns the reason and a table of all candidates, as text.
  [[nodiscard]] std::string explain() const;
};

// A service of the Runtime. History lasts as long as the process. Thread-safe.
class VECTIS_API Planner {
 public:
  explicit Planner(Runtime& runtime);
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // Returns the candidate with the shortest predicted time, the first one on ties. Calibrates devices that have no
  // profile yet; a device whose calibration fails is excluded with its error as the reason. The settings
  // `plan.gpu_bytes_min` and `plan.gpu_free_factor` exclude devices too, but are ignored where they would exclude all.
  // Throws InvalidInput without candidates or for an invalid workload, and the last device's own error when no
  // candidate can be used.
  [[nodiscard]] Choice choose(std::span<const Placement> candidates);
  // Returns what choose() would know about one candidate. Throws InvalidInput for an invalid workload and the device's
  // own error when its calibration fails.
  [[nodiscard]] Assessment assess(const Placement& candidate);
  // Adds a measured run time, from before the first copy to the arrival of the result, to the history. Ignores times
  // that are not finite and positive. Throws as assess() does.
  void record(const Placement& candidate, double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The planner of a Runtime.
VECTIS_API Planner& planner(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
