// Configurations of training as arguments.
#pragma once

#include <nanobind/nanobind.h>

#include "vectis/nn/training.hpp"

namespace vectis::python {

// Returns the fields of a vectis.nn.TrainingConfig but the observers. The optimizer is that of the Python object, which
// must outlive the result. Raises TypeError, and throws InvalidInput, with the name and the value of a field that is
// not of its type. Needs the GIL.
nn::TrainingConfig training_config(nanobind::handle config);

}  // namespace vectis::python
