// Gradients of linear algebra against finite differences, of first and second order.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/arrays/linalg_cases.hpp"
#include "tests/arrays/operation_cases.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

Tensor symmetric(const Tensor& x) { return x + matrix_transpose(x); }

// Matrices far from singular, with eigenvalues and singular values far from each other.
Tensor spread(const Tensor& x) {
  const std::int64_t m = x.extent(-2);
  const std::int64_t n = x.extent(-1);
  const Tensor weights = arange(1, static_cast<double>(n) + 1, 1, DType::float64) * 3;
  return x * 0.5 + eye(m, n, 0, DType::float64) * weights;
}

// One number from all results, each with other weights.
Tensor joined(std::initializer_list<Tensor> results) {
  std::vector<Tensor> parts;
  for (const Tensor& one : results) parts.push_back(flatten(one));
  return concat(parts);
}

std::vector<OperationCase> linalg_cases() {
  const auto both = [](const Qr& x) { return joined({x.q, x.r}); };
  const auto all_of = [](const Svd& x) { return joined({x.u, x.s, x.vt}); };
  return {
      {"solve", [](Arguments x) { return solve(spread(x[0]), x[1]); }, -1, 1, {{3, 3}, {3, 2}}},
      {"solve of vectors", [](Arguments x) { return solve(spread(x[0]), x[1]); }, -1, 1, {{2, 3, 3}, {3}}},
      {"solve of batches", [](Arguments x) { return solve(spread(x[0]), x[1]); }, -1, 1, {{2, 1, 2, 2}, {3, 2, 1}}},
      {"solve of one matrix", [](Arguments x) { return solve(spread(x[0]), x[1]); }, -1, 1, {{2, 2}, {3, 2, 2}}},
      {"solve_triangular", [](Arguments x) { return solve_triangular(spread(x[0]), x[1]); }, -1, 1, {{3, 3}, {3, 2}}},
      {"solve_triangular, upper",
       [](Arguments x) { return solve_triangular(spread(x[0]), x[1], true); },
       -1,
       1,
       {{2, 3, 3}, {3, 2}}},
      {"inverse", [](Arguments x) { return inverse(spread(x[0])); }, -1, 1, {{2, 3, 3}}},
      {"pinv of tall", [](Arguments x) { return pinv(spread(x[0])); }, -1, 1, {{4, 2}}},
      {"pinv of wide", [](Arguments x) { return pinv(spread(x[0])); }, -1, 1, {{2, 2, 3}}},
      {"pinv of low rank", [](Arguments x) { return pinv(matmul(x[0], x[1]), 1e-6); }, 0.5, 2, {{3, 1}, {1, 3}}},
      {"lstsq", [](Arguments x) { return lstsq(spread(x[0]), x[1]); }, -1, 1, {{4, 2}, {4}}},
      {"cholesky", [](Arguments x) { return cholesky(positive_matrices(spread(x[0]))); }, -1, 1, {{2, 3, 3}}},
      {"cholesky of symmetric", [](Arguments x) { return cholesky(symmetric(spread(x[0]))); }, -0.2, 0.2, {{3, 3}}},
      {"qr of tall", [=](Arguments x) { return both(qr(spread(x[0]))); }, -1, 1, {{4, 3}}},
      {"qr of square", [=](Arguments x) { return both(qr(spread(x[0]))); }, -1, 1, {{2, 3, 3}}},
      {"qr of wide", [=](Arguments x) { return both(qr(spread(x[0]))); }, -1, 1, {{2, 4}}},
      {"svd of tall", [=](Arguments x) { return all_of(svd(spread(x[0]))); }, -1, 1, {{4, 2}}},
      {"svd of square", [=](Arguments x) { return all_of(svd(spread(x[0]))); }, -1, 1, {{2, 3, 3}}},
      {"svd of wide", [=](Arguments x) { return all_of(svd(spread(x[0]))); }, -1, 1, {{2, 4}}},
      {"svd, some results", [](Arguments x) { return matmul(svd(spread(x[0])).u, x[0]); }, -1, 1, {{3, 3}}},
      {"eigh",
       [](Arguments x) {
         const auto [w, v] = eigh(symmetric(spread(x[0])));
         return joined({w, v});
       },
       -1,
       1,
       {{2, 3, 3}}},
      {"det", [](Arguments x) { return det(spread(x[0]) * 0.2); }, -1, 1, {{2, 3, 3}}},
      {"slogdet", [](Arguments x) { return slogdet(spread(x[0])).logabs; }, -1, 1, {{2, 3, 3}}},
      {"slogdet, both",
       [](Arguments x) {
         const auto [sign, logabs] = slogdet(spread(x[0]));
         return joined({sign, logabs});
       },
       -1,
       1,
       {{3, 3}}},
      {"nuclear norm", [](Arguments x) { return matrix_norm(spread(x[0]), MatrixNorm::nuclear); }, -1, 1, {{3, 2}}},
      {"spectral norm", [](Arguments x) { return matrix_norm(spread(x[0]), MatrixNorm::spectral); }, -1, 1, {{2, 3}}},
      {"norm of columns", [](Arguments x) { return matrix_norm(spread(x[0]), MatrixNorm::one); }, -1, 1, {{2, 3}}},
      {"matrix_power", [](Arguments x) { return matrix_power(x[0], 5); }, -1, 1, {{2, 2, 2}}},
      {"matrix_power of inverses", [](Arguments x) { return matrix_power(spread(x[0]), -2) * 100; }, -1, 1, {{2, 2}}},
      {"diagonal", [](Arguments x) { return diagonal(x[0], 1); }, -2, 2, {{2, 3, 4}}},
      {"trace", [](Arguments x) { return square(trace(x[0])); }, -2, 2, {{3, 3}}},
  };
}

}  // namespace

