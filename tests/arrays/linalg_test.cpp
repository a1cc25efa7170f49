// Linear algebra against the definitions of its results, computed in float64.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "tests/arrays/linalg_cases.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

struct MatrixCase {
  Shape batch;
  std::int64_t m = 0;
  std::int64_t n = 0;
  DType type = DType::float32;

  [[nodiscard]] std::string name() const {
    return std::string(vectis::name(type)) + " " + to_string(with_matrix(batch, m, n));
  }
  [[nodiscard]] double tolerance() const { return 64 * epsilon_of(type) * static_cast<double>(std::max(m, n) + 1); }
};

// Small and large matrices, none, and batches of all of these.
std::vector<MatrixCase> matrix_cases(std::mt19937_64& random, bool is_square) {
  std::vector<MatrixCase> cases;
  for (const DType type : {DType::float32, DType::float64}) {
    for (const Shape& batch : std::vector<Shape>{{}, {3}, {2, 1, 2}, {0}}) {
      for (const std::int64_t m : {0, 1, 2, 5, 33}) {
        const auto n = is_square ? m : static_cast<std::int64_t>(random() % 40);
        cases.push_back({batch, m, n, type});
      }
    }
    cases.push_back({{}, 130, is_square ? 130 : 70, type});
    cases.push_back({{}, 70, is_square ? 70 : 130, type});
    cases.push_back({{200}, 4, 4, type});
  }
  return cases;
}

void expect_orthonormal_columns(const Tensor& q, const MatrixCase& one) {
  EXPECT_LE(distance(exact_product(matrix_transpose(q), q), identities(one.batch, q.extent(-1))), one.tolerance())
      << one.name();
}

}  // namespace

TEST(ArrayLinalg, SolvesSystems) {
  std::mt19937_64 random(seed());
  for (const MatrixCase& one : matrix_cases(random, true)) {
    // Far from singular.
    const Tensor a = random_matrices(random, with_matrix(one.batch, one.n, one.n), one.type) +
                     eye(one.n, one.n, 0, one.type) * (3 * std::sqrt(one.n));
    const Tensor b = random_matrices(random, with_matrix(one.batch, one.n, 3), one.type);
    const Tensor x = solve(a, b);
    EXPECT_EQ(x.dtype(), one.type);
    EXPECT_LE(distance(exact_product(a, x), b), one.tolerance() * 10) << one.name();
    const Tensor inverted = inverse(a);
    EXPECT_LE(distance(exact_product(a, inverted), identities(one.batch, one.n)), one.tolerance() * 10) << one.name();
    for (const bool upper : {false, true}) {
      const Tensor triangle = upper ? triu(a) : tril(a);
      EXPECT_LE(distance(exact_product(triangle, solve_triangular(a, b, upper)), b), one.tolerance() * 10)
          << one.name();
    }
  }
}

TEST(ArrayLinalg, SolveBroadcastsBatchesAndTakesVectors) {
  std::mt19937_64 random(seed());
  const auto matrices = [&](const Shape& shape) {
    return random_matrices(random, shape, DType::float64) + eye(4, 4, 0, DType::float64) * 8;
  };
  const Tensor right = random_matrices(random, {3, 4, 2}, DType::float64);
  for (const Shape& shape : std::vector<Shape>{{4, 4}, {2, 1, 4, 4}, {3, 4, 4}}) {
    const Tensor a = matrices(shape);
    const Tensor x = solve(a, right);
    EXPECT_LE(distance(matmul(a, x), broadcast_to(right, x.shape())), 1e-12) << to_string(shape);
  }
  const Tensor a = matrices({2, 4, 4});
  const Tensor vector = random_dense(random, {4}).tensor();
  const Tensor x = solve(a, vector);
  EXPECT_EQ(to_string(x.shape()), "(2, 4)");
  EXPECT_LE(distance(matmul(a, expand_dims(x, -1)), broadcast_to(expand_dims(vector, -1), {2, 4, 1})), 1e-12);
  EXPECT_EQ(solve(a.astype(DType::float32), right[0]).dtype(), DType::float64);
  EXPECT_EQ(solve(eye(2, 2, 0, DType::int32) * 2, arange(0, 2)).dtype(), DType::float32);
  EXPECT_EQ(to_string(solve(a[0], zeros({5, 4, 0}, DType::float64)).shape()), "(5, 4, 0)");
}

