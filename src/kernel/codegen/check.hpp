// Whether a kernel's data and text can be printed at all.
#pragma once

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

// InvalidInput naming the parameter, or the line, column and rule of the first place that is not of the subset.
void check_source(const KernelSource& source, Dialect dialect);

}  // namespace vectis::inline v0_1::detail
