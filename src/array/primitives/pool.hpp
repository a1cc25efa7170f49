// The largest element, or the mean, of each window on the CPU, in one pass over the data.
#pragma once

#include <optional>
#include <source_location>

#include "array/primitives/windows.hpp"
#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// Returns the maxima of the windows of the last axes of `x`, each of which is surrounded by padding that is smaller
// than every number. Nothing is returned for arrays that need other operations: of other types than float32, on
// devices, and of more than three axes of windows. Windows and padding must fit.
std::optional<Tensor> max_pool_natively(const Tensor& x, const WindowRule& rule, const Shape& padding,
                                        const std::source_location& where);
// Returns the means of the windows, in which padding counts as zeros; nothing as above.
std::optional<Tensor> mean_pool_natively(const Tensor& x, const WindowRule& rule, const Shape& padding,
                                         const std::source_location& where);

}  // namespace vectis::inline v0_1::array
