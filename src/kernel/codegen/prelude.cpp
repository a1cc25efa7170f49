#include "kernel/codegen/prelude.hpp"

#include <fmt/format.h>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

// Packing is integer arithmetic on the bits, so that it is the same everywhere and needs no extension. NaN becomes
// quiet and keeps what fits of its payload. So is unpacking of float16 where a dialect has no conversion in hardware
// that keeps subnormal values: GLSL's unpackHalf2x16 may flush them. The one product, of such a value, is exact and
// normal in binary32.
std::string_view common_prelude() noexcept {
  return R"(#define IS_NAN(x) ((AS_U32(F32(x)) & 0x7fffffffu) > 0x7f800000u)
#define F32_INFINITY AS_F32(0x7f800000u)
#define F32_NAN AS_F32(0x7fc00000u)
FUNCTION int vti_imin(int a, int b) { return b < a ? b : a; }
FUNCTION int vti_imax(int a, int b) { return b > a ? b : a; }
FUNCTION uint vti_umin(uint a, uint b) { return b < a ? b : a; }
FUNCTION uint vti_umax(uint a, uint b) { return b > a ? b : a; }
FUNCTION float vti_clamp(float x, float least, float most) { return MIN(MAX(x, least), most); }
FUNCTION float vti_sign(float x) { return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x); }
FUNCTION int vti_i32_saturated(float x) {
  if (x >= 2147483648.0f) { return 2147483647; }
  if (x >= -2147483648.0f) { return I32(x); }
  return IS_NAN(x) ? 0 : -2147483647 - 1;
}
FUNCTION uint vti_u32_saturated(float x) {
  if (x >= 4294967296.0f) { return 0xffffffffu; }
  return x >= 1.0f ? U32(x) : 0u;
}
#define IMIN(a, b) vti_imin(a, b)
#define IMAX(a, b) vti_imax(a, b)
#define UMIN(a, b) vti_umin(a, b)
#define UMAX(a, b) vti_umax(a, b)
#define CLAMP(x, least, most) vti_clamp(x, least, most)
#define SIGN(x) vti_sign(x)
#define I32_SATURATED(x) vti_i32_saturated(x)
#define U32_SATURATED(x) vti_u32_saturated(x)
FUNCTION uint vti_shift_rounded(uint value, uint bits) {
  return (value + ((1u << (bits - 1u)) - 1u) + ((value >> bits) & 1u)) >> bits;
}
#ifndef F16_TO_F32
FUNCTION float vti_f16_to_f32(uint half_bits) {
  uint magnitude = half_bits & 0x7fffu;
  uint bits = (magnitude << 13) + 0x38000000u;
  if (magnitude >= 0x7c00u) { bits = bits + 0x38000000u; }
  if (magnitude > 0x7c00u) { bits = bits | 0x400000u; }
  if (magnitude < 0x400u) { bits = AS_U32(F32(magnitude) * 5.9604644775390625e-8f); }
  return AS_F32(bits | ((half_bits & 0x8000u) << 16));
}
#define F16_TO_F32(bits) vti_f16_to_f32(bits)
#endif
FUNCTION uint vti_f32_to_f16(float value) {
  uint bits = AS_U32(value);
  uint magnitude = bits & 0x7fffffffu;
  uint result = 0u;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x47800000u) {
    result = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {
    result = vti_shift_rounded(magnitude - 0x38000000u, 13u);
  } else if (magnitude > 0x33000000u) {
    result = vti_shift_rounded((magnitude & 0x7fffffu) | 0x800000u, 126u - (magnitude >> 23));
  }
  return result | ((bits >> 16) & 0x8000u);
}
FUNCTION float vti_bf16_to_f32(uint bits) { return AS_F32(bits << 16); }
FUNCTION uint vti_f32_to_bf16(float value) {
  uint bits = AS_U32(value);
  return (bits & 0x7fffffffu) > 0x7f800000u ? ((bits >> 16) | 0x40u) : vti_shift_rounded(bits, 16u);
}
FUNCTION int vti_i8_lane(uint word, uint lane) { return AS_I32(word << (24u - 8u * (lane & 3u))) >> 24; }
FUNCTION uint vti_insert(uint word, uint bits, uint mask, uint shift) {
  return (word & ~(mask << shift)) | ((bits & mask) << shift);
}
#define F32_TO_F16(x) vti_f32_to_f16(x)
#define BF16_TO_F32(bits) vti_bf16_to_f32(bits)
#define F32_TO_BF16(x) vti_f32_to_bf16(x)
#define I8_LANE(word, lane) vti_i8_lane(word, lane)
FUNCTION uint vti_insert_f32(uint word, uint lane, float value) { return AS_U32(value); }
FUNCTION uint vti_insert_i32(uint word, uint lane, int value) { return AS_U32(value); }
FUNCTION uint vti_insert_u32(uint word, uint lane, uint value) { return value; }
FUNCTION uint vti_insert_f16(uint word, uint lane, float value) {
  return vti_insert(word, vti_f32_to_f16(value), 0xffffu, 16u * (lane & 1u));
}
FUNCTION uint vti_insert_bf16(uint word, uint lane, float value) {
  return vti_insert(word, vti_f32_to_bf16(value), 0xffffu, 16u * (lane & 1u));
}
FUNCTION uint vti_insert_i8(uint word, uint lane, int value) {
  return vti_insert(word, AS_U32(vti_imin(vti_imax(value, -128), 127)), 0xffu, 8u * (lane & 3u));
}
FUNCTION float vti_lane_f16(uint word, uint lane) { return F16_TO_F32(word >> (16u * (lane & 1u))); }
FUNCTION float vti_lane_bf16(uint word, uint lane) { return vti_bf16_to_f32(word >> (16u * (lane & 1u))); }
FUNCTION int vti_lane_i8(uint word, uint lane) { return vti_i8_lane(word, lane); }
#ifndef DOT4_I8
FUNCTION int vti_dot4_i8(uint a, uint b, int sum) {
  return sum + vti_i8_lane(a, 0u) * vti_i8_lane(b, 0u) + vti_i8_lane(a, 1u) * vti_i8_lane(b, 1u) +
         vti_i8_lane(a, 2u) * vti_i8_lane(b, 2u) + vti_i8_lane(a, 3u) * vti_i8_lane(b, 3u);
}
#define DOT4_I8(a, b, sum) vti_dot4_i8(a, b, sum)
#endif
)";
}

