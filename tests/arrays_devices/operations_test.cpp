// Values and gradients of all operations on devices against the CPU in double precision.

#include <algorithm>
#include <limits>

#include "tests/arrays/operation_cases.hpp"
#include "tests/arrays_devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/runs.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

// Vulkan allows errors of 4,096 units in the last place of asin and atan.
constexpr double tolerance = 5e-4;

}  // namespace

TEST_P(EveryArrayDevice, HasTheValuesAndGradientsOfTheCpu) {
  std::vector<OperationCase> cases = operation_cases();
  std::ranges::shuffle(cases, random);
  cases.resize(std::min<std::size_t>(cases.size(), runs_wanted(12)));  // each takes several kernels to compile
  for (const OperationCase& one : cases) {
    SCOPED_TRACE(one.name);
    std::vector<Tensor> wide;
    std::vector<Tensor> narrow;
    for (const Shape& shape : one.shapes) {
      const Tensor x = random_on_host(shape, DType::float32, one.low, one.high);
      wide.push_back(x.astype(DType::float64));
      narrow.push_back(x.on(target()));
    }
    expect_same(one.function(narrow), one.function(wide).astype(DType::float32), tolerance, "value");
    const auto loss = [&](Arguments x) { return weighted(one.function(x)); };
    const ValueAndGradients expected = value_and_grad(loss, wide);
    const ValueAndGradients found = value_and_grad(loss, narrow);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      expect_same(found.gradients[i], expected.gradients[i].astype(DType::float32), 4 * tolerance,
                  "gradient " + std::to_string(i));
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(EveryArrayDevice, ReducesAnyNumberOfElements) {
  for (const std::int64_t extent : {1, 2, 127, 128, 129, 1000, 20'000, 70'001}) {
    for (const std::int64_t inner : {1, 3}) {
      SCOPED_TRACE(testing::Message() << extent << " x " << inner);
      const Tensor x = random_on_host({2, extent, inner});
      const Tensor there = x.on(target());
      const Tensor wide = x.astype(DType::float64);
      expect_same(sum(there, {1}), sum(wide, {1}).astype(DType::float32), 1e-3, "sum");
      expect_same(max(there, {1}), max(x, {1}), 0, "max");
      expect_same(min(there), min(x), 0, "min");
      expect_same(argmax(there, 1), argmax(x, 1), 0, "argmax");
      // Many equal elements: the first one counts.
      const Tensor digits = (x * 2).astype(DType::int32).eval();
      expect_same(argmin(digits.on(target()), 1), argmin(digits, 1), 0, "argmin");
      expect_same(sum(digits.on(target()), {0, 1}), sum(digits, {0, 1}), 0, "sum of integers");
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryArrayDevice, ReducesNanAndInfinity) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{1, nan, inf, nan, -inf, 0, -0.0F, 3};
  const Tensor x = Tensor::from_cpu(values, {2, 4}, {.device = host()});
  const Tensor there = Tensor::from_cpu(values, {2, 4}, on_target());
  for (const auto& function :
       {+[](const Tensor& v) { return max(v, {1}); }, +[](const Tensor& v) { return min(v, {0}); },
        +[](const Tensor& v) { return argmax(v, 1).astype(DType::float32); },
        +[](const Tensor& v) { return argmin(v).astype(DType::float32); },
        +[](const Tensor& v) { return argsort(v, 1).astype(DType::float32); },
        +[](const Tensor& v) { return sum(v, {1}); },
        +[](const Tensor& v) { return any(isnan(v), {0}).astype(DType::float32); }}) {
    expect_same(function(there), function(x), 0, "a reduction");
  }
}

TEST_P(EveryArrayDevice, ComputesWithoutElements) {
  const Tensor none = zeros({0, 3}, DType::float32, on_target());
  const Tensor made = Tensor::from_cpu(std::vector<float>{}, {0, 3}, on_target());
  for (const Tensor& x : {none, made}) {
    EXPECT_EQ(sum(x).item(), 0);
    EXPECT_EQ(prod(x, {0}).to_cpu<float>(), std::vector<float>({1, 1, 1}));
    EXPECT_EQ((x + 1).elements(), 0);
    EXPECT_EQ(concat(std::vector{x, ones({1, 3}, DType::float32, on_target())}, 0).to_cpu<float>(),
              std::vector<float>({1, 1, 1}));
    EXPECT_EQ(sort(x, 0).elements(), 0);
    EXPECT_EQ(cumulative_sum(x, 1).elements(), 0);
    EXPECT_EQ(take(x, indices(x, {}), 0).elements(), 0);
    EXPECT_EQ(matmul(x, zeros({3, 2}, DType::float32, on_target())).elements(), 0);
    EXPECT_EQ(matmul(x.transpose(), x).to_cpu<float>(), std::vector<float>(9, 0));
  }
}

TEST_P(EveryArrayDevice, MultipliesMatricesOfAllTypesAndLayouts) {
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::uint8, DType::int32}) {
    for (const auto& [a_shape, b_shape] : std::vector<std::pair<Shape, Shape>>{
             {{5, 7}, {7, 3}}, {{2, 5, 7}, {7, 3}}, {{33, 4, 5}, {33, 5, 2}}, {{1, 1}, {1, 1}}, {{3, 64}, {64, 65}}}) {
      SCOPED_TRACE(testing::Message() << name(type) << to_string(a_shape) << to_string(b_shape));
      const bool is_real = type == DType::float32 || type == DType::float16 || type == DType::bfloat16;
      const Tensor a = random_on_host(a_shape, type, is_real ? -1 : 0, is_real ? 1 : 6);
      const Tensor b = random_on_host(b_shape, type, is_real ? -1 : 0, is_real ? 1 : 6);
      const double error = type == DType::float32 ? 1e-5 : is_real ? 2e-2 : 0;
      expect_same(matmul(a.on(target()), b.on(target())), matmul(a, b), error, "plain");
      const Tensor turned = matrix_transpose(matrix_transpose(b).on(target()));
      expect_same(matmul(flip(a.on(target()), {-2}), turned), matmul(flip(a, {-2}), b), error, "flipped and turned");
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryArrayDevice, SortsByTheHostWhatKernelsCannot) {
  const Tensor numbers = random_on_host({3, 50}, DType::int32, -2e9, 2e9);
  expect_same(argsort(numbers.on(target()), 1), argsort(numbers, 1), 0, "int32");
  const Tensor many = random_on_host({2, 1500});
  expect_same(sort(many.on(target()), 1, true), sort(many, 1, true), 0, "more than 1,024");
  const Tensor halves = random_on_host({4, 300}, DType::float16);
  expect_same(sort(halves.on(target()), 0), sort(halves, 0), 0, "float16");
}

TEST_P(EveryArrayDevice, ReportsIndicesThatDoNotExist) {
  const Tensor x = random_on_target({2, 3});
  EXPECT_ERROR(take(x, indices(x, {0, 3}), 1).eval(), ErrorCode::invalid_input, "index 3");
  EXPECT_ERROR(take(x, indices(x, {-4, 0}) + 0, 1).eval(), ErrorCode::invalid_input, "index -4");
  for (const Tensor& known : {indices(x, {0, -1}), indices(x, {0, -1}) + 0}) {  // with and without known bounds
    EXPECT_ERROR(take(x, known, 1, NegativeIndices::refused).eval(), ErrorCode::invalid_input, "index -1");
  }
  EXPECT_ERROR(put_along_axis(x, indices(x, {5, 0}).reshape({2, 1}), 1, 1).eval(), ErrorCode::invalid_input, "index 5");
  expect_same(take(x, indices(x, {-1, 0}) + 0, 1), take(x.on(host()), indices(x.on(host()), {-1, 0}), 1), 0,
              "negative");
}

TEST_P(EveryArrayDevice, RejectsCustomGradientsOfOtherDevices) {
  const auto there = [&](const Tensor&, Arguments, const Tensor& adjoint) { return std::vector{adjoint.on(target())}; };
  const auto doubled = [](Arguments v) { return v[0] * 2; };
  const Tensor x = random_on_host({3});
  EXPECT_ERROR(grad([&](const Tensor& v) { return sum(custom_function(doubled, there, {&v, 1})); }, x),
               ErrorCode::invalid_input, "[custom_function]");
}

TEST_P(EveryArrayDevice, SearchesAndInterpolates) {
  const Tensor x = sort(random_on_host({9}));
  const Tensor values = concat(std::vector{random_on_host({4}), slice(x, 0, {.stop = 3})});
  const auto same = [&](const auto& function, const std::string& what) {
    const Tensor found = function(x.on(target()), values.on(target()));
    const Tensor expected = function(x, values);
    expect_same(found, expected.dtype() == DType::int64 ? expected.astype(DType::int32) : expected, 1e-6, what);
  };
  same([](const Tensor& a, const Tensor& b) { return searchsorted(a, b); }, "searchsorted");
  same([](const Tensor& a, const Tensor& b) { return isin(b, a).astype(DType::int32); }, "isin");
  same([](const Tensor& a, const Tensor&) { return repeat(a, arange(0, 9, 1, DType::int32), 0); }, "repeat");
  same([](const Tensor& a, const Tensor&) { return interpolate(a.reshape({1, 1, 9}), {14}); }, "interpolate");
}

// Rows of 33 random elements differ enough: the error of a row of nearly equal ones has no bound.
TEST_P(EveryArrayDevice, NormalizesRows) {
  const Tensor x = random_on_host({5, 33});
  expect_same(layer_norm(x.on(target())), layer_norm(x.astype(DType::float64)).astype(DType::float32), 1e-5,
              "layer_norm");
}

TEST_P(EveryArrayDevice, ConvolvesAndPools) {
  const Tensor x = random_on_host({2, 4, 9, 8});
  const Tensor w = random_on_host({6, 2, 3, 2});
  const auto network = [](Arguments v) {
    const Tensor y = conv(v[0], v[1], {.steps = {2, 1}, .padding = {1, 0}, .dilations = {1, 2}, .groups = 2});
    return weighted(max_pool(y, {2, 2}) + mean_pool(y, {2, 2}));
  };
  const ValueAndGradients expected =
      value_and_grad(network, std::vector{x.astype(DType::float64), w.astype(DType::float64)});
  const ValueAndGradients found = value_and_grad(network, std::vector{x.on(target()), w.on(target())});
  for (std::size_t i = 0; i < 2; ++i) {
    expect_same(found.gradients[i], expected.gradients[i].astype(DType::float32), 1e-3, "gradient");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryArrayDevice, testing::ValuesIn(array_devices()), case_name);

}  // namespace vectis::test
