// How the learning rate changes during training.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "vectis/base/export.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::inline v0_1::nn {

// The factor of the learning rate at an update, counted from 0. A pure function: resumed training needs only the number
// of updates.
//
//   nn::Schedule schedule = nn::warm_up(500, nn::cosine(10'000));
//   optimizer.set_learning_rate(base_rate * schedule(step));
using Schedule = std::function<double(std::int64_t step)>;

// Rises linearly from 1 / steps to 1 in `steps` updates, then follows `after`, whose steps count from there; empty:
// stays at 1. Throws InvalidInput for fewer than 0 steps.
[[nodiscard]] VECTIS_API Schedule warm_up(std::int64_t steps, Schedule after = {});
// Falls from 1 to `final` in `steps` updates as half a cosine, and stays there. Throws InvalidInput unless there is a
// step and `final` is at least 0.
[[nodiscard]] VECTIS_API Schedule cosine(std::int64_t steps, double final = 0);
// Is multiplied by `factor` after every `every` updates. Throws InvalidInput unless both are above 0.
[[nodiscard]] VECTIS_API Schedule step_decay(std::int64_t every, double factor = 0.1);

struct PlateauOptions {
  double factor = 0.1;         // by which the rate is multiplied when the loss has not improved
  std::int64_t patience = 10;  // epochs without improvement that are tolerated
  double threshold = 1e-4;     // by this share of the best loss it must fall to count as an improvement
  std::int64_t cooldown = 0;   // epochs after a reduction in which none are counted
  double factor_min = 0;       // the factor of the learning rate stays at or above it
};
// Reduces the learning rate when the loss stops falling, as PyTorch's ReduceLROnPlateau does. Not thread-safe.
class VECTIS_API PlateauSchedule {
 public:
  // Throws InvalidInput unless the factor is in (0, 1) and the others at least 0.
  explicit PlateauSchedule(const PlateauOptions& options = {});

  // Receives the loss of an epoch and returns the factor of the learning rate from now on.
  double observe(double loss);
  [[nodiscard]] double factor() const noexcept { return factor_; }

  // Returns what observe() has learned. load_state_dict() restores it; it throws InvalidInput when a number is missing.
  [[nodiscard]] StateDict state_dict() const;
  void load_state_dict(const StateDict& state);

 private:
  PlateauOptions options_;
  double factor_ = 1;
  double best_ = std::numeric_limits<double>::infinity();
  std::int64_t bad_epochs_ = 0;
  std::int64_t cooldown_ = 0;  // epochs left
};

}  // namespace vectis::inline v0_1::nn
