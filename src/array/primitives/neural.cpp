#include "vectis/array/neural.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/convolution.hpp"
#include "array/primitives/pool.hpp"
#include "array/primitives/windows.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

// The number of axes after batch and channels. Throws InvalidInput unless it is 1, 2 or 3.
std::size_t spatial_axes(std::string_view op, const Tensor& x) {
  if (x.rank() >= 3 && x.rank() <= 5) return x.rank() - 2;
  throw_invalid(op, fmt::format("shape {} is not (batch, channels, extents ...) with one to three extents; reshape it",
                                to_string(x.shape())));
}

// A number for each axis, from a list of none, one or all.
Shape for_axes(std::string_view op, const char* what, const Shape& given, std::size_t axes, std::int64_t otherwise) {
  if (given.empty()) return Shape(axes, otherwise);
  if (given.rank() == 1) return Shape(axes, given[0]);
  if (given.rank() != axes) {
    throw_invalid(op,
                  fmt::format("{} has {} numbers for {} axes; give one, or one for each", what, given.rank(), axes));
  }
  return given;
}

Tensor padded(const Tensor& x, const Shape& padding, const Scalar& value) {
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(x.rank() - padding.rank(), {0, 0});
  for (const std::int64_t width : padding) widths.emplace_back(width, width);
  return pad(x, widths, value);
}

// The axes [first, first + count) as a list.
Shape axes_from(std::size_t first, std::size_t count) {
  Shape axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(first + i));
  return axes;
}

// Windows of pooling with a number for each axis.
struct PoolRule {
  WindowRule windows;
  Shape padding;
};

PoolRule pool_rule(std::string_view op, const Tensor& x, const Shape& window, const PoolOptions& options) {
  const std::size_t axes = spatial_axes(op, x);
  const Shape sizes = for_axes(op, "window", window, axes, 1);
  Shape steps = sizes;
  if (!options.steps.empty()) steps = for_axes(op, "steps", options.steps, axes, 1);
  const Shape padding = for_axes(op, "padding", options.padding, axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    if (padding[i] > sizes[i] / 2) {
      throw_invalid(op,
                    fmt::format("padding {} of a window of {}; give at most half of the window", padding[i], sizes[i]));
    }
  }
  return {{sizes, steps, Shape(axes, 1)}, padding};
}

Tensor pooled_windows(std::string_view op, const Operand& x, const PoolRule& rule, const Scalar& fill) {
  return windows_of(op, padded(as_tensor(op, x), rule.padding, fill), rule.windows, x.where());
}

// Convolution as a product of matrices of all windows: of float64 and integers, and where nothing better is there.
Tensor composed_conv(const Tensor& input, const Tensor& filter, const ConvRule& rule,
                     const std::source_location& where) {
  const std::size_t axes = rule.padding.rank();
  const std::int64_t groups = rule.groups;
  // (batch, channels, positions ..., window ...)
  const Tensor windows = windows_of("conv", padded(input, rule.padding, 0), rule.windows, where);
  // A product of matrices for each group: (positions, channels * window) by (channels * window, outputs).
  const std::int64_t batch = input.extent(0);
  const std::int64_t channels = filter.extent(1);
  const std::int64_t outputs = filter.extent(0) / groups;
  Shape split = {batch, groups, channels};
  for (std::size_t i = 2; i < windows.rank(); ++i) split.push_back(windows.shape()[i]);
  Shape order = {1, 0};
  for (const std::int64_t axis : axes_from(3, axes)) order.push_back(axis);
  order.push_back(2);
  for (const std::int64_t axis : axes_from(3 + axes, axes)) order.push_back(axis);
  const Shape positions(std::span(windows.shape().begin() + 2, axes));
  const std::int64_t rows = batch * positions.elements();
  const std::int64_t depth = channels * rule.windows.sizes.elements();
  const Tensor left = permute_dims(windows.reshape(split), order).reshape({groups, rows, depth});
  const Tensor right = matrix_transpose(filter.reshape({groups, outputs, depth}));
  const Tensor products = matmul(left, right);
  Shape result = {groups, batch};
  for (const std::int64_t extent : positions) result.push_back(extent);
  result.push_back(outputs);
  Shape back = {1, 0, static_cast<std::int64_t>(2 + axes)};
  for (const std::int64_t axis : axes_from(2, axes)) back.push_back(axis);
  Shape joined = {batch, groups * outputs};
  for (const std::int64_t extent : positions) joined.push_back(extent);
  return permute_dims(products.reshape(result), back).reshape(joined);
}

// The least number of a type.
Scalar lowest(DType type) {
  switch (type) {
    case DType::int8:
      return std::numeric_limits<std::int8_t>::min();
    case DType::uint8:
    case DType::boolean:
      return 0;
    case DType::int32:
      return std::numeric_limits<std::int32_t>::min();
    case DType::int64:
      return std::numeric_limits<std::int64_t>::min();
    default:
      return -std::numeric_limits<double>::infinity();
  }
}

// Positions in an axis of `from` elements for an axis of `to`.
struct Resampling {
  std::vector<std::int32_t> low;
  std::vector<std::int32_t> high;
  std::vector<double> share;  // of `high`
};

