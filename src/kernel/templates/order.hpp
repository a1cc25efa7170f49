// Helper functions of kernels that compare floats as integers: tool chains that assume infinities and NaN away, as WGSL
// allows, cannot change the order.
#pragma once

namespace vectis::inline v0_1::detail {

// `uint order_key(float)`, which orders as the values do: both zeros are equal, NaN is last, and denormals are not
// flushed; `float key_value(uint)`, its inverse; and `uint descending_key(float)`, which orders in reverse, NaN last.
extern const char* const order_functions;

// Every key but those of NaN and of infinities lies between the key of an infinity, here, and the complement of it.
extern const char* const lowest_key;

}  // namespace vectis::inline v0_1::detail
