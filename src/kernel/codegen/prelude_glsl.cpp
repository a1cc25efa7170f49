#include "kernel/codegen/prelude.hpp"

namespace vectis::inline v0_1::detail {

// GLSL 4.50 for SPIR-V. Its min and max are undefined for NaN and its tanh may overflow, so these have helpers.
// Results of findMSB and bitCount are converted at once: naga takes them for unsigned.
std::string_view glsl_prelude() noexcept {
  return R"(#version 450
#extension GL_GOOGLE_cpp_style_line_directive : require
#define FUNCTION
#define GLOBAL_ID(d) (gl_GlobalInvocationID[d])
#define LOCAL_ID(d) (gl_LocalInvocationID[d])
#define GROUP_ID(d) (gl_WorkGroupID[d])
#define GROUP_COUNT(d) (gl_NumWorkGroups[d])
#define BARRIER() barrier()
#define UNIFORM_LOAD(array, i) (barrier(), array[i])
#define F32(x) (float(x))
#define I32(x) (int(x))
#define U32(x) (uint(x))
float vti_as_f32(float x) { return x; }
float vti_as_f32(int x) { return intBitsToFloat(x); }
float vti_as_f32(uint x) { return uintBitsToFloat(x); }
uint vti_as_u32(float x) { return floatBitsToUint(x); }
uint vti_as_u32(int x) { return uint(x); }
uint vti_as_u32(uint x) { return x; }
#define AS_F32(x) vti_as_f32(x)
#define AS_I32(x) int(vti_as_u32(x))
#define AS_U32(x) vti_as_u32(x)
float vti_min(float a, float b) {
  return (floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u ? b : (b < a ? b : a);
}
float vti_max(float a, float b) {
  return (floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u ? b : (b > a ? b : a);
}
float vti_tanh(float x) { return abs(x) > 10.0 ? sign(x) : tanh(x); }
#define FMA(a, b, c) fma(float(a), float(b), float(c))
#define MIN(a, b) vti_min(a, b)
#define MAX(a, b) vti_max(a, b)
#define ABS(x) abs(float(x))
#define SQRT(x) sqrt(float(x))
#define RSQRT(x) inversesqrt(float(x))
#define EXP(x) exp(float(x))
#define EXP2(x) exp2(float(x))
#define LOG(x) log(float(x))
#define LOG2(x) log2(float(x))
#define SIN(x) sin(float(x))
#define COS(x) cos(float(x))
#define TAN(x) tan(float(x))
#define TANH(x) vti_tanh(x)
#define ASIN(x) asin(float(x))
#define ACOS(x) acos(float(x))
#define ATAN(x) atan(float(x))
#define ATAN2(y, x) atan(float(y), float(x))
#define POW(x, y) pow(float(x), float(y))
#define FLOOR(x) floor(float(x))
#define CEIL(x) ceil(float(x))
#define ROUND(x) roundEven(float(x))
#define TRUNC(x) trunc(float(x))
#define POPCOUNT(x) uint(bitCount(uint(x)))
#define LEADING_ZEROS(x) (31u - uint(findMSB(uint(x))))
#define ATOMIC_ADD_U32(array, i, v) atomicAdd(array[i], uint(v))
#define ATOMIC_ADD_I32(array, i, v) atomicAdd(array[i], int(v))
#define ATOMIC_MIN_U32(array, i, v) atomicMin(array[i], uint(v))
#define ATOMIC_MIN_I32(array, i, v) atomicMin(array[i], int(v))
#define ATOMIC_MAX_U32(array, i, v) atomicMax(array[i], uint(v))
#define ATOMIC_MAX_I32(array, i, v) atomicMax(array[i], int(v))
#define ATOMIC_OR_U32(array, i, v) atomicOr(array[i], uint(v))
)";
}

}  // namespace vectis::inline v0_1::detail