Resampling resampled(std::int64_t from, std::int64_t to, Interpolation how) {
  constexpr std::int64_t extent_max = std::numeric_limits<std::int32_t>::max();
  if (std::max(from, to) > extent_max) {
    throw_invalid("interpolate",
                  fmt::format("an axis has {} elements; at most 2^31 - 1 can be interpolated", std::max(from, to)));
  }
  Resampling result;
  const auto count = static_cast<std::size_t>(to);
  result.low.reserve(count);  // fails at once when memory is short
  result.high.reserve(count);
  result.share.reserve(count);
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t nearest = i * from / to;
    const double exact =
        how == Interpolation::nearest ? static_cast<double>(nearest) : (static_cast<double>(i) + 0.5) * ratio - 0.5;
    const double at = std::clamp(exact, 0.0, static_cast<double>(from - 1));
    const double low = std::floor(at);
    result.low.push_back(static_cast<std::int32_t>(low));
    result.high.push_back(static_cast<std::int32_t>(std::min(low + 1, static_cast<double>(from - 1))));
    result.share.push_back(at - low);
  }
  return result;
}

}  // namespace

Tensor conv(const Operand& x, const Operand& weights, const ConvOptions& options) {
  const Tensor& input = as_tensor("conv", x);
  const Tensor& filter = as_tensor("conv", weights);
  check_devices("conv", input, filter);
  const std::size_t axes = spatial_axes("conv", input);
  const auto throw_shapes = [&](const std::string& why) {
    throw_invalid("conv", fmt::format("shapes {} and {} do not fit: {}", to_string(input.shape()),
                                      to_string(filter.shape()), why));
  };
  if (filter.rank() != input.rank()) throw_shapes("their ranks differ");
  const std::int64_t groups = options.groups;
  if (groups < 1 || input.extent(1) != filter.extent(1) * groups || filter.extent(0) % groups != 0) {
    throw_shapes(fmt::format("{} channels in {} groups need weights for {} channels, and outputs in as many groups",
                             input.extent(1), groups, groups > 0 ? input.extent(1) / groups : 0));
  }
  const DType type = promote(input.dtype(), filter.dtype());
  const ConvRule rule{
      {Shape(std::span(filter.shape().begin() + 2, axes)), for_axes("conv", "steps", options.steps, axes, 1),
       for_axes("conv", "dilations", options.dilations, axes, 1)},
      for_axes("conv", "padding", options.padding, axes, 0),
      groups};
  const Tensor source = input.astype(type);
  const Tensor factors = filter.astype(type);
  if (const std::optional<Tensor> result = convolve_natively(source, factors, rule, x.where())) return *result;
  return composed_conv(source, factors, rule, x.where());
}

Tensor max_pool(const Operand& x, const Shape& window, const PoolOptions& options) {
  const Tensor& tensor = as_tensor("max_pool", x);
  const PoolRule rule = pool_rule("max_pool", tensor, window, options);
  if (std::optional<Tensor> pooled = max_pool_natively(tensor, rule.windows, rule.padding, x.where())) return *pooled;
  const Tensor windows = pooled_windows("max_pool", x, rule, lowest(tensor.dtype()));
  const std::size_t axes = (windows.rank() - 2) / 2;
  return max(windows, axes_from(2 + axes, axes));
}

Tensor mean_pool(const Operand& x, const Shape& window, const PoolOptions& options) {
  const Tensor& tensor = as_tensor("mean_pool", x);
  const PoolRule rule = pool_rule("mean_pool", tensor, window, options);
  if (std::optional<Tensor> pooled = mean_pool_natively(tensor, rule.windows, rule.padding, x.where())) return *pooled;
  const Tensor windows = pooled_windows("mean_pool", x, rule, 0);
  const std::size_t axes = (windows.rank() - 2) / 2;
  return mean(windows, axes_from(2 + axes, axes));
}

Tensor interpolate(const Operand& x, const Shape& extents, Interpolation how) {
  Tensor result = as_tensor("interpolate", x);
  const std::size_t axes = spatial_axes("interpolate", result);
  const Shape wanted = for_axes("interpolate", "extents", extents, axes, 1);
  const TensorOptions here = options_of(result);
  if (how == Interpolation::linear && !is_real(result.dtype())) result = result.astype(DType::float32);
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::int64_t>(2 + i);
    if (wanted[i] < 1 || result.extent(axis) < 1) {
      throw_invalid("interpolate", fmt::format("from {} to {} elements along axis {}; give 1 or more",
                                               result.extent(axis), wanted[i], axis));
    }
    Shape resized = result.shape();
    resized[2 + i] = wanted[i];
    check_shape("interpolate", resized, result.dtype());
    const Resampling at = resampled(result.extent(axis), wanted[i], how);
    const Tensor low = take(result, Tensor::from_cpu(at.low, {wanted[i]}, here), axis);
    if (how == Interpolation::nearest) {
      result = low;
      continue;
    }
    const Tensor high = take(result, Tensor::from_cpu(at.high, {wanted[i]}, here), axis);
    Shape along(result.rank(), 1);
    along[2 + i] = wanted[i];
    const Tensor share = Tensor::from_cpu(at.share, along, {.runtime = here.runtime}).astype(result.dtype());
    result = low + (high - low) * share.on(result.device());
  }
  return result;
}

}  // namespace vectis::inline v0_1::array
