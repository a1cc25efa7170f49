// Convolution, pooling and interpolation of arrays of shape (batch, channels, extents ...) with one, two or three axes
// of extents, layer normalization, and the recurrent part of LSTM.
#pragma once

#include <cstdint>

#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// Options of conv(). A list of one number holds for all axes; an empty list is the default.
struct ConvOptions {
  Shape steps = {};      // from one window to the next, by default 1
  Shape padding = {};    // zeros before and after each axis, by default 0
  Shape dilations = {};  // from one element of a window to the next, by default 1
  std::int64_t groups = 1;
};
// Returns the cross-correlation of `x`, of shape (batch, channels, extents ...), with `weights`, of shape (outputs,
// channels / groups, window ...): what conv1d, conv2d and conv3d are elsewhere. Throws InvalidInput when shapes,
// channels and groups do not fit.
VECTIS_API Tensor conv(const Operand& x, const Operand& weights, const ConvOptions& options = {});

// Options of max_pool() and mean_pool(). A list of one number holds for all axes.
struct PoolOptions {
  Shape steps = {};    // by default the size of the window
  Shape padding = {};  // before and after each axis, by default 0
};
// Returns the largest element of each window. Padding is smaller than every number; equal elements share the gradient.
VECTIS_API Tensor max_pool(const Operand& x, const Shape& window, const PoolOptions& options = {});
// Returns the mean of each window, in which padding counts as zeros.
VECTIS_API Tensor mean_pool(const Operand& x, const Shape& window, const PoolOptions& options = {});

// Returns each row of the last axis minus its mean, times 1 / sqrt(variance + epsilon): layer normalization without
// weights. Of 16 bits in float32. Throws InvalidInput for arrays without axes and of integers.
VECTIS_API Tensor layer_norm(const Operand& x, double epsilon = 1e-5);

// Hidden states and cells after each element of a sequence: (sequence, batch, hidden).
struct LstmStates {
  Tensor hidden;
  Tensor cells;
};
// Runs the recurrent part of an LSTM over a sequence. `inputs`, of shape (sequence, batch, 4 * hidden), are what the
// gates get from the input: in the order input, forget, cell, output. `weights`, of shape (4 * hidden, hidden),
// multiply the hidden state before each element; `hidden` and `cell`, of shape (batch, hidden), are the states before
// the first. All are converted to the type that holds all. Throws InvalidInput when shapes do not fit or there is no
// element.
VECTIS_API LstmStates lstm(const Operand& inputs, const Operand& weights, const Operand& hidden, const Operand& cell);

// How interpolate() computes an element between others.
enum class Interpolation : std::uint8_t { nearest, linear };
// Resizes the axes after the first two to `extents`. Element i is at (i + 1/2) * old / new - 1/2, within the ends;
// `nearest` takes the element at floor(i * old / new).
VECTIS_API Tensor interpolate(const Operand& x, const Shape& extents, Interpolation how = Interpolation::linear);

}  // namespace vectis::inline v0_1::array
