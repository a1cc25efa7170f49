// Convolutions of float32 with oneDNN and without it, against loops in double precision, and their gradients.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "array/node.hpp"
#include "tests/arrays/convolved.hpp"
#include "tests/arrays/dense.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"
#include "vectis/device.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

// A Runtime of its own, with oneDNN if it is installed, or without it.
class ConvolvingRuntime {
 public:
  explicit ConvolvingRuntime(bool has_onednn, std::size_t threads = 2) : runtime_(options(has_onednn, threads)) {}

  [[nodiscard]] Tensor tensor(const Dense& x, DType type = DType::float32) {
    const Device cpu = runtime_.service<DeviceRegistry>().find("cpu").value();
    return Tensor::from_cpu(x.values, x.shape, {.device = cpu}).astype(type);
  }

 private:
  static RuntimeOptions options(bool has_onednn, std::size_t threads) {
    RuntimeOptions result = with_threads(threads);
    result.settings = {{"backends.cpu.onednn", has_onednn ? "on" : "off"}};
    return result;
  }
  Runtime runtime_;
};

struct ConvCase {
  Dense x;
  Dense weights;
  Windows windows;
  std::int64_t groups = 1;

  [[nodiscard]] ConvOptions options() const { return {windows.steps, windows.padding, windows.dilations, groups}; }
  [[nodiscard]] std::string text() const {
    return to_string(x.shape) + " by " + to_string(weights.shape) + ", steps " + to_string(windows.steps) +
           ", padding " + to_string(windows.padding) + ", dilations " + to_string(windows.dilations) + ", groups " +
           std::to_string(groups);
  }
};

// Windows of different sizes along each axis, channels that fill vectors and that do not, padding beyond the window.
ConvCase random_case(std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const std::size_t axes = 1 + random() % 3;
  ConvCase result;
  const bool is_depthwise = random() % 4 == 0;
  const std::int64_t channels = is_depthwise ? 1 : draw(1, random() % 4 == 0 ? 35 : 5);
  result.groups = is_depthwise ? draw(1, 33) : draw(1, 3);
  Shape shape = {draw(1, 3), channels * result.groups};
  Shape filter = {result.groups * draw(1, is_depthwise ? 2 : 18), channels};
  for (std::size_t i = 0; i < axes; ++i) {
    result.windows.sizes.push_back(draw(1, 4));
    result.windows.steps.push_back(draw(1, 3));
    result.windows.dilations.push_back(draw(1, 2));
    result.windows.padding.push_back(draw(0, random() % 6 == 0 ? 9 : 2));
    shape.push_back(draw(7, axes == 3 ? 8 : 13));
    filter.push_back(result.windows.sizes[i]);
  }
  result.x = single_dense(random, shape);
  result.weights = single_dense(random, filter);
  return result;
}

// Both gradients of sum(conv * adjoint).
ValueAndGradients gradients_of(const ConvCase& c, const Tensor& x, const Tensor& weights, const Tensor& adjoint) {
  const Tensor arguments[] = {x, weights};
  return vjp([&](std::span<const Tensor> a) { return conv(a[0], a[1], c.options()); }, arguments, adjoint);
}

// Expects each element within float32 rounding of `magnitude`, the same sum of absolute products. Inputs are exact.
void expect_rounded(const Tensor& found, const std::vector<double>& expected, const Tensor& magnitude,
                    const std::string& what) {
  ASSERT_EQ(to_string(found.shape()), to_string(magnitude.shape())) << what;
  const std::vector<double> values = values_of(found);
  const std::vector<double> limits = values_of(magnitude);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_LE(std::fabs(values[i] - expected[i]), limits[i] * 0x1p-20)
        << what << ", element " << i << ": " << values[i] << ", expected " << expected[i];
  }
}

Dense absolutes(Dense x) {
  for (double& value : x.values) value = std::fabs(value);
  return x;
}

void expect_convolved(const Tensor& found, const Dense& x, const Dense& weights, const Windows& windows,
                      const std::string& what) {
  const Dense magnitude = convolved(absolutes(x), absolutes(weights), windows, 1);
  expect_rounded(found, convolved(x, weights, windows, 1).values, magnitude.tensor(), what);
}

