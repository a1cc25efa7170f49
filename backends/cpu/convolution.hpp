// Convolutions as the CPU backend computes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// Which of its three arrays a convolution computes from the other two: the output itself, or the gradient of the input
// or of the weights, given the gradient of the output.
enum class ConvolutionTarget : std::uint8_t { output, input, weights };

// One axis behind batch and channels: extents of input, output and window, and how windows lie in the input.
struct ConvolutionAxis {
  std::int64_t input;
  std::int64_t output;
  std::int64_t window;
  std::int64_t step;
  std::int64_t padding;
  std::int64_t dilation;  // from one element of a window to the next: 1 or more
  bool operator==(const ConvolutionAxis&) const = default;
};

// A convolution of row-major arrays: input [batch, input_channels, ...], output [batch, output_channels, ...] and
// weights [output_channels, input_channels / groups, ...]. No extent is 0.
struct Convolution {
  ConvolutionTarget target;
  VectisType type;   // float32 or bfloat16, of all arrays
  std::size_t axes;  // 1 to 3
  std::int64_t batch;
  std::int64_t groups;
  std::int64_t input_channels;
  std::int64_t output_channels;
  std::array<ConvolutionAxis, 3> along;  // the first `axes` count
  bool operator==(const Convolution&) const = default;
};

// The memory of a convolution. The target is written, the other two arrays are read.
struct ConvolutionArrays {
  void* input;
  void* weights;
  void* output;
  std::span<std::byte> workspace;
};

}  // namespace vectis::cpu
