// Compiles kernel texts as host code with g++, and caches the result by hash for all builds and runs.
#pragma once

#include <string>
#include <vector>

namespace vectis::test_driver {

struct CompileResult {
  bool compiled = false;
  std::string hash;
  std::string log;
};

// `definitions` are the macros that the real compiler would define ("__HIP__").
CompileResult compile_kernels(const std::string& text, const std::vector<std::string>& definitions);

}  // namespace vectis::test_driver
