// Small transposes in registers.
#pragma once

#include <cstddef>

namespace vectis::cpu {

// to[c * to_stride + r] = from[r * from_stride + c] for elements of 1, 2 or 4 bytes; strides count elements. Meant for
// rectangles that stay in the first-level cache.
void transpose_elements(std::size_t element_bytes, const void* from, std::size_t rows, std::size_t columns,
                        std::size_t from_stride, void* to, std::size_t to_stride);

}  // namespace vectis::cpu
