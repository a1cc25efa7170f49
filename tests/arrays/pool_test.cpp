// max_pool and mean_pool of float32 on the CPU, which have kernels of their own, against those of float64, which are
// made of windows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

struct PoolCase {
  Shape shape;
  Shape window;
  PoolOptions options;
};

const PoolCase pool_cases[] = {
    {{2, 3, 9}, {2}, {}},
    {{1, 1, 1}, {1}, {}},
    {{2, 2, 7, 6}, {3, 2}, {.steps = {2, 1}, .padding = {1, 1}}},
    {{1, 3, 5, 5}, {3}, {.steps = {1}}},
    {{1, 2, 4, 5, 3}, {2}, {.steps = {1, 2, 1}, .padding = {1, 0, 1}}},
};

// Small integers, so that windows have ties.
Tensor with_ties(std::mt19937_64& random, const Shape& shape) {
  const Dense values = random_dense(random, shape, -2, 2);
  return round(values.tensor()).eval();
}

void expect_same(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_EQ(found.dtype(), DType::float32);
  const std::vector<double> a = found.astype(DType::float64).to_cpu<double>();
  const std::vector<double> b = expected.to_cpu<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) {
      EXPECT_TRUE(std::isnan(a[i])) << i;
    } else {
      EXPECT_NEAR(a[i], b[i], 1e-5 * std::max(1.0, std::abs(b[i]))) << i;
    }
  }
}

using Pool = Tensor (*)(const Operand&, const Shape&, const PoolOptions&);

void expect_float32_as_float64(Pool chosen) {
  std::mt19937_64 random(seed());
  for (const PoolCase& test : pool_cases) {
    SCOPED_TRACE(to_string(test.shape));
    const Tensor x = with_ties(random, test.shape);
    const auto pool = [&](const Tensor& value) { return chosen(value, test.window, test.options); };
    const auto loss = [&](const Tensor& value) { return sum(square(pool(value)) * 0.5); };
    // The gradient of a function of the gradient: a second derivative.
    const auto slope = [&](const Tensor& value) { return sum(square(grad(loss, value))); };
    expect_same(pool(x.astype(DType::float32)), pool(x));
    expect_same(grad(loss, x.astype(DType::float32)), grad(loss, x));
    expect_same(grad(slope, x.astype(DType::float32)), grad(slope, x));
    const Tensor strided = x.transpose().eval();
    expect_same(pool(strided.astype(DType::float32).transpose()), pool(x));
  }
}

TEST(MaxPool, OfFloat32IsThatOfFloat64WithItsGradients) { expect_float32_as_float64(max_pool); }
TEST(MeanPool, OfFloat32IsThatOfFloat64WithItsGradients) { expect_float32_as_float64(mean_pool); }

TEST(MeanPool, OfManyElementsIsSummedInDoublePrecision) {
  const Tensor x = Tensor::from_cpu(std::vector<float>(std::size_t{1} << 18, 0.1F), {1, 1, 1 << 18});
  EXPECT_EQ(mean_pool(x, {1 << 18}).item<float>(), 0.1F);
}

TEST(MaxPool, NaNIsTheLargestNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x =
      Tensor::from_cpu(std::vector<float>{1, nan, 3, -infinity, -infinity, -infinity, nan, nan, 5}, {1, 1, 9});
  const std::vector<float> found = max_pool(x, {3}).to_cpu<float>();
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], -infinity);
  EXPECT_TRUE(std::isnan(found[2]));
}

}  // namespace

}  // namespace vectis::test
