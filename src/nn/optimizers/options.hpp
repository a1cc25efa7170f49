// Checks of the options of optimizers.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "nn/check.hpp"

namespace vectis::inline v0_1::nn {

// Throws InvalidInput unless `value`, by which an average decays, is in [0, 1).
inline void check_decay(std::string_view op, std::string_view what, double value) {
  if (value >= 0 && value < 1) return;
  throw_invalid(op, fmt::format("{} is {}, it must be at least 0 and below 1", what, value));
}

}  // namespace vectis::inline v0_1::nn
