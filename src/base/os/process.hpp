// Child processes.
#pragma once

#include <string>
#include <vector>

#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

// As Os::run.
ProcessResult run_process(const std::vector<std::string>& command, Duration limit);

}  // namespace vectis::inline v0_1
