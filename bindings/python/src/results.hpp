// Results of searches as Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include "vectis/search/index.hpp"

namespace vectis::python {

// The ids and distances of a search as NumPy arrays, and how it was done.
struct Result {
  nanobind::object ids;
  nanobind::object distances;
  SearchExplanation explanation;
};

}  // namespace vectis::python
