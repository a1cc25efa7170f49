// The program of the rig in CUDA C++, which is HIP C++ too. Shared memory is no parameter there.
#include <cstdlib>

#include "tests/slots/rig.hpp"

namespace vectis::test {

const std::string_view program_text = R"(
extern "C" __global__ void mirror(const float* in, float* out, float factor, int count) {
  extern __shared__ float tile[];
  const int item = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const int local_item = (int)threadIdx.x;
  tile[local_item] = item < count ? in[item] : 0.0f;
  __syncthreads();
  if (item < count) out[item] = factor * tile[(int)blockDim.x - 1 - local_item] + (float)blockIdx.x;
}

extern "C" __global__ void place(unsigned* out) {
  const unsigned line = gridDim.x * blockDim.x, sheet = line * gridDim.y * blockDim.y;
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x + line * (blockIdx.y * blockDim.y + threadIdx.y) +
                      sheet * (blockIdx.z * blockDim.z + threadIdx.z);
  out[at] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x + 10000 * blockIdx.y +
            100000 * blockIdx.z;
}

extern "C" __global__ void __launch_bounds__(64) bounded(unsigned* out) { out[threadIdx.x] = threadIdx.x; }

extern "C" __global__ void divergent(unsigned* out) {
  if (threadIdx.x < 3) __syncthreads();
  out[threadIdx.x] = 1;
}

extern "C" __global__ void unequal(unsigned* out) {
  if (threadIdx.x < 3) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}
)";

const std::string_view wrong_program_text = "extern \"C\" __global__ void k() { undeclared = 1; }";

#if VECTIS_TEST_HIP
const char* const program_dialect = "hip-c++";
#else
const char* const program_dialect = "cuda-c++";
#endif

std::map<std::string, std::string> default_settings() {
  const std::string prefix =
      std::string(program_dialect) == "hip-c++" ? "VECTIS_BACKENDS_HIP_" : "VECTIS_BACKENDS_CUDA_";
  std::map<std::string, std::string> settings = {{"driver", std::getenv((prefix + "DRIVER").c_str())},
                                                 {"compiler", std::getenv((prefix + "COMPILER").c_str())}};
  if (const char* monitor = std::getenv((prefix + "MONITOR").c_str())) settings["monitor"] = monitor;
  if (const char* blas = std::getenv("VECTIS_TEST_CUBLASLT")) settings["blas"] = blas;
  return settings;
}

}  // namespace vectis::test
