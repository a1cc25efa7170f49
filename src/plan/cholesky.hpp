// Small symmetric systems.
#pragma once

#include <span>

namespace vectis::inline v0_1::detail {

// Turns the lower half of a positive definite n by n matrix, row after row, into its Cholesky factor. n is the root of
// the matrix' size.
void cholesky(std::span<double> matrix) noexcept;
// The inverse of the factor times `values`, in place. Its squares add up to values * inverse(matrix) * values.
void solve_lower(std::span<const double> factor, std::span<double> values) noexcept;
// The inverse of the matrix times `values`, in place.
void solve(std::span<const double> factor, std::span<double> values) noexcept;

}  // namespace vectis::inline v0_1::detail
