// Where a training computes.
#pragma once

#include "vectis/nn/training.hpp"

namespace vectis::inline v0_1::nn {

// Returns the device that `config` names; else that of the module's parameters unless it is the CPU; else the device on
// which the planner predicts a step with the first batch to be fastest. That is recorded, not computed, and leaves the
// module as it was. Throws what `evaluate`, `training` and the planner throw.
[[nodiscard]] Device device_for_training(ModuleRef module, const EvaluateBatch& evaluate, const Dataset& training,
                                         const TrainingConfig& config);

}  // namespace vectis::inline v0_1::nn
