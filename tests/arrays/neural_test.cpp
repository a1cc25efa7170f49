// Convolution, pooling and interpolation against loops over windows.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/arrays/convolved.hpp"
#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

Dense pooled(const Dense& x, const Windows& w, bool largest) {
  Shape shape = {x.shape[0], x.shape[1]};
  for (const std::int64_t extent : positions_of(x, w)) shape.push_back(extent);
  const double outside = largest ? -std::numeric_limits<double>::infinity() : 0;
  return dense(shape, [&](const Shape& at) {
    double result = outside;
    for_each_index(w.sizes, [&](const Shape& k) {
      Shape source = {at[0], at[1]};
      for (std::size_t i = 0; i < w.sizes.rank(); ++i) source.push_back(at[2 + i] * w.steps[i] + k[i] - w.padding[i]);
      const double value = element_or(x, source, outside);
      result = largest ? std::max(result, value) : result + value / static_cast<double>(w.sizes.elements());
    });
    return result;
  });
}

}  // namespace

TEST(ArrayNeural, ConvolutionsAgreeWithLoops) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 60; ++round) {
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    const std::size_t axes = 1 + random() % 3;
    const std::int64_t groups = draw(1, 2);
    const std::int64_t channels = draw(1, 3);
    Windows w;
    Shape shape = {draw(1, 2), channels * groups};
    Shape filter = {groups * draw(1, 3), channels};
    for (std::size_t i = 0; i < axes; ++i) {
      w.sizes.push_back(draw(1, 3));
      w.steps.push_back(draw(1, 2));
      w.dilations.push_back(draw(1, 2));
      w.padding.push_back(draw(0, 2));
      shape.push_back(draw(5, 8));
      filter.push_back(w.sizes[i]);
    }
    const Dense x = random_dense(random, shape);
    const Dense weights = random_dense(random, filter);
    const ConvOptions options{w.steps, w.padding, w.dilations, groups};
    const Dense expected = convolved(x, weights, w, groups);
    expect_near(conv(x.tensor(), weights.tensor(), options), expected, 1e-12, "round " + std::to_string(round));
    expect_near(conv(x.tensor().astype(DType::float32), weights.tensor().astype(DType::float32), options), expected,
                1e-5, "float32, round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayNeural, PoolsAgreeWithLoops) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 40; ++round) {
    Windows w;
    Shape shape = {2, 3};
    for (std::size_t axes = 1 + random() % 3; axes > 0; --axes) {
      w.sizes.push_back(static_cast<std::int64_t>(1 + random() % 3));
      w.steps.push_back(static_cast<std::int64_t>(1 + random() % 3));
      w.padding.push_back(static_cast<std::int64_t>(random() % 2) * (w.sizes[w.sizes.rank() - 1] / 2));
      w.dilations.push_back(1);
      shape.push_back(static_cast<std::int64_t>(4 + random() % 4));
    }
    const Dense x = random_dense(random, shape);
    const PoolOptions options{w.steps, w.padding};
    expect_equal(max_pool(x.tensor(), w.sizes, options), pooled(x, w, true), "max_pool");
    expect_near(mean_pool(x.tensor(), w.sizes, options), pooled(x, w, false), 1e-13, "mean_pool");
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayNeural, GradientsAgreeWithDifferences) {
  std::mt19937_64 random(seed());
  const auto check = [&](const char* what, const array::Function& function, const std::vector<Shape>& shapes) {
    std::vector<Tensor> arguments;
    for (const Shape& shape : shapes) arguments.push_back(random_dense(random, shape).tensor());
    const GradientCheck result = check_gradient(
        [&](std::span<const Tensor> x) {
          const Tensor y = function(x);
          return sum(flatten(y) * cos(arange(0, static_cast<double>(y.elements()), 1, DType::float64)));
        },
        arguments);
    EXPECT_LT(result.error_max, 1e-6) << what << ": " << result.from_gradient << ", differences "
                                      << result.from_differences;
  };
  using Arguments = std::span<const Tensor>;
  check("conv",
        [](Arguments x) { return conv(x[0], x[1], {.steps = {2}, .padding = {1}, .dilations = {2}, .groups = 2}); },
        {{1, 4, 6, 5}, {2, 2, 2, 3}});
  check("conv of one axis", [](Arguments x) { return conv(x[0], x[1]); }, {{2, 1, 5}, {2, 1, 3}});
  check("max_pool", [](Arguments x) { return max_pool(x[0], {2}, {.steps = {1}}); }, {{1, 2, 4, 4}});
  check("mean_pool", [](Arguments x) { return mean_pool(x[0], {3}, {.padding = {1}}); }, {{1, 1, 5, 5}});
  check("interpolate", [](Arguments x) { return interpolate(x[0], {7, 3}); }, {{1, 2, 4, 5}});
  check("nearest", [](Arguments x) { return interpolate(x[0], {7}, Interpolation::nearest); }, {{1, 2, 4}});
}

TEST(ArrayNeural, InterpolationKeepsLines) {
  // A line stays a line between the centers of the first and the last element.
  const Tensor line = arange(0, 4, 1, DType::float32).reshape({1, 1, 4});
  expect_near(interpolate(line, {8}), {{1, 1, 8}, {0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3}}, 1e-6, "linear");
  expect_equal(interpolate(line, {8}, Interpolation::nearest), {{1, 1, 8}, {0, 0, 1, 1, 2, 2, 3, 3}}, "nearest");
}

TEST(ArrayNeural, ReportShapesThatDoNotFit) {
  const Tensor x = zeros({1, 4, 5, 5});
  EXPECT_ERROR(conv(x, zeros({2, 3, 3, 3})), ErrorCode::invalid_input, "[conv]", "(1, 4, 5, 5)", "(2, 3, 3, 3)");
  EXPECT_ERROR(conv(x, zeros({2, 4, 7, 1})), ErrorCode::invalid_input, "[conv]", "window of 7", "which has 5");
  EXPECT_ERROR(conv(x, zeros({2, 4, 3, 3}), {.steps = {0}}), ErrorCode::invalid_input, "[conv]", "step 0");
  EXPECT_ERROR(conv(zeros({4, 5}), zeros({4, 5})), ErrorCode::invalid_input, "[conv]", "(4, 5)");
  EXPECT_ERROR(max_pool(x, {2, 2, 2}), ErrorCode::invalid_input, "[max_pool]", "3 numbers for 2 axes");
  EXPECT_ERROR(mean_pool(x, {2}, {.padding = {2}}), ErrorCode::invalid_input, "[mean_pool]", "at most half");
}

}  // namespace vectis::test
