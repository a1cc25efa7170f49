// Data sets of Python as data sets of the library.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "vectis/nn/dataset.hpp"

namespace vectis::python {

// A data set of the library as a Python object.
struct PyDataset {
  std::shared_ptr<const nn::Dataset> dataset;
};

// Returns the data set of an object: one of the library, or a Python object with `__len__` and `examples`. Throws
// InvalidInput for others. Needs the GIL.
std::shared_ptr<const nn::Dataset> as_dataset(nanobind::handle object);

}  // namespace vectis::python
