#include "kernel/codegen/prelude.hpp"

namespace vectis::inline v0_1::detail {

// CUDA C++ and HIP C++ agree in almost everything. Macros that take any 32-bit type are overloaded functions. hipRTC
// includes its own header, hipcc does not. CUDA multiplies four signed bytes in one instruction since sm_61. Both
// convert float16 in one instruction, subnormal values too; CUDA's header of that type is not everywhere where NVRTC
// is.
std::string_view cuda_prelude() noexcept {
  return R"(#if defined(__HIP__) && !defined(__HIPCC_RTC__)
#include <hip/hip_runtime.h>
#endif
typedef unsigned int uint;
#define FUNCTION __device__ __forceinline__
#define VTI_GLOBAL
#define VTI_SHARED alignas(16) __shared__
#define LOCAL_ID(d) ((uint)((d) == 0 ? threadIdx.x : (d) == 1 ? threadIdx.y : threadIdx.z))
#define GROUP_ID(d) ((uint)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define GROUP_COUNT(d) ((uint)((d) == 0 ? gridDim.x : (d) == 1 ? gridDim.y : gridDim.z))
#define GLOBAL_ID(d) (GROUP_ID(d) * GROUP_SIZE(d) + LOCAL_ID(d))
#define BARRIER() __syncthreads()
#define UNIFORM_LOAD(array, i) (BARRIER(), (array)[i])
#define F32(x) ((float)(x))
#define I32(x) ((int)(x))
#define U32(x) ((uint)(x))
FUNCTION float vti_as_f32(float x) { return x; }
FUNCTION float vti_as_f32(int x) { return __int_as_float(x); }
FUNCTION float vti_as_f32(uint x) { return __uint_as_float(x); }
FUNCTION uint vti_as_u32(float x) { return __float_as_uint(x); }
FUNCTION uint vti_as_u32(int x) { return (uint)x; }
FUNCTION uint vti_as_u32(uint x) { return x; }
#define AS_F32(x) vti_as_f32(x)
#define AS_I32(x) ((int)vti_as_u32(x))
#define AS_U32(x) vti_as_u32(x)
#define FMA(a, b, c) fmaf((float)(a), (float)(b), (float)(c))
#define MIN(a, b) fminf((float)(a), (float)(b))
#define MAX(a, b) fmaxf((float)(a), (float)(b))
#define ABS(x) fabsf((float)(x))
#define SQRT(x) sqrtf((float)(x))
#define RSQRT(x) rsqrtf((float)(x))
#define EXP(x) expf((float)(x))
#define EXP2(x) exp2f((float)(x))
#define LOG(x) logf((float)(x))
#define LOG2(x) log2f((float)(x))
#define SIN(x) sinf((float)(x))
#define COS(x) cosf((float)(x))
#define TAN(x) tanf((float)(x))
#define TANH(x) tanhf((float)(x))
#define ASIN(x) asinf((float)(x))
#define ACOS(x) acosf((float)(x))
#define ATAN(x) atanf((float)(x))
#define ATAN2(y, x) atan2f((float)(y), (float)(x))
#define POW(x, y) powf((float)(x), (float)(y))
#define FLOOR(x) floorf((float)(x))
#define CEIL(x) ceilf((float)(x))
#define ROUND(x) rintf((float)(x))
#define TRUNC(x) truncf((float)(x))
#define POPCOUNT(x) ((uint)__popc((uint)(x)))
#define LEADING_ZEROS(x) ((uint)__clz((int)(uint)(x)))
#define ATOMIC_ADD_U32(array, i, v) atomicAdd(&(array)[i], (uint)(v))
#define ATOMIC_ADD_I32(array, i, v) atomicAdd(&(array)[i], (int)(v))
#define ATOMIC_MIN_U32(array, i, v) atomicMin(&(array)[i], (uint)(v))
#define ATOMIC_MIN_I32(array, i, v) atomicMin(&(array)[i], (int)(v))
#define ATOMIC_MAX_U32(array, i, v) atomicMax(&(array)[i], (uint)(v))
#define ATOMIC_MAX_I32(array, i, v) atomicMax(&(array)[i], (int)(v))
#define ATOMIC_OR_U32(array, i, v) atomicOr(&(array)[i], (uint)(v))
#ifndef __HIP__
#define DOT4_I8(a, b, sum) __dp4a((int)(uint)(a), (int)(uint)(b), (int)(sum))
FUNCTION float vti_f16_value(uint bits) {
  float value;
  unsigned short narrow = (unsigned short)bits;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(narrow));
  return value;
}
#else
FUNCTION float vti_f16_value(uint bits) { return (float)__builtin_bit_cast(_Float16, (unsigned short)bits); }
#endif
#define F16_TO_F32(bits) vti_f16_value(bits)
)";
}

}  // namespace vectis::inline v0_1::detail
