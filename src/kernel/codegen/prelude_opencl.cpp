#include "kernel/codegen/prelude.hpp"

namespace vectis::inline v0_1::detail {

// OpenCL C 1.2. Arguments of type `bool` are what comparisons give; `as_float` and its like take any 32-bit type. Dot
// products of four signed bytes are an extension (Intel, Mesa, Arm; Arm's older one takes vectors). Their sums are not
// saturated. vload_half needs no extension, and must not flush subnormal values.
std::string_view opencl_prelude() noexcept {
  return R"(#pragma OPENCL FP_CONTRACT OFF
#define FUNCTION static
#define VTI_GLOBAL __global
#define VTI_SHARED __local __attribute__((aligned(16)))
#define GLOBAL_ID(d) ((uint)get_global_id(d))
#define LOCAL_ID(d) ((uint)get_local_id(d))
#define GROUP_ID(d) ((uint)get_group_id(d))
#define GROUP_COUNT(d) ((uint)get_num_groups(d))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define UNIFORM_LOAD(array, i) (BARRIER(), (array)[i])
#define F32(x) ((float)(x))
#define I32(x) ((int)(x))
#define U32(x) ((uint)(x))
#define AS_F32(x) as_float(x)
#define AS_I32(x) as_int(x)
#define AS_U32(x) as_uint(x)
#define FMA(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define MIN(a, b) fmin((float)(a), (float)(b))
#define MAX(a, b) fmax((float)(a), (float)(b))
#define ABS(x) fabs((float)(x))
#define SQRT(x) sqrt((float)(x))
#define RSQRT(x) rsqrt((float)(x))
#define EXP(x) exp((float)(x))
#define EXP2(x) exp2((float)(x))
#define LOG(x) log((float)(x))
#define LOG2(x) log2((float)(x))
#define SIN(x) sin((float)(x))
#define COS(x) cos((float)(x))
#define TAN(x) tan((float)(x))
#define TANH(x) tanh((float)(x))
#define ASIN(x) asin((float)(x))
#define ACOS(x) acos((float)(x))
#define ATAN(x) atan((float)(x))
#define ATAN2(y, x) atan2((float)(y), (float)(x))
#define POW(x, y) pow((float)(x), (float)(y))
#define FLOOR(x) floor((float)(x))
#define CEIL(x) ceil((float)(x))
#define ROUND(x) rint((float)(x))
#define TRUNC(x) trunc((float)(x))
#define POPCOUNT(x) popcount((uint)(x))
#define LEADING_ZEROS(x) clz((uint)(x))
#define ATOMIC_ADD_U32(array, i, v) atomic_add(&(array)[i], (uint)(v))
#define ATOMIC_ADD_I32(array, i, v) atomic_add(&(array)[i], (int)(v))
#define ATOMIC_MIN_U32(array, i, v) atomic_min(&(array)[i], (uint)(v))
#define ATOMIC_MIN_I32(array, i, v) atomic_min(&(array)[i], (int)(v))
#define ATOMIC_MAX_U32(array, i, v) atomic_max(&(array)[i], (uint)(v))
#define ATOMIC_MAX_I32(array, i, v) atomic_max(&(array)[i], (int)(v))
#define ATOMIC_OR_U32(array, i, v) atomic_or(&(array)[i], (uint)(v))
#if defined(cl_khr_integer_dot_product) && defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#define DOT4_I8(a, b, sum) ((int)(sum) + dot_4x8packed_ss_int((uint)(a), (uint)(b)))
#elif defined(cl_arm_integer_dot_product_accumulate_int8)
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable
#define DOT4_I8(a, b, sum) arm_dot_acc(as_char4((uint)(a)), as_char4((uint)(b)), (int)(sum))
#endif
FUNCTION float vti_f16_value(uint bits) {
  ushort narrow = (ushort)bits;
  return vload_half(0, (const half*)&narrow);
}
#define F16_TO_F32(bits) vti_f16_value(bits)
)";
}

}  // namespace vectis::inline v0_1::detail
