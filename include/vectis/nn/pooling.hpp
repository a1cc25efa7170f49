// Pooling over the axes after batch and channels, of which there are one to three, and flattening.
#pragma once

#include <cstdint>
#include <string_view>

#include "vectis/array/shape.hpp"
#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// A list of one number holds for all axes.
struct PoolingOptions {
  Shape stride = {};   // by default the kernel
  Shape padding = {};  // before and after each axis, by default 0, at most half of the kernel
};

// The largest element of each window. Padding is smaller than every number.
class VECTIS_API MaxPool {
 public:
  static constexpr std::string_view kind = "MaxPool";

  explicit MaxPool(const Shape& window, const PoolingOptions& given = {}) : kernel(window), options(given) {}

  // Throws InvalidInput when kernel, stride and padding do not fit to the axes of `x`.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& /*visitor*/) {}

  Shape kernel;
  PoolingOptions options;
};

// The mean of each window, in which padding counts as zeros.
class VECTIS_API AveragePool {
 public:
  static constexpr std::string_view kind = "AveragePool";

  explicit AveragePool(const Shape& window, const PoolingOptions& given = {}) : kernel(window), options(given) {}

  // Throws InvalidInput when kernel, stride and padding do not fit to the axes of `x`.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& /*visitor*/) {}

  Shape kernel;
  PoolingOptions options;
};

// The mean of each channel: (batch, channels, extents ...) becomes (batch, channels).
class VECTIS_API GlobalAveragePool {
 public:
  static constexpr std::string_view kind = "GlobalAveragePool";

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& /*visitor*/) {}
};

// Joins all axes from `first_axis` on: (batch, channels, extents ...) becomes (batch, elements).
class VECTIS_API Flatten {
 public:
  static constexpr std::string_view kind = "Flatten";

  explicit Flatten(std::int64_t first = 1) : first_axis(first) {}

  // Throws InvalidInput when `x` has less axes than `first_axis`.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& /*visitor*/) {}

  std::int64_t first_axis;
};

}  // namespace vectis::inline v0_1::nn
