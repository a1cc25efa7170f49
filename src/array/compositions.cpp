// Operations that are made of others: signs, differences, products along an axis, contractions.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "array/operands.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

// The axes of an array that `axes` does not name.
Shape other_axes(const Shape& axes, std::size_t rank) {
  Shape others;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) others.push_back(axis);
  }
  return others;
}

Shape axes_from_the_start(std::string_view op, const Shape& axes, std::size_t rank) {
  Shape result;
  for (const std::int64_t axis : axes) {
    result.push_back(static_cast<std::int64_t>(checked_axis(op, axis, rank)));
    if (std::ranges::count(result, result[result.rank() - 1]) > 1) {
      throw_invalid(op, fmt::format("axis {} is named twice; name each axis once", axis));
    }
  }
  return result;
}

}  // namespace

Tensor copysign(const Operand& a, const Operand& b) {
  const Resolved operands = resolve("copysign", {&a, &b});
  const Tensor magnitude = absolute(operands.tensors[0]);
  return where(signbit(operands.tensors[1]), -magnitude, magnitude);
}

Tensor cumulative_prod(const Operand& x, std::int64_t axis) {
  const Tensor& tensor = as_tensor("cumulative_prod", x);
  const auto along = static_cast<std::int64_t>(checked_axis("cumulative_prod", axis, tensor.rank()));
  const bool is_wide = is_real(tensor.dtype()) || tensor.dtype() == DType::int64;
  Tensor products = is_wide ? tensor : tensor.astype(DType::int32);
  const std::int64_t extent = tensor.extent(along);
  // Each pass doubles the number of factors of each product (Hillis and Steele's scan).
  for (std::int64_t distance = 1; distance < extent; distance *= 2) {
    const Tensor first = slice(products, along, {.stop = distance});
    const Tensor later =
        multiply(slice(products, along, {.start = distance}), slice(products, along, {.stop = extent - distance}));
    products = concat(std::vector{first, later}, along);
  }
  return products;
}

Tensor diff(const Operand& x, std::int64_t times, std::int64_t axis) {
  Tensor result = as_tensor("diff", x);
  const auto along = static_cast<std::int64_t>(checked_axis("diff", axis, result.rank()));
  if (times < 0) throw_invalid("diff", fmt::format("differences are taken {} times; give 0 or more", times));
  for (std::int64_t i = 0; i < times && result.extent(along) != 0; ++i) {
    const Tensor later = slice(result, along, {.start = 1});
    const Tensor earlier = slice(result, along, {.stop = -1});
    result = result.dtype() == DType::boolean ? not_equal(later, earlier) : later - earlier;
  }
  return result;
}

Tensor tensordot(const Operand& a, const Operand& b, const Shape& axes_a, const Shape& axes_b) {
  constexpr std::string_view op = "tensordot";
  const Tensor& left = as_tensor(op, a);
  const Tensor& right = as_tensor(op, b);
  const Shape of_left = axes_from_the_start(op, axes_a, left.rank());
  const Shape of_right = axes_from_the_start(op, axes_b, right.rank());
  bool fits = of_left.rank() == of_right.rank();
  for (std::size_t i = 0; fits && i < of_left.rank(); ++i) fits = left.extent(of_left[i]) == right.extent(of_right[i]);
  if (!fits) {
    throw_invalid(op,
                  fmt::format("axes {} of shape {} do not fit axes {} of shape {}; name pairs of equal extent",
                              to_string(axes_a), to_string(left.shape()), to_string(axes_b), to_string(right.shape())));
  }
  Shape left_order = other_axes(of_left, left.rank());
  Shape right_order = of_right;
  Shape shape;
  std::int64_t contracted = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  for (const std::int64_t axis : left_order) {
    shape.push_back(left.extent(axis));
    rows *= left.extent(axis);
  }
  for (const std::int64_t axis : of_left) {
    left_order.push_back(axis);
    contracted *= left.extent(axis);
  }
  for (const std::int64_t axis : other_axes(of_right, right.rank())) {
    right_order.push_back(axis);
    shape.push_back(right.extent(axis));
    columns *= right.extent(axis);
  }
  return matmul(permute_dims(left, left_order).reshape({rows, contracted}),
                permute_dims(right, right_order).reshape({contracted, columns}))
      .reshape(shape);
}

std::vector<Tensor> unstack(const Operand& x, std::int64_t axis) {
  const std::int64_t extent = as_tensor("unstack", x).extent(axis);
  std::vector<Tensor> parts;
  parts.reserve(static_cast<std::size_t>(extent));
  for (std::int64_t i = 0; i < extent; ++i) parts.push_back(select(x, axis, i));
  return parts;
}

Tensor isin(const Operand& x, const Operand& values) {
  const Tensor& tensor = as_tensor("isin", x);
  const Tensor candidates = sort(flatten(values));
  if (candidates.elements() == 0) return full_like(tensor.astype(DType::boolean), false);
  const Tensor nearest = minimum(searchsorted(candidates, x), candidates.elements() - 1);
  return equal(take(candidates, nearest), tensor);
}

}  // namespace vectis::inline v0_1::array
