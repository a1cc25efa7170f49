// Linear algebra that follows from factorizations and products.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "array/operands.hpp"
#include "array/primitives/linalg.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/linalg.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

void check_matrices(std::string_view op, const Tensor& a) {
  if (a.rank() >= 2) return;
  throw_invalid(op, fmt::format("shape {} is no matrix; give an array of at least two axes", to_string(a.shape())));
}

// Which singular values are more than `tolerance` times the largest.
Tensor counted_singular_values(const Tensor& a, const Tensor& s, std::optional<double> tolerance) {
  const double epsilon = a.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                     : double{std::numeric_limits<float>::epsilon()};
  const auto larger = static_cast<double>(std::max(a.extent(-1), a.extent(-2)));
  return greater(s, slice(s, -1, {.stop = 1}) * tolerance.value_or(larger * epsilon));
}

// Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems" (1973), for a
// constant rank; unlike that of the factors, it exists for equal singular values. `p` is the pseudoinverse of `a`.
Tensor gradient_of_pinv(const Tensor& p, const Tensor& a, const Tensor& adjoint) {
  const Tensor pt = matrix_transpose(p);
  const Tensor g = matrix_transpose(adjoint);  // of the shape of a
  const Tensor through = matmul(matmul(pt, adjoint), pt);
  const Tensor of_columns = matmul(g - matmul(a, matmul(p, g)), matmul(p, pt));  // (I - a p) g p p^T
  const Tensor of_rows = matmul(matmul(pt, p), g - matmul(matmul(g, p), a));     // p^T p g (I - p a)
  return of_columns + of_rows - through;
}

}  // namespace

Tensor pinv(const Operand& a, std::optional<double> tolerance) {
  const Tensor matrices = as_matrices("pinv", a);
  const auto forward = [&](std::span<const Tensor> x) {
    const auto [u, s, vt] = svd(Operand(x[0], a.where()));
    const Tensor counted = counted_singular_values(x[0], s, tolerance);
    const Tensor inverted = where(counted, reciprocal_or_zero(s), 0);
    return matmul(matrix_transpose(vt), expand_dims(inverted, -1) * matrix_transpose(u));
  };
  const auto backward = [](const Tensor& p, std::span<const Tensor> x, const Tensor& adjoint) {
    return std::vector{gradient_of_pinv(p, x[0], adjoint)};
  };
  return custom_function(forward, backward, {&matrices, 1});
}

Tensor lstsq(const Operand& a, const Operand& b, std::optional<double> tolerance) {
  const Tensor matrices = as_matrices("lstsq", a);
  const Tensor& right = as_tensor("lstsq", b);
  check_devices("lstsq", matrices, right);
  if (right.rank() == 0 || right.extent(right.rank() == 1 ? 0 : -2) != matrices.extent(-2)) {
    throw_invalid("lstsq", fmt::format("shapes {} and {} do not fit: the right side needs {} rows",
                                       to_string(matrices.shape()), to_string(right.shape()), matrices.extent(-2)));
  }
  const DType type = promote(matrices.dtype(), right.dtype());
  return matmul(pinv(matrices.astype(type), tolerance), right);
}

Tensor matrix_norm(const Operand& a, MatrixNorm kind) {
  check_matrices("matrix_norm", as_tensor("matrix_norm", a));
  switch (kind) {
    case MatrixNorm::frobenius:
      break;
    case MatrixNorm::nuclear:
      return sum(svd(a).s, {-1});
    case MatrixNorm::spectral:
      return max(svd(a).s, {-1});
    case MatrixNorm::one:
      return max(sum(absolute(a), {-2}), {-1});
    case MatrixNorm::infinity:
      return max(sum(absolute(a), {-1}), {-1});
  }
  return norm(a, {-2, -1});
}

Tensor matrix_rank(const Operand& a, std::optional<double> tolerance) {
  const Tensor matrices = as_matrices("matrix_rank", a);
  const Tensor s = svd(Operand(matrices, a.where())).s;
  return count_nonzero(counted_singular_values(matrices, s, tolerance), {-1});
}

Tensor matrix_power(const Operand& a, std::int64_t exponent) {
  const Tensor& matrices = as_tensor("matrix_power", a);
  check_matrices("matrix_power", matrices);
  if (matrices.extent(-1) != matrices.extent(-2)) {
    throw_invalid("matrix_power", fmt::format("the matrices of shape {} are {} x {}, not square",
                                              to_string(matrices.shape()), matrices.extent(-2), matrices.extent(-1)));
  }
  if (exponent == 0) return identity_like(matrices);
  // By repeated squaring. The number of factors of the smallest exponent fits an unsigned number only.
  std::uint64_t left = exponent < 0 ? -static_cast<std::uint64_t>(exponent) : static_cast<std::uint64_t>(exponent);
  Tensor square = exponent < 0 ? inverse(a) : matrices;
  Tensor result;
  while (true) {
    if (left % 2 == 1) result = result.is_empty() ? square : matmul(result, square);
    left /= 2;
    if (left == 0) return result;
    square = matmul(square, square);
  }
}

// The diagonal is a range of the flattened matrix.
Tensor diagonal(const Operand& a, std::int64_t offset) {
  const Tensor& matrices = as_tensor("diagonal", a);
  check_matrices("diagonal", matrices);
  const std::int64_t m = matrices.extent(-2);
  const std::int64_t n = matrices.extent(-1);
  const std::int64_t right = std::clamp<std::int64_t>(offset, 0, n);
  const std::int64_t down = offset < 0 ? -std::max(offset, -m) : 0;
  const std::int64_t count = std::min(m - down, n - right);
  const Tensor flat = reshape(a, batch_shape(matrices.shape(), {m * n}));
  const std::int64_t start = down * n + right;
  const std::int64_t stop = count == 0 ? start : start + (count - 1) * (n + 1) + 1;
  return slice(Operand(flat, a.where()), -1, {.start = start, .stop = stop, .step = n + 1});
}

Tensor trace(const Operand& a, std::int64_t offset) { return sum(diagonal(a, offset), {-1}); }

}  // namespace vectis::inline v0_1::array