TEST(ArrayLinalgGradients, AgreeWithDifferences) {
  std::mt19937_64 random(seed());
  for (const OperationCase& one : linalg_cases()) {
    const std::vector<Tensor> arguments = random_arguments(random, one);
    const GradientCheck check = check_gradient([&](Arguments x) { return weighted(one.function(x)); }, arguments);
    EXPECT_LT(check.error_max, 1e-6) << one.name << ", argument " << check.argument << ", element " << check.element
                                     << ": " << check.from_gradient << ", differences " << check.from_differences;
  }
}

TEST(ArrayLinalgGradients, OfSecondOrderAgreeWithDifferences) {
  std::mt19937_64 random(seed());
  for (const OperationCase& one : linalg_cases()) {
    const std::vector<Tensor> arguments = random_arguments(random, one);
    const auto squared_gradient = [&](Arguments x) {
      const ValueAndGradients first = value_and_grad([&](Arguments y) { return weighted(one.function(y)); }, x);
      Tensor total = full({}, 0, DType::float64);
      for (const Tensor& gradient : first.gradients) total = total + sum(square(gradient));
      return total;
    };
    const GradientCheck check = check_gradient(squared_gradient, arguments, 0x1p-14);
    EXPECT_LT(check.error_max, 1e-5) << one.name << ", argument " << check.argument << ", element " << check.element
                                     << ": " << check.from_gradient << ", differences " << check.from_differences;
  }
}

// Functions of the singular values, or eigenvalues, alone have gradients where these are equal.
TEST(ArrayLinalgGradients, OfEqualSingularValuesAreFinite) {
  const Tensor identity = eye(3, 3, 0, DType::float64);
  const Tensor of_norm = grad([](const Tensor& a) { return matrix_norm(a, MatrixNorm::nuclear); }, identity);
  EXPECT_LE(distance(of_norm, identity), 1e-12);
  const Tensor of_sum = grad([](const Tensor& a) { return sum(eigh(a).w); }, identity * 2);
  EXPECT_LE(distance(of_sum, identity), 1e-12);
  const Tensor of_zeros = grad([](const Tensor& a) { return sum(svd(a).s); }, zeros({3, 2}, DType::float64));
  EXPECT_TRUE(all(isfinite(of_zeros)).item<bool>());
}

// As by every framework: the gradient of a function of symmetric matrices is symmetric.
TEST(ArrayLinalgGradients, OfSymmetricMatricesAreSymmetric) {
  std::mt19937_64 random(seed());
  const Tensor a = positive_matrices(random_dense(random, {3, 3}).tensor());
  for (const Tensor& gradient : {grad([](const Tensor& x) { return weighted(cholesky(x)); }, a),
                                 grad([](const Tensor& x) { return weighted(eigh(x).v); }, a)}) {
    EXPECT_LE(distance(gradient, matrix_transpose(gradient)), 1e-9);
  }
}

TEST(ArrayLinalgGradients, OfMatricesWithoutElements) {
  const Tensor none = zeros({2, 0, 0}, DType::float64);
  const auto all_results = [](const Tensor& a) {
    return sum(inverse(a)) + sum(det(a)) + sum(slogdet(a).logabs) + sum(cholesky(a)) + sum(qr(a).q) + sum(svd(a).u) +
           sum(eigh(a).v);
  };
  const auto [value, gradient] = value_and_grad(all_results, none);
  EXPECT_EQ(value.item(), 2);
  EXPECT_EQ(to_string(gradient.eval().shape()), "(2, 0, 0)");
}

TEST(ArrayLinalgGradients, OfFloat32AndIntegersHaveTheirTypes) {
  const Tensor a = eye(2, 2) * 2;
  const Tensor gradient = grad([](const Tensor& x) { return sum(solve(x, ones({2, 1}, DType::float64))); }, a);
  EXPECT_EQ(gradient.dtype(), DType::float32);
  expect_near(gradient, {{2, 2}, {-0.25, -0.25, -0.25, -0.25}}, 1e-6, "mixed types");
}

TEST(ArrayLinalgGradients, OfSingularDeterminantsAreErrors) {
  const Tensor gradient = grad([](const Tensor& x) { return det(x); }, ones({2, 2}));
  EXPECT_ERROR(gradient.eval(), ErrorCode::invalid_input, "[det]", "singular");
}

}  // namespace vectis::test
