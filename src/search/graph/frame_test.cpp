// The directions of a frame against what they must be, and how long its rows are for data of known rank.
#include "search/graph/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "search/graph/basis.hpp"
#include "search/graph/norms.hpp"
#include "search/graph/products.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"

namespace vectis::graph {
namespace {

// Numbers between -1 and 1; no row is like another, as some of test::random_rows are.
test::Floats even_rows(Random& random, std::size_t count, std::size_t dim) {
  test::Floats rows(count * dim);
  for (float& number : rows) number = static_cast<float>(2 * random.unit() - 1);
  return rows;
}

// Rows of `dim` numbers that lie in `rank` dimensions, but for a little noise.
test::Floats flat_rows(Random& random, std::size_t count, std::size_t dim, std::size_t rank, double noise) {
  const test::Floats axes = even_rows(random, rank, dim);
  test::Floats rows(count * dim);
  for (std::size_t i = 0; i < count; ++i) {
    const test::Floats weights = even_rows(random, 1, rank);
    for (std::size_t j = 0; j < dim; ++j) {
      double sum = noise * (random.unit() - 0.5);
      for (std::size_t n = 0; n < rank; ++n) sum += double{weights[n]} * double{axes[n * dim + j]};
      rows[i * dim + j] = static_cast<float>(sum);
    }
  }
  return rows;
}

class FrameTest : public testing::Test {
 protected:
  Random random{test::seed()};
  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 2});
};

TEST_F(FrameTest, ProductsAreSumsOfProducts) {
  for (const std::size_t length : {1U, 15U, 16U, 17U, 100U}) {
    for (const std::size_t left : {1U, 3U, 5U}) {
      for (const std::size_t right : {1U, 4U, 9U}) {
        const test::Floats a = test::random_rows(random, left, length);
        const test::Floats b = test::random_rows(random, right, length);
        std::vector<float> found(left * right + 1, -7);
        products(a.data(), left, b.data(), right, length, found.data());
        for (std::size_t i = 0; i < left * right; ++i) {
          double sum = 0;
          for (std::size_t n = 0; n < length; ++n) {
            sum += double{a[i / right * length + n]} * double{b[i % right * length + n]};
          }
          EXPECT_NEAR(found[i], sum, 1e-4) << length << ' ' << left << ' ' << right;
        }
        EXPECT_EQ(found.back(), -7) << "written behind the end";
      }
    }
  }
}

TEST_F(FrameTest, CombinedRowsAreSumsOfRows) {
  for (const std::size_t length : {16U, 64U, 80U, 208U}) {
    const test::Floats rows = test::random_rows(random, 7, length);
    for (const std::size_t lists : {0U, 1U, 3U, 4U, 9U}) {
      const test::Floats weights = test::random_rows(random, lists, 7);
      std::vector<float> found(lists * length + 1, -7);
      combine(weights.data(), lists, 7, rows.data(), length, found.data());
      for (std::size_t j = 0; j < lists * length; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < 7; ++i) {
          sum += double{weights[j / length * 7 + i]} * double{rows[i * length + j % length]};
        }
        EXPECT_NEAR(found[j], sum, 1e-4) << length << ' ' << lists;
      }
      EXPECT_EQ(found.back(), -7) << "written behind the end";
      // Each by itself gives the same to the last bit.
      std::vector<float> alone(length);
      for (std::size_t list = 0; list < lists; ++list) {
        combine(weights.data() + list * 7, 1, 7, rows.data(), length, alone.data());
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), found.data() + list * length)) << length << ' ' << lists;
      }
    }
  }
}

TEST_F(FrameTest, LeadingDirectionsAreOrthonormalAndHoldWhatDiffers) {
  constexpr std::size_t dim = 40;
  constexpr std::size_t count = 12;
  const test::Floats rows = flat_rows(random, 500, dim, 6, 1e-3);
  const std::vector<float> directions = leading_directions(*executor, rows, dim, count);
  ASSERT_EQ(directions.size(), count * dim);
  std::vector<float> angles(count * count);
  products(directions.data(), count, directions.data(), count, dim, angles.data());
  for (std::size_t i = 0; i < angles.size(); ++i) EXPECT_NEAR(angles[i], i % count == i / count ? 1 : 0, 1e-4);
  // Six directions hold all but the noise.
  for (std::size_t row = 0; row < 500; ++row) {
    std::vector<float> parts(6);
    products(rows.data() + row * dim, 1, directions.data(), 6, dim, parts.data());
    EXPECT_NEAR(squared_norm(parts.data(), 6) / squared_norm(rows.data() + row * dim, dim), 1, 1e-3);
  }
}

TEST_F(FrameTest, RowsOfLowRankAreShortAndOthersAreNot) {
  const Frame flat = make_frame(*executor, Metric::l2, 200, flat_rows(random, 3000, 200, 10, 1e-3));
  EXPECT_EQ(flat.row_bytes, line_bytes);
  EXPECT_LT(flat.coded_dim, 200U);
  EXPECT_EQ(flat.directions.size(), 200 * flat.directions_length());
  const Frame round = make_frame(*executor, Metric::l2, 200, even_rows(random, 3000, 200));
  EXPECT_GT(round.row_bytes, line_bytes);
  const Frame few = make_frame(*executor, Metric::l2, 200, test::random_rows(random, 20, 200));
  EXPECT_EQ(few.coded_dim, 200U);
  EXPECT_EQ(few.bits, 8U);
  EXPECT_TRUE(few.directions.empty());
}

}  // namespace
}  // namespace vectis::graph
