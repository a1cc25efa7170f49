// SIMD routines of the CPU's operations: conversion of elements, sums, transposition. Each is compiled for several
// instruction sets; at run time the best one that the host supports is used (Highway's dynamic dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// Highway's name of the instruction set in use: "AVX3_DL", "AVX2", "NEON".
const char* dispatch_target();

// Elements that operations convert at a time: source and result of a block stay in the L1 cache.
inline constexpr std::size_t block_elements = 1024;

// Converts `count` elements to float32. Exact for all types but int32, which is rounded to nearest even.
void read_floats(VectisType type, const void* from, std::size_t count, float* to);

// Converts from float32, rounding to nearest even. float16 and bfloat16 overflow to infinity and keep NaN; int8 and
// int32 saturate, and NaN becomes 0.
void write_floats(VectisType type, const float* from, std::size_t count, void* to);

// The elements as float32: in place when they are, otherwise converted into `buffer`, which has room for `count`.
inline const float* as_floats(VectisType type, const void* from, std::size_t count, float* buffer) {
  if (type == VECTIS_FLOAT32) return static_cast<const float*>(from);
  read_floats(type, from, count, buffer);
  return buffer;
}

// Sums of a block of about block_elements: summed in float32 lanes, which are added in float64. The error grows with
// the number of elements per lane. Integers of up to eight bits are summed exactly.
double sum_of(const float* values, std::size_t count);
double sum_of_squares(const float* values, std::size_t count);

// The same over any number of elements of any type, block after block.
double sum_of_squares(VectisType type, const void* elements, std::size_t count);

// to[c * to_stride + r] = from[r * from_stride + c] for a matrix of rows x columns elements of 1, 2 or 4 bytes. Strides
// count elements.
void transpose_elements(std::size_t element_bytes, const void* from, std::size_t rows, std::size_t columns,
                        std::size_t from_stride, void* to, std::size_t to_stride);

}  // namespace vectis::cpu
