/* The words of CUDA C++ and HIP C++ for a host compiler: what a kernel's text finds when the test driver compiles it.
 * Threads of a group run one after the other on one thread of the host, so atomics are plain. */
#ifndef VECTIS_TEST_DRIVER_DEVICE_WORDS_H
#define VECTIS_TEST_DRIVER_DEVICE_WORDS_H

#include "kernel_abi.h"

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("vtd_shared")))

static VtdPlace vtd_place;
#define threadIdx (vtd_place.thread)
#define blockIdx (vtd_place.block)
#define blockDim (vtd_place.group)
#define gridDim (vtd_place.grid)
#define __syncthreads() (vtd_place.barrier(__LINE__))
#define __threadfence()
#define __threadfence_block()

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

static inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
static inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
static inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
static inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline int __dp4a(int a, int b, int sum) {
  for (int lane = 0; lane < 32; lane += 8) sum += (int)(signed char)(a >> lane) * (int)(signed char)(b >> lane);
  return sum;
}

#define VTD_FUNCTION1(name) \
  static inline float name(float x) { return __builtin_##name(x); }
#define VTD_FUNCTION2(name) \
  static inline float name(float x, float y) { return __builtin_##name(x, y); }
VTD_FUNCTION1(fabsf);
VTD_FUNCTION1(sqrtf);
VTD_FUNCTION1(expf);
VTD_FUNCTION1(exp2f);
VTD_FUNCTION1(logf);
VTD_FUNCTION1(log2f);
VTD_FUNCTION1(sinf);
VTD_FUNCTION1(cosf);
VTD_FUNCTION1(tanf);
VTD_FUNCTION1(tanhf);
VTD_FUNCTION1(asinf);
VTD_FUNCTION1(acosf);
VTD_FUNCTION1(atanf);
VTD_FUNCTION1(floorf);
VTD_FUNCTION1(ceilf);
VTD_FUNCTION1(rintf);
VTD_FUNCTION1(truncf);
VTD_FUNCTION1(erff);
VTD_FUNCTION2(fminf);
VTD_FUNCTION2(fmaxf);
VTD_FUNCTION2(fmodf);
VTD_FUNCTION2(powf);
VTD_FUNCTION2(atan2f);

static inline float rsqrtf(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
static inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

#define VTD_ATOMIC(name, expression)          \
  template <class T>                          \
  static inline T name(T* address, T value) { \
    T old = *address;                         \
    *address = expression;                    \
    return old;                               \
  }
VTD_ATOMIC(atomicAdd, old + value)
VTD_ATOMIC(atomicMin, value < old ? value : old)
VTD_ATOMIC(atomicMax, old < value ? value : old)
VTD_ATOMIC(atomicOr, old | value)
VTD_ATOMIC(atomicAnd, old& value)
VTD_ATOMIC(atomicExch, value)

#include "warp_words.h"

/* A kernel's parameters, from its type. */
template <class T>
constexpr unsigned char vtd_is_pointer = 0;
template <class T>
constexpr unsigned char vtd_is_pointer<T*> = 1;

template <int... I>
struct VtdIndices {};

template <auto Kernel>
struct VtdLauncher;

template <class... Parameters, void (*Kernel)(Parameters...)>
struct VtdLauncher<Kernel> {
  static constexpr unsigned count = sizeof...(Parameters);
  static constexpr unsigned bytes[count + 1] = {sizeof(Parameters)..., 0};
  static constexpr unsigned char is_pointer[count + 1] = {vtd_is_pointer<Parameters>..., 0};
  template <int... I>
  static void spread(void** given, VtdIndices<I...>) {
    Kernel(*static_cast<Parameters*>(given[I])...);
  }
  static void call(void** given) { spread(given, VtdIndices<__integer_pack((int)count)...>{}); }
};

#define VTD_KERNEL(name, items)    \
  {#name,                          \
   VtdLauncher<&name>::call,       \
   VtdLauncher<&name>::count,      \
   VtdLauncher<&name>::bytes,      \
   VtdLauncher<&name>::is_pointer, \
   items}

extern "C" __attribute__((weak, visibility("hidden"))) char __start_vtd_shared[];
extern "C" __attribute__((weak, visibility("hidden"))) char __stop_vtd_shared[];

#define VTD_MODULE(...)                                                      \
  static const VtdKernel vtd_kernels[] = {__VA_ARGS__};                      \
  extern "C" __attribute__((visibility("default"))) VtdModule vtd_module = { \
      &vtd_place, __start_vtd_shared, __stop_vtd_shared, vtd_kernels, sizeof vtd_kernels / sizeof *vtd_kernels};

#endif
