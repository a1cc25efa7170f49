// Linear algebra: systems of equations, factorizations and what follows from them.
//
// A matrix is the last two axes of an array; the axes before them are a batch. Factorizations are computed by LAPACK on
// the CPU, in float32 or float64; integers are converted to float32. They throw Unsupported when LAPACK is not
// installed and for arrays on other devices, InvalidInput for arrays that are not matrices and for other types, and
// when they are computed, naming the matrix of the batch, InvalidInput for a matrix that has no such factorization or
// has elements that are not finite. All have gradients of any order; docs/arrays.md says where these do not exist.
#pragma once

#include <cstdint>
#include <optional>

#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// --- Equations ------------------------------------------------------------------------------------------------------

// Returns x with a @ x = b for square matrices `a`. `b` is a vector when it has one axis, else matrices; batches are
// broadcast. Throws InvalidInput when a matrix is singular.
VECTIS_API Tensor solve(const Operand& a, const Operand& b);
// Returns x with a @ x = b where only the lower, or the upper, triangle of `a` is read. Throws InvalidInput when an
// element of the diagonal is 0.
VECTIS_API Tensor solve_triangular(const Operand& a, const Operand& b, bool upper = false);
// Returns the inverse matrices. Throws InvalidInput when one is singular.
VECTIS_API Tensor inverse(const Operand& a);
// Returns the pseudoinverses (Moore-Penrose): singular values of at most `tolerance` times the largest count as 0. By
// default that is the larger extent times the distance from 1 to the next number of the type.
VECTIS_API Tensor pinv(const Operand& a, std::optional<double> tolerance = std::nullopt);
// Returns the shortest x that minimizes the norm of a @ x - b, by pinv(a, tolerance). `b` as in solve().
VECTIS_API Tensor lstsq(const Operand& a, const Operand& b, std::optional<double> tolerance = std::nullopt);

// --- Factorizations -------------------------------------------------------------------------------------------------
// Results of several arrays are computed together, and share memory.

// Returns the lower triangular L with L @ L^T = a for symmetric positive definite matrices, whose lower triangle is
// read. Throws InvalidInput when a matrix is not positive definite.
VECTIS_API Tensor cholesky(const Operand& a);

// a = q @ r: of an m x n matrix, with k the smaller of m and n, `q` is m x k with orthonormal columns and `r` is k x n
// and upper triangular.
struct Qr {
  Tensor q;
  Tensor r;
};
VECTIS_API Qr qr(const Operand& a);

// a = u @ diag(s) @ vt: `u` is m x k with orthonormal columns, `vt` is k x n with orthonormal rows, and `s` has the k
// singular values in decreasing order.
struct Svd {
  Tensor u;
  Tensor s;
  Tensor vt;
};
VECTIS_API Svd svd(const Operand& a);

// a = v @ diag(w) @ v^T: `w` has the eigenvalues in increasing order, `v` the eigenvectors in its columns.
struct Eigh {
  Tensor w;
  Tensor v;
};
// Of symmetric matrices, whose lower triangle is read.
VECTIS_API Eigh eigh(const Operand& a);

// --- Numbers of a matrix --------------------------------------------------------------------------------------------

VECTIS_API Tensor det(const Operand& a);  // 1 of a matrix without elements

// The determinant as sign * exp(logabs), which does not overflow. Of a singular matrix the sign is 0 and the logarithm
// minus infinity.
struct SignAndLog {
  Tensor sign;
  Tensor logabs;
};
VECTIS_API SignAndLog slogdet(const Operand& a);

// Norms of matrices.
enum class MatrixNorm : std::uint8_t {
  frobenius,  // the root of the sum of squares
  nuclear,    // the sum of the singular values
  spectral,   // the largest singular value
  one,        // the largest sum of absolute values of a column
  infinity,   // the largest sum of absolute values of a row
};
// Frobenius, one and infinity need no LAPACK and run on every device.
VECTIS_API Tensor matrix_norm(const Operand& a, MatrixNorm kind = MatrixNorm::frobenius);
// Returns the number (int32) of singular values above `tolerance` times the largest, by default as pinv() has it.
VECTIS_API Tensor matrix_rank(const Operand& a, std::optional<double> tolerance = std::nullopt);

// --- Of all types and devices ---------------------------------------------------------------------------------------

// Returns the product of `exponent` factors `a`, square matrices; of inverses when it is negative, which needs LAPACK.
VECTIS_API Tensor matrix_power(const Operand& a, std::int64_t exponent);
// Returns the diagonal `offset` columns to the right of the main one (to the left when negative) as the last axis.
VECTIS_API Tensor diagonal(const Operand& a, std::int64_t offset = 0);
// Returns the sum of a diagonal.
VECTIS_API Tensor trace(const Operand& a, std::int64_t offset = 0);

}  // namespace vectis::inline v0_1::array
