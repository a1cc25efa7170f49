// Vectors of sixteen elements with the compiler's vector extensions: one source that becomes AVX-512, AVX2 or SSE
// code by the target of the function it is inlined into. Everything here must be inlined, or the ABI of callers would
// differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define VECTIS_WIDE [[gnu::always_inline]] inline
#define VECTIS_WIDE_LAMBDA __attribute__((always_inline))

// Targets of kernels; a function for one of them calls only VECTIS_WIDE functions.
#if defined(__x86_64__)
#define VECTIS_TARGET_AVX2 [[gnu::target("avx2,fma")]]
#define VECTIS_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]]
#endif

namespace vectis::inline v0_1::simd {

inline constexpr std::size_t lanes = 16;

using F32x16 = float __attribute__((vector_size(64)));
using I32x16 = std::int32_t __attribute__((vector_size(64)));
using U32x16 = std::uint32_t __attribute__((vector_size(64)));
using U16x16 = std::uint16_t __attribute__((vector_size(32)));
using I16x16 = std::int16_t __attribute__((vector_size(32)));
using I8x16 = std::int8_t __attribute__((vector_size(16)));

template <class V>
VECTIS_WIDE void load_wide(V& value, const void* from) noexcept {
  std::memcpy(&value, from, sizeof(V));
}

template <class V>
VECTIS_WIDE void store_wide(const V& value, void* to) noexcept {
  std::memcpy(to, &value, sizeof(V));
}

template <class To, class From>
VECTIS_WIDE void reinterpret_wide(To& to, const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  std::memcpy(&to, &from, sizeof(To));
}

// Loads up to 16 elements of a row of `length` floats, beginning at element `at`, and sets lanes beyond the row's end
// to 0. Precondition: at <= length.
VECTIS_WIDE void load_part(F32x16& value, const float* row, std::size_t at, std::size_t length) noexcept {
  if (at + lanes <= length) {
    load_wide(value, row + at);
    return;
  }
  alignas(64) float part[lanes] = {};
  std::memcpy(part, row + at, (length - at) * sizeof(float));
  load_wide(value, part);
}

VECTIS_WIDE void absolute(F32x16& value) noexcept {
  U32x16 bits;
  reinterpret_wide(bits, value);
  bits &= 0x7FFFFFFFU;
  reinterpret_wide(value, bits);
}

// The halves of a vector. Registers only: a detour through memory costs as much as a short row.
using F32x8 = float __attribute__((vector_size(32)));
using F32x4 = float __attribute__((vector_size(16)));

// Returns the sum of all 16 lanes, added in one fixed order, so that equal inputs give equal results on every target.
VECTIS_WIDE float sum_of_lanes(const F32x16& value) noexcept {
  const F32x8 eight = __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15);
  const F32x4 four =
      __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

VECTIS_WIDE float largest_of_lanes(const F32x16& value) noexcept {
  const F32x8 low = __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7);
  const F32x8 high = __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15);
  const F32x8 eight = low > high ? low : high;
  const F32x4 lower = __builtin_shufflevector(eight, eight, 0, 1, 2, 3);
  const F32x4 upper = __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  const F32x4 four = lower > upper ? lower : upper;
  const float first = four[0] > four[2] ? four[0] : four[2];
  const float second = four[1] > four[3] ? four[1] : four[3];
  return first > second ? first : second;
}

// Loads 16 bfloat16 values at `from`, which needs no alignment, and converts them to floats without rounding: a
// bfloat16 is the upper half of a float.
VECTIS_WIDE void widen_bfloat16(F32x16& to, const void* from) noexcept {
  U16x16 half;
  load_wide(half, from);
  U32x16 bits = __builtin_convertvector(half, U32x16) << 16U;
  reinterpret_wide(to, bits);
}

// Loads 16 fp16 values at `from` and converts them to floats without rounding. Precondition: all are finite; infinity
// and NaN become wrong finite floats. Moves exponent and fraction into place and multiplies by the difference of the
// exponent biases, which also normalizes subnormal values.
VECTIS_WIDE void widen_float16(F32x16& to, const void* from) noexcept {
  U16x16 half;
  load_wide(half, from);
  const U32x16 bits = __builtin_convertvector(half, U32x16);
  const U32x16 magnitude = (bits & 0x7FFFU) << 13U;
  F32x16 value;
  reinterpret_wide(value, magnitude);
  value *= 0x1p112F;
  U32x16 whole;
  reinterpret_wide(whole, value);
  whole |= (bits & 0x8000U) << 16U;
  reinterpret_wide(to, whole);
}

}  // namespace vectis::inline v0_1::simd
