// Optimizers in training, and schedules of the learning rate as arguments.
#pragma once

#include <nanobind/nanobind.h>

#include "vectis/nn/gradients.hpp"
#include "vectis/nn/optimizer.hpp"
#include "vectis/nn/schedule.hpp"

namespace vectis::python {

// A schedule of the library as a Python object.
struct PySchedule {
  nn::Schedule schedule;
};

// Reserves an optimizer for the training of this thread while it exists, so that calls of other threads which use it
// throw. Make and destroy it with the GIL.
class OptimizerHold {
 public:
  // Null: the training has an optimizer of its own. Throws InvalidInput when another thread trains with it.
  explicit OptimizerHold(const nn::Optimizer* optimizer);
  ~OptimizerHold();
  OptimizerHold(const OptimizerHold&) = delete;
  OptimizerHold& operator=(const OptimizerHold&) = delete;

 private:
  const nn::Optimizer* optimizer_;
};

// Returns a schedule or a Python function as a schedule; of None an empty one. Raises TypeError for others. Needs the
// GIL.
nn::Schedule as_schedule(nanobind::handle object);

}  // namespace vectis::python
