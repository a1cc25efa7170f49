#include "vectis/nn/normalization.hpp"

#include <fmt/format.h>

#include "nn/check.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/neural.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// All axes but the second one, that of the channels.
Shape axes_of_channel(std::size_t rank) {
  Shape axes = {0};
  for (std::size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

// A shape that broadcasts one number per channel to an array of `rank` axes whose second one is the channels.
Shape along_channels(std::size_t rank) {
  Shape shape(rank - 1, 1);
  shape[0] = -1;
  return shape;
}

void check_channels(std::string_view op, const Tensor& x, std::int64_t channels) {
  if (x.rank() < 2) {
    throw_invalid(op, fmt::format("expected an array (batch, channels, extents ...), received shape {}; reshape it",
                                  to_string(x.shape())));
  }
  check_extent(op, x, 1, channels, "channels");
}

void check_normalized(std::string_view op, const Shape& shape) {
  if (shape.empty()) throw_invalid(op, "the normalized shape has no axes; give the last extents of the input");
  for (const std::int64_t extent : shape) check_min(op, "an extent of the normalized shape", extent);
}

// The last axes, whose extents must be `shape`.
Shape last_axes(std::string_view op, const Tensor& x, const Shape& shape) {
  Shape axes;
  const auto count = static_cast<std::int64_t>(shape.rank());
  for (std::int64_t axis = -count; axis < 0; ++axis) {
    check_extent(op, x, axis, shape[static_cast<std::size_t>(count + axis)], "features");
    axes.push_back(axis);
  }
  return axes;
}

// 16-bit inputs are normalized in float32.
DType type_for_sums(const Tensor& x) { return x.dtype() == DType::float64 ? DType::float64 : DType::float32; }

// Integers become float32.
DType type_of_result(const Tensor& x) { return is_real(x.dtype()) ? x.dtype() : DType::float32; }

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, const BatchNormOptions& given) : options(given) {
  check_min("batch_norm", "the number of channels", channels);
  check_not_negative("batch_norm", "epsilon", options.epsilon);
  check_not_negative("batch_norm", "momentum", options.momentum);
  const Shape shape = {channels};
  if (options.affine) {
    weight = array::ones(shape, DType::float32, options.where);
    bias = array::zeros(shape, DType::float32, options.where);
  }
  running_mean = array::zeros(shape, DType::float32, options.where);
  running_var = array::ones(shape, DType::float32, options.where);
  num_batches_tracked = array::zeros({}, DType::int32, options.where);
}

Tensor BatchNorm::forward(const Tensor& x, const Mode& mode) {
  check_channels("batch_norm", x, running_mean.extent(0));
  const Shape per_channel = along_channels(x.rank());
  const Tensor wide = x.astype(type_for_sums(x));
  Tensor average = running_mean.reshape(per_channel);
  Tensor variance = running_var.reshape(per_channel);
  Tensor centered = wide - average;
  if (mode.is_training()) {
    const std::int64_t count = x.elements() / std::max<std::int64_t>(x.extent(1), 1);
    if (count < 2) {
      throw_invalid("batch_norm", fmt::format("shape {} has {} elements in each channel, whose variance training "
                                              "needs; give a batch of 2 or more",
                                              to_string(x.shape()), count));
    }
    const Shape axes = axes_of_channel(x.rank());
    average = mean(wide, axes, true);
    centered = wide - average;
    variance = mean(square(centered), axes, true);
    const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    const auto updated = [&](const Tensor& running, const Tensor& of_batch) {
      const Tensor flat = array::stop_gradient(of_batch).reshape(running.shape()).astype(running.dtype());
      return running * (1 - options.momentum) + flat * options.momentum;
    };
    running_mean = updated(running_mean, average);
    running_var = updated(running_var, variance * unbiased);
    num_batches_tracked = num_batches_tracked + 1;
  }
  Tensor scale = rsqrt(variance + options.epsilon);
  if (!weight.is_empty()) scale = scale * weight.reshape(per_channel);
  Tensor y = centered * scale;
  if (!bias.is_empty()) y = y + bias.reshape(per_channel);
  return y.astype(type_of_result(x));
}

void BatchNorm::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
  visitor.buffer("running_mean", running_mean);
  visitor.buffer("running_var", running_var);
  visitor.buffer("num_batches_tracked", num_batches_tracked);
}

LayerNorm::LayerNorm(const Shape& shape, const NormOptions& given) : normalized(shape), options(given) {
  check_normalized("layer_norm", shape);
  check_not_negative("layer_norm", "epsilon", options.epsilon);
  if (!options.affine) return;
  weight = array::ones(shape, DType::float32, options.where);
  bias = array::zeros(shape, DType::float32, options.where);
}

Tensor LayerNorm::forward(const Tensor& x, const Mode& /*mode*/) const {
  const Shape axes = last_axes("layer_norm", x, normalized);
  Shape rows(std::span(x.shape().begin(), x.rank() - axes.rank()));
  rows.push_back(normalized.elements());
  Tensor y = array::layer_norm(x.astype(type_for_sums(x)).reshape(rows), options.epsilon).reshape(x.shape());
  if (!weight.is_empty()) y = y * weight + bias;
  return y.astype(type_of_result(x));
}

void LayerNorm::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

RMSNorm::RMSNorm(const Shape& shape, const NormOptions& given) : normalized(shape), options(given) {
  check_normalized("rms_norm", shape);
  check_not_negative("rms_norm", "epsilon", options.epsilon);
  if (options.affine) weight = array::ones(shape, DType::float32, options.where);
}

Tensor RMSNorm::forward(const Tensor& x, const Mode& /*mode*/) const {
  const Shape axes = last_axes("rms_norm", x, normalized);
  const Tensor wide = x.astype(type_for_sums(x));
  Tensor y = wide * rsqrt(mean(square(wide), axes, true) + options.epsilon);
  if (!weight.is_empty()) y = y * weight;
  return y.astype(type_of_result(x));
}

void RMSNorm::visit(Visitor& visitor) { visitor.parameter("weight", weight); }

GroupNorm::GroupNorm(std::int64_t group_count, std::int64_t channel_count, const NormOptions& given)
    : groups(group_count), channels(channel_count), options(given) {
  check_min("group_norm", "the number of groups", groups);
  check_min("group_norm", "the number of channels", channels);
  check_not_negative("group_norm", "epsilon", options.epsilon);
  if (channels % groups != 0) {
    throw_invalid("group_norm",
                  fmt::format("{} channels do not divide into {} groups; change one of them", channels, groups));
  }
  if (!options.affine) return;
  weight = array::ones({channels}, DType::float32, options.where);
  bias = array::zeros({channels}, DType::float32, options.where);
}

Tensor GroupNorm::forward(const Tensor& x, const Mode& /*mode*/) const {
  check_channels("group_norm", x, channels);
  const std::int64_t size = x.elements() / std::max<std::int64_t>(x.extent(0) * groups, 1);
  const Tensor rows = x.astype(type_for_sums(x)).reshape({x.extent(0), groups, size});
  Tensor y = array::layer_norm(rows, options.epsilon).reshape(x.shape());
  if (!weight.is_empty()) {
    const Shape per_channel = along_channels(x.rank());
    y = y * weight.reshape(per_channel) + bias.reshape(per_channel);
  }
  return y.astype(type_of_result(x));
}

void GroupNorm::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

}  // namespace vectis::inline v0_1::nn