TEST(ArrayLinalg, FactorizesPositiveMatrices) {
  std::mt19937_64 random(seed());
  for (const MatrixCase& one : matrix_cases(random, true)) {
    const Tensor a = positive_matrices(random_matrices(random, with_matrix(one.batch, one.n, one.n), one.type)).eval();
    const Tensor l = cholesky(a);
    const double scale = std::max(1.0, largest(a));
    EXPECT_LE(distance(exact_product(l, matrix_transpose(l)), a), one.tolerance() * scale) << one.name();
    EXPECT_EQ(largest(triu(l, 1)), 0) << one.name();
    // The upper triangle is not read.
    const Tensor lower = where(equal(triu(ones_like(a), 1), 1), std::numeric_limits<double>::quiet_NaN(), a);
    EXPECT_EQ(distance(cholesky(lower), l), 0) << one.name();
    const auto [w, v] = eigh(a);
    EXPECT_EQ(distance(eigh(lower).w, w), 0) << one.name();
  }
}

TEST(ArrayLinalg, FactorizesByOrthogonalAndTriangularMatrices) {
  std::mt19937_64 random(seed());
  for (const MatrixCase& one : matrix_cases(random, false)) {
    const Tensor a = random_matrices(random, with_matrix(one.batch, one.m, one.n), one.type);
    const auto [q, r] = qr(a);
    const std::int64_t k = std::min(one.m, one.n);
    EXPECT_EQ(to_string(q.shape()), to_string(with_matrix(one.batch, one.m, k)));
    EXPECT_EQ(to_string(r.shape()), to_string(with_matrix(one.batch, k, one.n)));
    EXPECT_EQ(q.dtype(), one.type);
    EXPECT_LE(distance(exact_product(q, r), a), one.tolerance()) << one.name();
    EXPECT_EQ(largest(tril(r, -1)), 0) << one.name();
    expect_orthonormal_columns(q, one);
  }
}

TEST(ArrayLinalg, FindsSingularValues) {
  std::mt19937_64 random(seed());
  for (const MatrixCase& one : matrix_cases(random, false)) {
    const Tensor a = random_matrices(random, with_matrix(one.batch, one.m, one.n), one.type);
    const auto [u, s, vt] = svd(a);
    const std::int64_t k = std::min(one.m, one.n);
    EXPECT_EQ(to_string(u.shape()), to_string(with_matrix(one.batch, one.m, k)));
    EXPECT_EQ(to_string(vt.shape()), to_string(with_matrix(one.batch, k, one.n)));
    EXPECT_LE(distance(exact_product(u * expand_dims(s, -2), vt), a), one.tolerance()) << one.name();
    expect_orthonormal_columns(u, one);
    expect_orthonormal_columns(matrix_transpose(vt), one);
    EXPECT_EQ(distance(s, sort(s, -1, true)), 0) << one.name();
    EXPECT_TRUE(all(greater_equal(s, 0)).item<bool>()) << one.name();
    // The sum of their squares is that of the elements.
    EXPECT_LE(distance(norm(s, {-1}), norm(a, {-2, -1})), one.tolerance() * 10) << one.name();
  }
}

TEST(ArrayLinalg, FindsEigenvaluesOfSymmetricMatrices) {
  std::mt19937_64 random(seed());
  for (const MatrixCase& one : matrix_cases(random, true)) {
    const Tensor x = random_matrices(random, with_matrix(one.batch, one.n, one.n), one.type);
    const Tensor a = x + matrix_transpose(x);
    const auto [w, v] = eigh(a);
    EXPECT_LE(distance(exact_product(a, v), v.astype(DType::float64) * expand_dims(w, -2)), one.tolerance() * 10)
        << one.name();
    expect_orthonormal_columns(v, one);
    EXPECT_EQ(distance(w, sort(w)), 0) << one.name();
    EXPECT_LE(distance(sum(w, {-1}), trace(a)), one.tolerance() * 10) << one.name();
  }
}

// By expansion along the first row, for small matrices.
double determinant(const Dense& a) {
  const std::int64_t n = a.shape[0];
  if (n == 0) return 1;
  double total = 0;
  for (std::int64_t column = 0; column < n; ++column) {
    const Dense minor =
        dense({n - 1, n - 1}, [&](const Shape& at) { return a.at({at[0] + 1, at[1] < column ? at[1] : at[1] + 1}); });
    total += (column % 2 == 0 ? 1 : -1) * a.at({0, column}) * determinant(minor);
  }
  return total;
}

TEST(ArrayLinalg, Determinants) {
  std::mt19937_64 random(seed());
  for (std::int64_t n = 0; n <= 6; ++n) {
    for (const DType type : {DType::float32, DType::float64}) {
      const Dense a = random_dense(random, {n, n});
      const double expected = determinant(a);
      const double tolerance = 1e3 * epsilon_of(type) * std::max(1.0, std::fabs(expected));
      const Tensor tensor = a.tensor().astype(type);
      EXPECT_NEAR(det(tensor).item(), expected, tolerance) << n;
      const auto [sign, logabs] = slogdet(stack(std::vector{tensor, tensor}));
      EXPECT_EQ(to_string(sign.shape()), "(2,)");
      EXPECT_EQ(sign[1].item(), expected < 0 ? -1 : 1) << n;
      EXPECT_NEAR(logabs[1].item(), std::log(std::fabs(expected)), 1e4 * epsilon_of(type)) << n;
    }
  }
}

