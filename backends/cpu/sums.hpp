// Sums of a block: in float32 lanes, joined in float64.
#pragma once

#include <cstddef>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// For blocks of a thousand or so elements: the error grows with their number over that of the lanes. Integers of up to
// eight bits are summed exactly.
double sum_of(const float* values, std::size_t count);
double sum_of_squares(const float* values, std::size_t count);

// The same of `count` elements of any number, block after block.
double sum_of_squares(VectisType type, const void* elements, std::size_t count);

}  // namespace vectis::cpu
