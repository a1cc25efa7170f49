// SIMD routines of the CPU's operations: conversion of elements, sums, transposition. Each is compiled for several
// instruction sets; at run time the best one that the host supports is used (Highway's dynamic dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// Returns Highway's name of the instruction set that the SIMD routines use on this host: "AVX3_DL", "AVX2", "NEON".
// The text is static. Does not throw.
const char* dispatch_target();

// The number of elements that operations convert at a time, so that source and result of a block stay in the L1
// cache.
inline constexpr std::size_t block_elements = 1024;

// Converts `count` elements of `type` to float32. float16, bfloat16 and int8 convert exactly; int32 is rounded to
// nearest even. Does not throw. Unchecked preconditions: `from` and `to` hold `count` elements and do not overlap,
// and `type` is a VectisType (an unknown type is copied as float32).
void read_floats(VectisType type, const void* from, std::size_t count, float* to);

// Converts `count` floats to `type`, rounding to nearest even. float16 and bfloat16 overflow to infinity and keep
// NaN; int8 and int32 saturate, and NaN becomes 0. Does not throw. Unchecked preconditions: `from` and `to` hold
// `count` elements and do not overlap, and `type` is a VectisType (for an unknown type the floats are copied).
void write_floats(VectisType type, const float* from, std::size_t count, void* to);

// Returns `count` elements of `type` as float32: `from` itself when `type` is float32, otherwise `buffer`, into which
// they are converted (int32 rounded to nearest even). Does not throw. Unchecked precondition: `buffer` has room for
// `count` floats and does not overlap `from`.
inline const float* as_floats(VectisType type, const void* from, std::size_t count, float* buffer) {
  if (type == VECTIS_FLOAT32) return static_cast<const float*>(from);
  read_floats(type, from, count, buffer);
  return buffer;
}

// Returns the sum of `count` floats, 0 for none. Adds in float32 lanes and the lanes in float64, so that the rounding
// error grows with `count`: pass blocks of at most about block_elements. Sums of integers of up to eight bits are
// then exact. A sum beyond the range of float32 is that of scaled elements. Does not throw.
double sum_of(const float* values, std::size_t count);

// Returns the sum of the squares of `count` floats, 0 for none. Adds in float32 lanes and the lanes in float64, so
// that the rounding error grows with `count`: pass blocks of at most about block_elements. Sums of squares of int8
// values are then exact. Squares beyond the range of float32 are those of scaled elements. Does not throw.
double sum_of_squares(const float* values, std::size_t count);

// Returns the sum of the squares of any number of elements of `type`: converts and sums blocks of block_elements,
// whose sums are added in float64. Does not throw. Unchecked precondition: `type` is a VectisType.
double sum_of_squares(VectisType type, const void* elements, std::size_t count);

// Writes the transpose of a rows x columns matrix: to[c * to_stride + r] = from[r * from_stride + c]. Strides count
// elements. Does not throw. Unchecked preconditions: element_bytes is 1, 2 or 4, from_stride >= columns, to_stride >=
// rows, and the two matrices do not overlap.
void transpose_elements(std::size_t element_bytes, const void* from, std::size_t rows, std::size_t columns,
                        std::size_t from_stride, void* to, std::size_t to_stride);

}  // namespace vectis::cpu
