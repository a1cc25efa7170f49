// Products of matrices against loops.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

Dense product(const Dense& a, const Dense& b) {
  return dense({a.shape[0], b.shape[1]}, [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < a.shape[1]; ++k) sum += a.at({i[0], k}) * b.at({k, i[1]});
    return sum;
  });
}

double product_tolerance(DType type) {
  switch (type) {
    case DType::float64:
      return 1e-13;
    case DType::float32:
      return 1e-5;
    case DType::float16:
      return 2e-3;
    default:
      return 2e-2;
  }
}

}  // namespace

TEST(ArrayMatmul, AgreesWithLoopsForTypesAndStrides) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 60; ++round) {
    const auto extent = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
    const std::int64_t m = round == 0 ? 0 : 1 + extent(round % 3 == 0 ? 70 : 9);
    const std::int64_t k = round == 1 ? 0 : 1 + extent(round % 3 == 0 ? 70 : 9);
    const std::int64_t n = round == 2 ? 0 : 1 + extent(round % 3 == 0 ? 70 : 9);
    for (const DType type : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
      const Tensor stored_a = random_dense(random, {m, k}).tensor().astype(type);
      const Tensor stored_b = random_dense(random, {k, n}).tensor().astype(type);
      const Dense expected = product({{m, k}, values_of(stored_a)}, {{k, n}, values_of(stored_b)});
      // The same matrices, stored in other ways.
      const Tensor transposed_a = (stored_a.transpose() + 0).transpose();
      const Tensor wide_b = slice(concat(std::vector{stored_b, stored_b}, 1), 1, {.stop = n});
      const Tensor flipped_b = flip(flip(stored_b, {0}) + 0, {0});
      for (const Tensor& a : {stored_a, transposed_a}) {
        for (const Tensor& b : {stored_b, wide_b, flipped_b}) {
          expect_near(matmul(a, b), expected, product_tolerance(type),
                      "round " + std::to_string(round) + ", " + std::string(name(type)));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(ArrayMatmul, BroadcastsBatches) {
  std::mt19937_64 random(seed());
  const Dense a = random_dense(random, {3, 1, 20, 16});
  const Dense b = random_dense(random, {2, 16, 24});
  const Tensor found = matmul(a.tensor().astype(DType::float32), b.tensor().astype(DType::float32));
  const Dense expected = dense({3, 2, 20, 24}, [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 16; ++k) sum += a.at({i[0], 0, i[2], k}) * b.at({i[1], k, i[3]});
    return sum;
  });
  expect_near(found, expected, 1e-5, "batches");
}

TEST(ArrayMatmul, OfVectorsAndIntegers) {
  const Tensor x = arange(0, 3);
  const Tensor matrix = arange(0, 6).reshape({2, 3});
  expect_equal(matmul(matrix, x), {{2}, {5, 14}}, "matrix by vector");
  expect_equal(matmul(x, matrix.transpose()), {{2}, {5, 14}}, "vector by matrix");
  expect_equal(matmul(x, x), {{}, {5}}, "vector by vector");
  expect_equal(outer(x, x), {{3, 3}, {0, 0, 0, 0, 1, 2, 0, 2, 4}}, "outer");
  expect_equal(vecdot(matrix, x), {{2}, {5, 14}}, "vecdot");
  EXPECT_EQ(matmul(x, x).dtype(), DType::int32);
}

}  // namespace vectis::test
