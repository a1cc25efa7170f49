// The features of attention by heads.
#pragma once

#include <cstdint>

#include "vectis/array/operations.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::nn {

// Returns (batch, sequence, heads * features) as (batch, heads, sequence, features).
inline array::Tensor by_heads(const array::Tensor& x, std::int64_t heads) {
  return swapaxes(x.reshape({x.extent(0), x.extent(1), heads, x.extent(2) / heads}), 1, 2);
}

// Returns (batch, heads, sequence, features) as (batch, sequence, heads * features).
inline array::Tensor joined_heads(const array::Tensor& x) {
  return swapaxes(x, 1, 2).reshape({x.extent(0), x.extent(2), x.extent(1) * x.extent(3)});
}

}  // namespace vectis::inline v0_1::nn