namespace {

// AMD's GPUs have the instruction since gfx906 and gfx1011, with another built-in since gfx1100; clang, their compiler
// for HIP and OpenCL C, says from version 15 on which the target has.
constexpr std::string_view amd_dot_product = R"(#if !defined(DOT4_I8) && (defined(__HIP__) || defined(__AMDGCN__))
#if __clang_major__ >= 15
#if __has_builtin(__builtin_amdgcn_sdot4)
#define DOT4_I8(a, b, sum) __builtin_amdgcn_sdot4((int)(uint)(a), (int)(uint)(b), (int)(sum), false)
#elif __has_builtin(__builtin_amdgcn_sudot4)
#define DOT4_I8(a, b, sum) __builtin_amdgcn_sudot4(true, (int)(uint)(a), true, (int)(uint)(b), (int)(sum), false)
#endif
#endif
#endif
)";

}  // namespace

std::string prelude(Dialect dialect) {
  std::string_view own;
  std::string_view dot_product = amd_dot_product;
  switch (dialect) {
    case Dialect::opencl_c:
      own = opencl_prelude();
      break;
    case Dialect::cuda:
    case Dialect::hip:
      own = cuda_prelude();
      break;
    case Dialect::glsl_vulkan:
    case Dialect::glsl_webgpu:
      own = glsl_prelude();
      dot_product = "";
      break;
    case Dialect::wgsl:
      throw Error(ErrorCode::invalid_input, "print",
                  "wgsl has no macros, so hand-written kernels are not printed in it; use glsl-webgpu, or the IR");
  }
  return fmt::format("{}{}{}", own, dot_product, common_prelude());
}

std::string group_size_define(const std::array<std::uint32_t, 3>& group) {
  return fmt::format("#define GROUP_SIZE(d) ((d) == 0 ? {}u : (d) == 1 ? {}u : {}u)\n", group[0], group[1], group[2]);
}

std::string line_marker(std::string_view part) { return fmt::format("#line 1 \"{}\"\n", part); }

}  // namespace vectis::inline v0_1::detail
