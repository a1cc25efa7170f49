// The subcommands of `vectis`. Each prints to `out` and returns the program's exit status.
#pragma once

#include <iosfwd>

#include "vectis/base/runtime.hpp"

namespace vectis::app {

int devices(Runtime& runtime, std::ostream& out, bool json);
int doctor(Runtime& runtime, std::ostream& out, bool json);

}  // namespace vectis::app
