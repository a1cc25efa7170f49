#include "plan/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vectis::inline v0_1::detail {

namespace {

std::size_t order_of(std::span<const double> matrix) noexcept {
  return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
}

constexpr double pivot_min = 1e-12;  // rounding may take a pivot that little below zero

}  // namespace

void cholesky(std::span<double> matrix) noexcept {
  const std::size_t n = order_of(matrix);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      matrix[i * n + j] = i == j ? std::sqrt(std::max(sum, pivot_min)) : sum / matrix[j * n + j];
    }
  }
}

void solve_lower(std::span<const double> factor, std::span<double> values) noexcept {
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) values[i] -= factor[i * n + k] * values[k];
    values[i] /= factor[i * n + i];
  }
}

void solve(std::span<const double> factor, std::span<double> values) noexcept {
  solve_lower(factor, values);
  const std::size_t n = values.size();
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) values[i] -= factor[k * n + i] * values[k];
    values[i] /= factor[i * n + i];
  }
}

}  // namespace vectis::inline v0_1::detail
