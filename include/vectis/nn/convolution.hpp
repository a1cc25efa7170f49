// Convolutions over one, two and three axes.
#pragma once

#include <cstdint>
#include <string_view>

#include "vectis/array/shape.hpp"
#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// A list of one number holds for all axes.
struct ConvolutionOptions {
  Shape stride = {1};
  Shape padding = {0};  // zeros before and after each axis
  Shape dilation = {1};
  std::int64_t groups = 1;
  bool bias = true;
};

// What Conv1d, Conv2d and Conv3d share: cross-correlation of (batch, channels, extents ...) with weights of shape
// (outputs, inputs / groups, kernel ...).
class VECTIS_API Convolution {
 public:
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  Tensor weight;
  Tensor bias;  // (outputs,)
  ConvolutionOptions options;

 protected:
  // Draws weights and bias as fan_uniform() does. Throws InvalidInput when the numbers do not fit.
  Convolution(std::size_t axes, std::int64_t inputs, std::int64_t outputs, const Shape& kernel, Generator& random,
              const ConvolutionOptions& options);
};

// They take (batch, inputs, extents ...) and return (batch, outputs, (extent + 2 padding - dilation (kernel - 1) - 1) /
// stride + 1 ...). `kernel` has one number, or one for each axis. The constructors throw InvalidInput when the numbers
// do not fit, forward() for another number of axes or channels.
class Conv1d : public Convolution {
 public:
  static constexpr std::string_view kind = "Conv1d";
  Conv1d(std::int64_t inputs, std::int64_t outputs, const Shape& kernel, Generator& random,
         const ConvolutionOptions& given = {})
      : Convolution(1, inputs, outputs, kernel, random, given) {}
};
class Conv2d : public Convolution {
 public:
  static constexpr std::string_view kind = "Conv2d";
  Conv2d(std::int64_t inputs, std::int64_t outputs, const Shape& kernel, Generator& random,
         const ConvolutionOptions& given = {})
      : Convolution(2, inputs, outputs, kernel, random, given) {}
};
class Conv3d : public Convolution {
 public:
  static constexpr std::string_view kind = "Conv3d";
  Conv3d(std::int64_t inputs, std::int64_t outputs, const Shape& kernel, Generator& random,
         const ConvolutionOptions& given = {})
      : Convolution(3, inputs, outputs, kernel, random, given) {}
};

}  // namespace vectis::inline v0_1::nn
