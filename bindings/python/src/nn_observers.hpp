// Observers of training, of the library and of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "nn_module.hpp"
#include "vectis/nn/observer.hpp"

namespace vectis::python {

// An observer of the library that Python code holds.
struct PyObserver {
  std::shared_ptr<nn::TrainingObserver> observer;
};

// Returns the observer that an object is, or that calls its methods on_batch, on_epoch and on_end. These see the arrays
// of `tree` as they are, and what they assign is trained on; null: a network, which has no arrays in Python. Needs the
// GIL.
std::shared_ptr<nn::TrainingObserver> as_observer(nanobind::handle object, ModuleTree* tree);

void bind_nn_observers(nanobind::module_& module);

}  // namespace vectis::python
