// A choice in words.
#pragma once

#include <string>

#include "vectis/plan/planner.hpp"

namespace vectis::inline v0_1::detail {

// One sentence: why the winner won, or was tried.
std::string reason_of(const Choice& choice);
// "1.25 ms"
std::string human_seconds(double seconds);

}  // namespace vectis::inline v0_1::detail
