// In the place of what vectis-ptx makes, where there was no NVRTC.
#include "backends/cuda/carried.hpp"

namespace vectis::cuda_hip {

CarriedKernels carried_kernels() { return {{}, {}, 0}; }

}  // namespace vectis::cuda_hip
