// Which versions of CUDA's libraries fit the driver.
#pragma once

#include <string>
#include <vector>

namespace vectis::cuda_hip {

// Returns the file names of a library for the major version of the driver and all older supported ones, newest first:
// "libcublasLt.so.12" and "libcublasLt.so.11" for "libcublasLt" and 12040.
std::vector<std::string> versioned_libraries(const std::string& name, int driver_version);

}  // namespace vectis::cuda_hip
