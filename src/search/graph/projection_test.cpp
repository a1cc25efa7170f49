// Float kernels against double precision, the PCA basis against its definition, and code sizes for data of known rank.
#include "search/graph/projection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "search/graph/float_kernels.hpp"
#include "search/graph/quantizer.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"

namespace vectis::graph {
namespace {

// Uniform in [-1, 1). Unlike test::random_rows, no two rows are equal.
test::Floats uniform_rows(Random& random, std::size_t count, std::size_t dim) {
  test::Floats rows(count * dim);
  for (float& x : rows) x = static_cast<float>(2 * random.unit() - 1);
  return rows;
}

// Rows of `dim` floats in a subspace of dimension `rank`, plus noise.
test::Floats low_rank_rows(Random& random, std::size_t count, std::size_t dim, std::size_t rank, double noise) {
  const test::Floats axes = uniform_rows(random, rank, dim);
  test::Floats rows(count * dim);
  for (std::size_t i = 0; i < count; ++i) {
    const test::Floats weights = uniform_rows(random, 1, rank);
    for (std::size_t j = 0; j < dim; ++j) {
      double sum = noise * (random.unit() - 0.5);
      for (std::size_t n = 0; n < rank; ++n) sum += double{weights[n]} * double{axes[n * dim + j]};
      rows[i * dim + j] = static_cast<float>(sum);
    }
  }
  return rows;
}

class ProjectionTest : public testing::Test {
 protected:
  Random random{test::seed()};
  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 2});
};

TEST_F(ProjectionTest, DotProductsMatchDoublePrecision) {
  for (const std::size_t length : {1U, 15U, 16U, 17U, 100U}) {
    for (const std::size_t left : {1U, 3U, 5U}) {
      for (const std::size_t right : {1U, 4U, 9U}) {
        const test::Floats a = test::random_rows(random, left, length);
        const test::Floats b = test::random_rows(random, right, length);
        std::vector<float> found(left * right + 1, -7);
        dot_products(a.data(), left, b.data(), right, length, found.data());
        for (std::size_t i = 0; i < left * right; ++i) {
          double sum = 0;
          for (std::size_t n = 0; n < length; ++n) {
            sum += double{a[i / right * length + n]} * double{b[i % right * length + n]};
          }
          EXPECT_NEAR(found[i], sum, 1e-4) << length << ' ' << left << ' ' << right;
        }
        EXPECT_EQ(found.back(), -7) << "written past the end";
      }
    }
  }
}

TEST_F(ProjectionTest, WeightedSumsMatchDoublePrecision) {
  for (const std::size_t length : {16U, 64U, 80U, 208U}) {
    const test::Floats rows = test::random_rows(random, 7, length);
    for (const std::size_t lists : {0U, 1U, 3U, 4U, 9U}) {
      const test::Floats weights = test::random_rows(random, lists, 7);
      std::vector<float> found(lists * length + 1, -7);
      weighted_sums(weights.data(), lists, 7, rows.data(), length, found.data());
      for (std::size_t j = 0; j < lists * length; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < 7; ++i) {
          sum += double{weights[j / length * 7 + i]} * double{rows[i * length + j % length]};
        }
        EXPECT_NEAR(found[j], sum, 1e-4) << length << ' ' << lists;
      }
      EXPECT_EQ(found.back(), -7) << "written past the end";
      // The result of a list does not depend on the other lists.
      std::vector<float> alone(length);
      for (std::size_t list = 0; list < lists; ++list) {
        weighted_sums(weights.data() + list * 7, 1, 7, rows.data(), length, alone.data());
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), found.data() + list * length)) << length << ' ' << lists;
      }
    }
  }
}

TEST_F(ProjectionTest, PcaBasisIsOrthonormalAndHoldsTheVariance) {
  constexpr std::size_t dim = 40;
  constexpr std::size_t count = 12;
  const test::Floats rows = low_rank_rows(random, 500, dim, 6, 1e-3);
  const std::vector<float> basis = pca_basis(*executor, rows, dim, count);
  ASSERT_EQ(basis.size(), count * dim);
  std::vector<float> angles(count * count);
  dot_products(basis.data(), count, basis.data(), count, dim, angles.data());
  for (std::size_t i = 0; i < angles.size(); ++i) EXPECT_NEAR(angles[i], i % count == i / count ? 1 : 0, 1e-4);
  // The first six components hold all variance but the noise.
  for (std::size_t row = 0; row < 500; ++row) {
    std::vector<float> parts(6);
    dot_products(rows.data() + row * dim, 1, basis.data(), 6, dim, parts.data());
    EXPECT_NEAR(squared_norm(parts.data(), 6) / squared_norm(rows.data() + row * dim, dim), 1, 1e-3);
  }
}

TEST_F(ProjectionTest, LowRankRowsGetShortCodes) {
  const Encoding low_rank = train_encoding(*executor, Metric::l2, 200, low_rank_rows(random, 3000, 200, 10, 1e-3));
  EXPECT_EQ(low_rank.quantizer.row_bytes, cache_line_bytes);
  EXPECT_LT(low_rank.quantizer.dim, 200U);
  EXPECT_EQ(low_rank.projection.basis.size(), 200 * low_rank.projection.basis_stride());
  const Encoding full_rank = train_encoding(*executor, Metric::l2, 200, uniform_rows(random, 3000, 200));
  EXPECT_GT(full_rank.quantizer.row_bytes, cache_line_bytes);
  const Encoding few = train_encoding(*executor, Metric::l2, 200, test::random_rows(random, 20, 200));
  EXPECT_EQ(few.quantizer.dim, 200U);
  EXPECT_EQ(few.quantizer.bits, 8U);
  EXPECT_TRUE(few.projection.basis.empty());
}

}  // namespace
}  // namespace vectis::graph
