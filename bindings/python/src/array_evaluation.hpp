// What Python does around evaluations of arrays.
#pragma once

#include "vectis/base/runtime.hpp"

namespace vectis::python {

// Makes evaluations of a Runtime's arrays release the GIL, and end when a signal's handler raises an exception.
void observe_evaluations(Runtime& runtime);

}  // namespace vectis::python
