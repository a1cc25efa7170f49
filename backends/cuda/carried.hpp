// The built-in kernels as PTX, made by NVRTC when Vectis was built (ptx/CMakeLists.txt), found by their text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vectis::cuda_hip {

struct CarriedKernel {
  std::uint64_t text;  // plugin::text_hash of the CUDA C++ that the host prints
  const char* ptx;
};

struct CarriedKernels {
  std::span<const CarriedKernel> table;  // by ascending hash; empty when there was no NVRTC
  std::string_view options;              // that the texts were compiled with
  int architecture;                      // the oldest that takes them: 70 is sm_70
};

CarriedKernels carried_kernels();

}  // namespace vectis::cuda_hip
