// Blocks of elements as float32 and back: what lets an operation be written once for every element type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// Elements that operations convert at a time: with its source a block of it stays in the first-level cache.
inline constexpr std::size_t block_elements = 1024;

// Exact for all types but int32, which is rounded to nearest even.
void read_floats(VectisType type, const void* from, std::size_t count, float* to);

// Rounds to nearest even. float16, bfloat16: overflow is infinity, NaN stays NaN. int8, int32: saturated, NaN is 0.
void write_floats(VectisType type, const float* from, std::size_t count, void* to);

// float32 in place, other types through `buffer`, which has room for `count`.
inline const float* as_floats(VectisType type, const void* from, std::size_t count, float* buffer) {
  if (type == VECTIS_FLOAT32) return static_cast<const float*>(from);
  read_floats(type, from, count, buffer);
  return buffer;
}

}  // namespace vectis::cpu
