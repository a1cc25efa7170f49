// Kernels' text compiled as host code by g++, kept by its hash for all builds and all runs.
#pragma once

#include <string>
#include <vector>

namespace vectis::test_driver {

struct CompileResult {
  bool compiled = false;
  std::string hash;
  std::string log;
};

// `definitions` are what the interface's own compiler would define ("__HIP__").
CompileResult compile_kernels(const std::string& text, const std::vector<std::string>& definitions);

}  // namespace vectis::test_driver