TEST(ArrayLinalg, DeterminantsDoNotOverflowOnTheWay) {
  // 400 factors from 2^-200 to 2^199 have the product 2^-200.
  const Tensor powers = exp2(arange(-200, 200, 1, DType::float64));
  const Tensor a = expand_dims(powers, -1) * eye(400, 400, 0, DType::float64);
  EXPECT_EQ(det(a).item(), std::exp2(-200));
  EXPECT_NEAR(slogdet(a).logabs.item(), -200 * std::log(2.0), 1e-12);
  EXPECT_EQ(det(eye(400, 400, 0, DType::float64) * 1e10).item(), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(slogdet(eye(400, 400) * 1e10).logabs.item(), 4000 * std::log(10.0), 1e-2);
  EXPECT_EQ(det(ones({3, 3})).item(), 0);
  EXPECT_EQ(slogdet(ones({3, 3})).sign.item(), 0);
  EXPECT_EQ(slogdet(ones({3, 3})).logabs.item(), -std::numeric_limits<double>::infinity());
}

TEST(ArrayLinalg, ExtremeScalesKeepTheirRelativePrecision) {
  std::mt19937_64 random(seed());
  for (const DType type : {DType::float32, DType::float64}) {
    const double limit = type == DType::float32 ? 1e16 : 1e140;
    for (const double scale : {1 / limit, limit}) {
      const Tensor unscaled = random_matrices(random, {2, 12, 12}, type);
      const Tensor a = unscaled * scale;
      const double tolerance = 1e3 * epsilon_of(type);
      const auto [u, s, vt] = svd(a);
      EXPECT_LE(distance(s / scale, svd(unscaled).s), tolerance) << scale;
      EXPECT_LE(distance(exact_product(u * expand_dims(s / scale, -2), vt), unscaled), tolerance) << scale;
      const Tensor symmetric = unscaled + matrix_transpose(unscaled);
      EXPECT_LE(distance(eigh(symmetric * scale).w / scale, eigh(symmetric).w), tolerance) << scale;
      EXPECT_LE(distance(qr(a).r / scale, qr(unscaled).r), tolerance) << scale;
      const Tensor positive = positive_matrices(unscaled);
      EXPECT_LE(distance(cholesky(positive * scale) / std::sqrt(scale), cholesky(positive)), tolerance) << scale;
      EXPECT_LE(distance(solve(positive * scale, positive * scale), identities({2}, 12)), tolerance * 100) << scale;
    }
  }
}

TEST(ArrayLinalg, PseudoinversesFulfilTheirDefinition) {
  std::mt19937_64 random(seed());
  for (const MatrixCase& one : matrix_cases(random, false)) {
    const Tensor a = random_matrices(random, with_matrix(one.batch, one.m, one.n), one.type);
    const Tensor p = pinv(a);
    const double tolerance = one.tolerance() * 100 * std::max(1.0, largest(p));
    EXPECT_LE(distance(exact_product(exact_product(a, p), a), a), tolerance) << one.name();
    EXPECT_LE(distance(exact_product(exact_product(p, a), p), p), tolerance * std::max(1.0, largest(p))) << one.name();
    const Tensor ap = exact_product(a, p);
    const Tensor pa = exact_product(p, a);
    EXPECT_LE(distance(ap, matrix_transpose(ap)), tolerance) << one.name();
    EXPECT_LE(distance(pa, matrix_transpose(pa)), tolerance) << one.name();
  }
}

TEST(ArrayLinalg, OfLowRank) {
  std::mt19937_64 random(seed());
  const Tensor left = random_matrices(random, {2, 7, 3}, DType::float64);
  const Tensor right = random_matrices(random, {2, 3, 5}, DType::float64);
  const Tensor a = matmul(left, right).eval();
  expect_equal(matrix_rank(a), {{2}, {3, 3}}, "rank");
  EXPECT_EQ(matrix_rank(a).dtype(), DType::int32);
  EXPECT_EQ(matrix_rank(zeros({3, 4})).item(), 0);
  EXPECT_EQ(matrix_rank(zeros({0, 4})).item(), 0);
  EXPECT_EQ(matrix_rank(eye(3, 3) * arange(0, 3), 0.6).item(), 1);
  EXPECT_LE(distance(matmul(matmul(a, pinv(a)), a), a), 1e-10);
  // Residuals of least squares are orthogonal to the columns.
  const Tensor b = random_matrices(random, {2, 7, 2}, DType::float64);
  const Tensor x = lstsq(a, b);
  EXPECT_LE(largest(matmul(matrix_transpose(a), matmul(a, x) - b)), 1e-10);
  EXPECT_EQ(to_string(lstsq(a[0], select(b[0], 1, 0)).shape()), "(5,)");
}

TEST(ArrayLinalg, NormsOfMatrices) {
  const Tensor a = Tensor::from_cpu(std::vector<double>{1, -2, 3, 4, 5, -6}, {2, 3});
  EXPECT_EQ(matrix_norm(a, MatrixNorm::one).item(), 9);
  EXPECT_EQ(matrix_norm(a, MatrixNorm::infinity).item(), 15);
  EXPECT_NEAR(matrix_norm(a).item(), std::sqrt(91), 1e-12);
  const Tensor s = svd(a).s;
  EXPECT_NEAR(matrix_norm(a, MatrixNorm::nuclear).item(), s[0].item() + s[1].item(), 1e-12);
  EXPECT_NEAR(matrix_norm(a, MatrixNorm::spectral).item(), s[0].item(), 1e-12);
  const Tensor batch = stack(std::vector{a, a * 2});
  EXPECT_NEAR(matrix_norm(batch, MatrixNorm::spectral)[1].item(), 2 * s[0].item(), 1e-12);
}

TEST(ArrayLinalg, PowersOfMatrices) {
  const Tensor a = Tensor::from_cpu(std::vector<std::int64_t>{1, 1, 1, 0}, {2, 2});
  expect_equal(matrix_power(a, 50), {{2, 2}, {20365011074, 12586269025, 12586269025, 7778742049}}, "Fibonacci");
  expect_equal(matrix_power(a, 0), {{2, 2}, {1, 0, 0, 1}}, "identity");
  expect_equal(matrix_power(a, 1), {{2, 2}, {1, 1, 1, 0}}, "itself");
  expect_near(matrix_power(a, -3), {{2, 2}, {-1, 2, 2, -3}}, 1e-5, "inverse");
  expect_near(matrix_power(eye(2, 2) * 2, std::numeric_limits<std::int64_t>::min()), {{2, 2}, {0, 0, 0, 0}}, 0,
              "smallest exponent");
}

TEST(ArrayLinalg, DiagonalsAndTraces) {
  std::mt19937_64 random(seed());
  for (const Shape& shape : std::vector<Shape>{{3, 4}, {4, 2}, {2, 3, 3}, {0, 3}, {3, 0}, {1, 1}}) {
    const Dense a = random_dense(random, shape);
    const std::int64_t m = shape[shape.rank() - 2];
    const std::int64_t n = shape[shape.rank() - 1];
    const std::int64_t least = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{2},
                                      std::int64_t{-3}, std::int64_t{100}, least}) {
      const std::int64_t down = offset == least ? m : std::max<std::int64_t>(0, -offset);
      const std::int64_t right = std::max<std::int64_t>(0, offset);
      Shape expected_shape = shape;
      expected_shape.erase(shape.rank() - 1);
      expected_shape[shape.rank() - 2] = std::max<std::int64_t>(0, std::min(m - down, n - right));
      const Dense expected = dense(expected_shape, [&](const Shape& at) {
        Shape index = at;
        index.push_back(at[at.rank() - 1] + right);
        index[at.rank() - 1] += down;
        return a.at(index);
      });
      expect_equal(diagonal(a.tensor(), offset), expected, to_string(shape) + " " + std::to_string(offset));
      EXPECT_NEAR(sum(trace(a.tensor(), offset)).item(), sum(expected.tensor()).item(), 1e-12);
    }
  }
}

TEST(ArrayLinalg, ThreadsFactorizeAtTheSameTime) {
  std::mt19937_64 random(seed());
  const Tensor a = random_matrices(random, {4, 20, 20}, DType::float64);
  const std::vector<double> singular = values_of(svd(a).s);
  const std::vector<double> determinants = values_of(det(a));
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t round = 0; round < runs_wanted(20); ++round) {
        const auto [u, s, vt] = svd(a);
        EXPECT_LE(distance(matmul(u * expand_dims(s, -2), vt), a), 1e-12);
        EXPECT_EQ(values_of(s), singular);
        EXPECT_EQ(values_of(det(a)), determinants);
        EXPECT_LE(distance(matmul(a, solve(a, a)), a), 1e-8);
      }
    });
  }
}

}  // namespace vectis::test
