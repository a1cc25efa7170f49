// Matrices for tests of linear algebra.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tests/arrays/dense.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

// The distance from 1 to the next number of a type.
inline double epsilon_of(DType type) { return type == DType::float64 ? 0x1p-52 : 0x1p-23; }

// `batch` with the extents of a matrix.
inline Shape with_matrix(Shape batch, std::int64_t m, std::int64_t n) {
  batch.push_back(m);
  batch.push_back(n);
  return batch;
}

// The largest absolute value, 0 of no elements.
inline double largest(const array::Tensor& x) {
  double found = 0;
  for (const double value : values_of(x)) found = std::isnan(value) ? value : std::max(found, std::fabs(value));
  return found;
}

// The largest difference of two arrays of one shape, as float64.
inline double distance(const array::Tensor& a, const array::Tensor& b) {
  EXPECT_EQ(to_string(a.shape()), to_string(b.shape()));
  return largest(a.astype(DType::float64) - b.astype(DType::float64));
}

// The product in float64.
inline array::Tensor exact_product(const array::Tensor& a, const array::Tensor& b) {
  return array::matmul(a.astype(DType::float64), b.astype(DType::float64));
}

// Identity matrices for a batch.
inline array::Tensor identities(Shape batch, std::int64_t n) {
  return array::broadcast_to(array::eye(n, n, 0, DType::float64), with_matrix(std::move(batch), n, n));
}

// Random matrices in one of several layouts: row-major, transposed, a part of larger ones, reversed rows.
inline array::Tensor random_matrices(std::mt19937_64& random, const Shape& shape, DType type) {
  using namespace vectis::array;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const auto make = [&](Shape whole) { return random_dense(random, whole).tensor().astype(type); };
  Shape whole = shape;
  std::int64_t& rows = whole[shape.rank() - 2];
  std::int64_t& columns = whole[shape.rank() - 1];
  switch (random() % 4) {
    case 0:
      return make(shape);
    case 1:
      std::swap(rows, columns);
      return matrix_transpose(make(whole));
    case 2:
      rows += 2;
      columns = 2 * columns + 1;
      return slice(slice(make(whole), rank - 2, {.start = 1, .stop = -1}), rank - 1, {.start = 1, .step = 2});
    default:
      return flip(make(shape), {-2});
  }
}

// Symmetric matrices with eigenvalues of at least about `least`.
inline array::Tensor positive_matrices(const array::Tensor& x, double least = 0.5) {
  const std::int64_t n = x.extent(-2);
  return array::matmul(x, array::matrix_transpose(x)) + array::eye(n, n, 0, x.dtype()) * least;
}

}  // namespace vectis::test
