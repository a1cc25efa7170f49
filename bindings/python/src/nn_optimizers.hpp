// Schedules of the learning rate as arguments.
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

// Returns a schedule or a Python function as a schedule; of None an empty one. Raises TypeError for others. Needs the
// GIL.
nn::Schedule as_schedule(nanobind::handle object);

}  // namespace vectis::python
