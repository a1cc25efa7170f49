// New arrays.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr double elements_max = 0x1p53;

// An array of one axis of the values first + i * step, computed in double precision.
Tensor sequence(double first, double step, std::int64_t count, DType type, const TensorOptions& options) {
  check_shape("arange", {count}, type);
  Lane& lane = lane_for(options);
  if (!lane.is_host()) {
    const DType placed = lane.placed_type("arange", type, options.wide_types);
    return sequence(first, step, count, placed, {.runtime = &lane.runtime()}).on(lane.device());
  }
  auto node = std::make_shared<Node>(lane, type, Shape{count});
  lane.allocate(*node);
  std::byte* const out = node->storage->host;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = first + static_cast<double>(i) * step;
    std::byte* const at = out + i * static_cast<std::int64_t>(size_of(type));
    if (is_real(type)) {
      store_wide(type, &value, 1, at);
    } else {
      const std::int64_t integer = truncated(type, value);
      store_wide(type, &integer, 1, at);
    }
  }
  node->is_computed = true;
  return Tensor(std::move(node));
}

// Diagonals beyond all matrices.
constexpr std::int64_t diagonal_max = std::int64_t{1} << 60;

// The number of the row minus that of the column, of each element of a matrix.
Tensor row_minus_column(std::int64_t rows, std::int64_t columns, const TensorOptions& options) {
  const Tensor row = sequence(0, 1, rows, DType::int32, options).reshape({rows, 1});
  return row - sequence(0, 1, columns, DType::int32, options);
}

// `x` where the comparison of row - column with `diagonal` holds, else 0.
template <class Compare>
Tensor triangle(std::string_view op, const Operand& x, std::int64_t diagonal, const Compare& compare) {
  const Tensor& tensor = as_tensor(op, x);
  if (tensor.rank() < 2) {
    throw_invalid(op, fmt::format("shape {} has no matrices; give two axes or more", to_string(tensor.shape())));
  }
  const Tensor keep = compare(row_minus_column(tensor.extent(-2), tensor.extent(-1), options_of(tensor)),
                              -std::clamp(diagonal, -diagonal_max, diagonal_max));
  return where(keep, tensor, zeros_like(tensor));
}

}  // namespace

Tensor full(const Shape& shape, const Scalar& value, DType type, const TensorOptions& options) {
  check_shape("full", shape, type);
  Lane& lane = lane_for(options);
  return constant(lane, value, lane.placed_type("full", type, options.wide_types), shape);
}
Tensor zeros(const Shape& shape, DType type, const TensorOptions& options) { return full(shape, 0, type, options); }
Tensor ones(const Shape& shape, DType type, const TensorOptions& options) { return full(shape, 1, type, options); }
Tensor full_like(const Tensor& x, const Scalar& value) {
  const Shape& shape = x.shape();  // throws for an empty Tensor
  return constant(*x.node()->lane, value, x.dtype(), shape);
}
Tensor zeros_like(const Tensor& x) { return full_like(x, 0); }
Tensor ones_like(const Tensor& x) { return full_like(x, 1); }

Tensor arange(double start, double stop, double step, DType type, const TensorOptions& options) {
  const double count = std::ceil((stop - start) / step);
  if (step == 0 || !(std::fabs(count) < elements_max)) {
    throw_invalid("arange", fmt::format("{} to {} in steps of {} has no finite number of elements; change the step",
                                        start, stop, step));
  }
  return sequence(start, step, static_cast<std::int64_t>(std::max(count, 0.0)), type, options);
}

Tensor linspace(double start, double stop, std::int64_t count, DType type, const TensorOptions& options) {
  if (count < 0) throw_invalid("linspace", fmt::format("{} elements; give 0 or more", count));
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  Tensor first = sequence(start, step, count > 1 ? count - 1 : count, type, options);
  if (count < 2) return first;
  return concat(std::vector{first, full({1}, stop, type, options)});
}

Tensor eye(std::int64_t rows, std::int64_t columns, std::int64_t diagonal, DType type, const TensorOptions& options) {
  check_shape("eye", {rows, columns}, type);
  return equal(row_minus_column(rows, columns, options), -std::clamp(diagonal, -diagonal_max, diagonal_max))
      .astype(type);
}

Tensor tril(const Operand& x, std::int64_t diagonal) {
  return triangle("tril", x, diagonal, [](const Tensor& a, std::int64_t b) { return greater_equal(a, b); });
}
Tensor triu(const Operand& x, std::int64_t diagonal) {
  return triangle("triu", x, diagonal, [](const Tensor& a, std::int64_t b) { return less_equal(a, b); });
}

}  // namespace vectis::inline v0_1::array