// Values and gradients of float32 agree with loops and with the composition in float64.
void check_case(const ConvCase& c, ConvolvingRuntime& runtime, std::mt19937_64& random) {
  const Dense expected = convolved(c.x, c.weights, c.windows, c.groups);
  const Dense adjoint = single_dense(random, expected.shape);
  const auto found = gradients_of(c, runtime.tensor(c.x), runtime.tensor(c.weights), runtime.tensor(adjoint));
  const auto wide = gradients_of(c, c.x.tensor(), c.weights.tensor(), adjoint.tensor());
  const auto magnitude =
      gradients_of(c, absolutes(c.x).tensor(), absolutes(c.weights).tensor(), absolutes(adjoint).tensor());
  expect_rounded(found.value, expected.values, magnitude.value, c.text());
  expect_rounded(found.gradients[0], values_of(wide.gradients[0]), magnitude.gradients[0],
                 "gradient of the input, " + c.text());
  expect_rounded(found.gradients[1], values_of(wide.gradients[1]), magnitude.gradients[1],
                 "gradient of the weights, " + c.text());
}

// Whether float32 arrays are convolved as a whole, which needs oneDNN.
bool is_native(const Tensor& result) { return result.node()->primitive->name() == "conv"; }

}  // namespace

TEST(ArrayConvolution, AgreesWithLoops) {
  std::mt19937_64 random(seed());
  ConvolvingRuntime with(true);
  ConvolvingRuntime without(false);
  for (int round = 0; round < 120; ++round) {
    const ConvCase c = random_case(random);
    check_case(c, with, random);
    if (round % 4 == 0) check_case(c, without, random);
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayConvolution, TheSettingSwitchesOneDnnOff) {
  std::mt19937_64 random(seed());
  const Dense x = random_dense(random, {1, 2, 5});
  const Dense weights = random_dense(random, {3, 2, 3});
  ConvolvingRuntime without(false);
  EXPECT_FALSE(is_native(conv(without.tensor(x), without.tensor(weights))));
  ConvolvingRuntime with(true);
  if (!is_native(conv(with.tensor(x), with.tensor(weights)))) GTEST_SKIP() << "oneDNN is not installed";
  EXPECT_FALSE(is_native(conv(with.tensor(x, DType::float64), with.tensor(weights, DType::float64))));
  EXPECT_FALSE(is_native(conv(with.tensor(x, DType::int32), with.tensor(weights, DType::int32))));
}

// Arguments are small integers and the loss is at most quadratic in each of them, so that central differences with
// large steps are exact, and so is float32.
TEST(ArrayConvolution, GradientsOfFirstAndSecondOrderAgreeWithDifferences) {
  std::mt19937_64 random(seed());
  const auto integers = [&](const Shape& shape) {
    return dense(shape, [&](const Shape&) { return static_cast<double>(random() % 5) - 2; }).tensor();
  };
  const auto singles = [](std::span<const Tensor> x) {
    return std::vector<Tensor>{x[0].astype(DType::float32), x[1].astype(DType::float32)};
  };
  for (int round = 0; round < 6; ++round) {
    const std::int64_t groups = 1 + round % 2;
    const ConvOptions options{{1 + round % 2, 1}, {1, 0}, {1, 1 + round % 3 / 2}, groups};
    const std::vector<Tensor> arguments = {integers({2, 2 * groups, 5, 4}), integers({2 * groups, 2, 3, 2})};
    const auto loss = [&](std::span<const Tensor> x) {
      return sum(square(conv(x[0], x[1], options).astype(DType::float64)));
    };
    const GradientCheck first =
        check_gradient([&](std::span<const Tensor> x) { return loss(singles(x)); }, arguments, 0.5);
    EXPECT_LT(first.error_max, 1e-9) << first.from_gradient << ", differences " << first.from_differences;
    for (std::size_t of = 0; of < 2; ++of) {
      const Tensor direction = integers(arguments[of].shape());
      const GradientCheck second = check_gradient(
          [&](std::span<const Tensor> x) { return sum(value_and_grad(loss, singles(x)).gradients[of] * direction); },
          arguments, 0.5);
      EXPECT_LT(second.error_max, 1e-9) << "second order, gradient " << of << ": " << second.from_gradient
                                        << ", differences " << second.from_differences;
    }
  }
}

TEST(ArrayConvolution, TakesViewsAndTinyArrays) {
  std::mt19937_64 random(seed());
  ConvolvingRuntime runtime(true);
  const Dense x = single_dense(random, {2, 9, 8, 3});
  const Dense weights = single_dense(random, {2, 3, 3, 4});
  const Tensor view = permute_dims(runtime.tensor(x), {0, 3, 1, 2});
  const Tensor turned = permute_dims(runtime.tensor(weights), {3, 0, 1, 2});
  const auto copy = [](const Tensor& t) { return Dense{t.shape(), values_of(t)}; };
  const Windows plain{{3, 3}, {1, 1}, {0, 0}, {1, 1}};
  const Tensor filter = slice(turned, 0, {1, 3}).reshape({2, 2, 3, 3});  // part of a contiguous copy
  const Tensor input = slice(view, 1, {1, 3});
  expect_convolved(conv(input, filter), copy(input), copy(filter), plain, "views");
  const Dense tiny = single_dense(random, {1, 1, 3});
  const Windows line{{2}, {1}, {0}, {1}};
  const Dense pair = single_dense(random, {1, 1, 2});
  expect_convolved(conv(runtime.tensor(tiny), runtime.tensor(pair)), tiny, pair, line, "tiny");
}

TEST(ArrayConvolution, TakesEmptyBatchesAndChannels) {
  ConvolvingRuntime runtime(true);
  const Tensor weights = runtime.tensor({{2, 3, 2}, std::vector<double>(12, 1)});
  const Tensor none = runtime.tensor({{0, 3, 5}, {}});
  const Tensor arguments[] = {none, weights};
  const auto found =
      vjp([](std::span<const Tensor> a) { return conv(a[0], a[1]); }, arguments, runtime.tensor({{0, 2, 4}, {}}));
  EXPECT_EQ(to_string(found.value.shape()), "(0, 2, 4)");
  EXPECT_EQ(to_string(found.gradients[0].shape()), "(0, 3, 5)");
  expect_equal(found.gradients[1], {{2, 3, 2}, std::vector<double>(12, 0)}, "gradient of the weights");
  expect_equal(conv(runtime.tensor({{1, 0, 5}, {}}), runtime.tensor({{2, 0, 2}, {}})),
               {{1, 2, 4}, std::vector<double>(8, 0)}, "no channels");
}

TEST(ArrayConvolution, RoundsResultsOf16Bits) {
  std::mt19937_64 random(seed());
  ConvolvingRuntime runtime(true);
  for (const DType type : {DType::float16, DType::bfloat16}) {
    const auto rounded = [&](const Shape& shape) {
      const Tensor values = random_dense(random, shape).tensor().astype(type);
      return Dense{shape, values_of(values)};
    };
    const Dense x = rounded({2, 3, 7, 6});
    const Dense weights = rounded({5, 3, 3, 2});
    const Tensor found = conv(runtime.tensor(x, type), runtime.tensor(weights, type), {.padding = {1}});
    EXPECT_EQ(found.dtype(), type);
    const Windows windows{{3, 2}, {1, 1}, {1, 1}, {1, 1}};
    expect_near(found, convolved(x, weights, windows, 1), type == DType::float16 ? 0x1p-10 : 0x1p-7,
                std::string(name(type)));
  }
}

TEST(ArrayConvolution, KeepsNaNAndInfinityInTheirWindows) {
  ConvolvingRuntime runtime(true);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Dense x{{1, 1, 8}, {1, 2, infinity, 4, 5, 6, nan, 8}};
  const Dense ones{{1, 1, 2}, {1, 1}};
  expect_equal(conv(runtime.tensor(x), runtime.tensor(ones)), {{1, 1, 7}, {3, infinity, infinity, 9, 11, nan, nan}},
               "windows");
}

// More shapes than plans are kept, each of them twice.
TEST(ArrayConvolution, ComputesManyShapes) {
  std::mt19937_64 random(seed());
  ConvolvingRuntime runtime(true, 1);
  const Dense weights = single_dense(random, {2, 1, 3});
  const Windows line{{3}, {1}, {0}, {1}};
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t extent = 3; extent < 203; ++extent) {
      const Dense x = single_dense(random, {1, 1, extent});
      expect_convolved(conv(runtime.tensor(x), runtime.tensor(weights)), x, weights, line, std::to_string(extent));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ArrayConvolution, ThreadsConvolveAtTheSameTime) {
  std::mt19937_64 random(seed());
  ConvolvingRuntime runtime(true);
  const Dense x = single_dense(random, {2, 8, 14, 14});
  const Dense weights = single_dense(random, {16, 8, 3, 3});
  const Windows windows{{3, 3}, {1, 1}, {1, 1}, {1, 1}};
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) {
        result = conv(runtime.tensor(x), runtime.tensor(weights), {.padding = {1}});
        result.eval();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) expect_convolved(result, x, weights, windows, "of a thread");
  ConvolvingRuntime alone(true, 1);
  expect_convolved(conv(alone.tensor(x), alone.tensor(weights), {.padding = {1}}), x, weights, windows, "one thread");
}

}  // namespace vectis::test
