// What a run is about.
#pragma once

#include <vector>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

struct Selection {
  std::vector<const Subject*> subjects;
  std::vector<const Behaviour*> behaviours;
};
// InvalidInput when the expression is none, or names nothing.
Selection select(const Options& options);

}  // namespace vectis::inline v0_1::conformance
