// Distances of all pairs, compared with sums in float64; those of int8 must be exact.
#include <array>

#include "tests/cpu/fixture.hpp"

namespace vectis {
namespace {

using test::Sheet;

class CpuDistance : public test::CpuTest {
 protected:
  void check(const Sheet& q, const Sheet& x, test::Layout layout) {
    const Sheet l2 = sheet(DType::float32, q.rows(), x.rows(), layout);
    const Sheet dot = sheet(DType::float32, q.rows(), x.rows(), layout);
    const Sheet cosine = sheet(DType::float32, q.rows(), x.rows(), layout);
    ASSERT_TRUE(run("l2_squared", {&q, &x, &l2}));
    ASSERT_TRUE(run("dot_product", {&q, &x, &dot}));
    ASSERT_TRUE(run("cosine_distance", {&q, &x, &cosine}));
    const bool is_exact = q.type() == DType::int8;
    for (std::uint64_t i = 0; i < q.rows(); ++i) {
      for (std::uint64_t j = 0; j < x.rows(); ++j) {
        double squares = 0;
        double product = 0;
        double magnitude = 0;
        double q_squares = 0;
        double x_squares = 0;
        for (std::uint64_t k = 0; k < q.columns(); ++k) {
          const double a = q.get(i, k);
          const double b = x.get(j, k);
          squares += (a - b) * (a - b);
          product += a * b;
          magnitude += std::abs(a * b);
          q_squares += a * a;
          x_squares += b * b;
        }
        const double norms = std::sqrt(q_squares) * std::sqrt(x_squares);
        ASSERT_NEAR(l2.get(i, j), squares, squares * (is_exact ? 0x1.0p-24 : 0x1.0p-20)) << i << ", " << j;
        ASSERT_NEAR(dot.get(i, j), product, is_exact ? std::abs(product) * 0x1.0p-24 : magnitude * 0x1.0p-20);
        ASSERT_NEAR(cosine.get(i, j), norms == 0 ? 1 : 1 - product / norms, 0x1.0p-20) << i << ", " << j;
      }
    }
  }
};

TEST_P(CpuDistance, EveryTypeShapeAndLayout) {
  for (const DType type : test::numbers) {
    for (const std::uint64_t depth : {1UL, 3UL, 64UL, 131UL, 600UL}) {
      for (const test::Shape pairs : {test::Shape{1, 1}, {1, 70}, {3, 5}, {12, 32}, {29, 67}}) {
        const test::Layout layout = test::layouts[random.below(std::size(test::layouts))];
        const Sheet q = random_sheet(type, pairs.rows, depth, layout);
        const Sheet x = random_sheet(type, pairs.columns, depth, {layout.gap, layout.before});
        check(q, x, layout);
      }
    }
  }
}

// Several groups of panels, in parallel, with one chunk of depth and with more.
TEST_P(CpuDistance, ManyRows) {
  check(random_sheet(DType::float32, 1601, 9), random_sheet(DType::float32, 75, 9), {1, 1});
  check(random_sheet(DType::bfloat16, 401, 259), random_sheet(DType::bfloat16, 40, 259), {});
}

// The largest possible differences and products of int8.
TEST_P(CpuDistance, ExtremeInt8) {
  Sheet q = sheet(DType::int8, 2, 40'000);
  Sheet x = sheet(DType::int8, 2, 40'000);
  for (std::uint64_t k = 0; k < q.columns(); ++k) {
    q.set(0, k, -128);
    q.set(1, k, 127);
    x.set(0, k, 127);
    x.set(1, k, -128);
  }
  q.set(0, 39'999, -127);
  check(q, x, {});
}

// No cancellation: rows far from the origin and close to each other.
TEST_P(CpuDistance, CloseRowsFarAway) {
  Sheet q = sheet(DType::float32, 2, 100);
  Sheet x = sheet(DType::float32, 3, 100);
  for (std::uint64_t k = 0; k < 100; ++k) {
    for (std::uint64_t row = 0; row < 2; ++row) q.set(row, k, 1e6 + static_cast<double>(random.below(4)));
    for (std::uint64_t row = 0; row < 3; ++row) x.set(row, k, 1e6 + static_cast<double>(random.below(4)));
  }
  const Sheet out = sheet(DType::float32, 2, 3);
  ASSERT_TRUE(run("l2_squared", {&q, &x, &out}));
  for (std::uint64_t i = 0; i < 2; ++i) {
    for (std::uint64_t j = 0; j < 3; ++j) {
      double squares = 0;
      for (std::uint64_t k = 0; k < 100; ++k) squares += std::pow(q.get(i, k) - x.get(j, k), 2);
      EXPECT_EQ(out.get(i, j), squares);
    }
  }
}

TEST_P(CpuDistance, CosineOfZeroIsOne) {
  const Sheet q = random_sheet(DType::float32, 3, 40);
  Sheet x = random_sheet(DType::float32, 3, 40);
  for (std::uint64_t k = 0; k < 40; ++k) x.set(1, k, 0);
  check(q, x, {});
  check(x, q, {});
}

// Squares and products of the rows overflow and underflow in float32, but their cosines do not.
TEST_P(CpuDistance, CosineOfLongAndShortRows) {
  for (const DType type : {DType::float32, DType::bfloat16}) {
    Sheet q = random_sheet(type, 4, 40);
    Sheet x = random_sheet(type, 5, 40);
    const Sheet expected = sheet(DType::float32, 4, 5);
    ASSERT_TRUE(run("cosine_distance", {&q, &x, &expected}));
    constexpr std::array<double, 5> scales = {0x1p83, 0x1p-83, 1, 0x1p120, 0x1p-100};
    for (std::uint64_t k = 0; k < 40; ++k) {
      for (std::uint64_t row = 0; row < 4; ++row) q.set(row, k, q.get(row, k) * scales[row]);
      for (std::uint64_t row = 0; row < 5; ++row) x.set(row, k, x.get(row, k) * scales[row]);
    }
    const Sheet found = sheet(DType::float32, 4, 5);
    ASSERT_TRUE(run("cosine_distance", {&q, &x, &found}));
    for (std::uint64_t i = 0; i < 4; ++i) {
      for (std::uint64_t j = 0; j < 5; ++j) ASSERT_NEAR(found.get(i, j), expected.get(i, j), 0x1p-20) << i << ' ' << j;
    }
  }
}

VECTIS_ON_EVERY_SET(CpuDistance);

}  // namespace
}  // namespace vectis
