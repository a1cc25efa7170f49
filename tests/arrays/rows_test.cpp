// Reductions and softmax of float32 rows, which vector loops compute, against loops in double precision.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"
#include "vectis/device.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Tensor single(const Dense& x) { return x.tensor().astype(DType::float32); }

std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> result;
  for (std::int64_t length = 1; length <= 70; ++length) result.push_back(length);
  for (const std::int64_t length : {255, 2048, 2049, 16383, 16384, 16385, 50000}) result.push_back(length);
  return result;
}

Dense softmax_of(const Dense& x, bool is_log) {
  Dense result = x;
  const auto columns = static_cast<std::size_t>(x.shape[x.shape.rank() - 1]);
  for (std::size_t row = 0; row < x.values.size(); row += columns) {
    double largest = -infinity;
    for (std::size_t i = 0; i < columns; ++i) largest = std::max(largest, x.values[row + i]);
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += std::exp(x.values[row + i] - largest);
    for (std::size_t i = 0; i < columns; ++i) {
      const double shifted = x.values[row + i] - largest;
      result.values[row + i] = is_log ? shifted - std::log(sum) : std::exp(shifted) / sum;
    }
  }
  return result;
}

}  // namespace

TEST(ArrayRows, ReductionsAgreeWithLoops) {
  std::mt19937_64 random(seed());
  for (const std::int64_t length : lengths()) {
    const Dense x = single_dense(random, {3, length}, 10);
    Dense sums{{3}, std::vector<double>(3, 0)};
    Dense largest{{3}, std::vector<double>(3, -infinity)};
    Dense smallest{{3}, std::vector<double>(3, infinity)};
    for_each_index(x.shape, [&](const Shape& at) {
      const auto row = static_cast<std::size_t>(at[0]);
      sums.values[row] += x.at(at);
      largest.values[row] = std::max(largest.values[row], x.at(at));
      smallest.values[row] = std::min(smallest.values[row], x.at(at));
    });
    // Sums are computed in double precision: only the last rounding is of float32.
    expect_near(sum(single(x), {1}), sums, 0x1p-24 * 1.01, "sum of " + std::to_string(length));
    expect_equal(max(single(x), {1}), largest, "max of " + std::to_string(length));
    expect_equal(min(single(x), {1}), smallest, "min of " + std::to_string(length));
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayRows, ExtremaAreNaNWhereverOneIs) {
  for (const std::int64_t length : {1, 7, 16, 40, 20000}) {
    for (std::int64_t at = 0; at < length; at += length > 100 ? 3333 : 1) {
      Dense x{{length}, std::vector<double>(static_cast<std::size_t>(length), 1)};
      x.values[static_cast<std::size_t>(at)] = not_a_number;
      EXPECT_TRUE(std::isnan(max(single(x)).item())) << at << " of " << length;
      EXPECT_TRUE(std::isnan(min(single(x)).item())) << at << " of " << length;
      EXPECT_TRUE(std::isnan(sum(single(x)).item())) << at << " of " << length;
    }
  }
  const Dense lowest{{20}, std::vector<double>(20, -infinity)};
  EXPECT_EQ(max(single(lowest)).item(), -infinity);
}

TEST(ArrayRows, ResultsDoNotDependOnThreads) {
  std::mt19937_64 random(seed());
  const Dense x = single_dense(random, {2, 100'003}, 10);
  std::vector<double> expected;
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
    Runtime runtime(with_threads(threads));
    const Device cpu = runtime.service<DeviceRegistry>().find("cpu").value();
    const Tensor on_runtime = Tensor::from_cpu(x.values, x.shape, {.device = cpu}).astype(DType::float32);
    std::vector<double> found = values_of(sum(on_runtime));
    for (const double value : values_of(softmax(on_runtime, -1))) found.push_back(value);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << threads << " threads";
  }
}

TEST(ArrayRows, SoftmaxAgreesWithLoops) {
  std::mt19937_64 random(seed());
  for (const std::int64_t length : lengths()) {
    const Dense x = single_dense(random, {2, length}, random() % 3 == 0 ? 120 : 5);
    // The tolerance is absolute below 1, the range of softmax.
    expect_near(softmax(single(x), -1), softmax_of(x, false), 3e-7, "softmax of " + std::to_string(length));
    expect_near(log_softmax(single(x), 1), softmax_of(x, true), 3e-7, "log_softmax of " + std::to_string(length));
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayRows, SoftmaxOfViewsTypesAndOtherAxes) {
  std::mt19937_64 random(seed());
  const Dense x = single_dense(random, {6, 5}, 4);
  const Dense turned{{5, 6}, values_of(matrix_transpose(x.tensor()))};
  expect_near(softmax(matrix_transpose(single(x)), -1), softmax_of(turned, false), 3e-7, "view");
  const Dense back{{6, 5}, values_of(matrix_transpose(softmax_of(turned, false).tensor()))};
  expect_near(softmax(single(x), 0), back, 3e-7, "first axis");
  for (const DType type : {DType::float16, DType::bfloat16}) {
    const Tensor rounded = x.tensor().astype(type);
    const Tensor found = softmax(rounded, -1);
    EXPECT_EQ(found.dtype(), type);
    expect_near(found, softmax_of({x.shape, values_of(rounded)}, false), type == DType::float16 ? 0x1p-11 : 0x1p-8,
                std::string(name(type)));
  }
  EXPECT_EQ(to_string(softmax(zeros({0, 4}), -1).shape()), "(0, 4)");
}

TEST(ArrayRows, HaveTheGradientsOfFloat64) {
  std::mt19937_64 random(seed());
  const std::vector<std::pair<const char*, Tensor (*)(const Tensor&)>> functions = {
      {"softmax", [](const Tensor& x) { return softmax(x, -1); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, -1); }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(x, 0.1); }}};
  for (const std::int64_t length : {1, 2, 15, 16, 17, 50}) {
    const Tensor wide = single_dense(random, {3, length}, 4).tensor();
    const Tensor weights = single_dense(random, {3, length}, 1).tensor();
    for (const auto& [name, value_of] : functions) {
      SCOPED_TRACE(testing::Message() << name << " of " << length);
      const auto loss = [&, value = value_of](const Tensor& x) {
        return sum(square(value(x)) * weights.astype(x.dtype()));
      };
      // The gradient of a function of the gradient is a second derivative, whose terms cancel more.
      const auto slope = [&](const Tensor& x) { return sum(square(grad(loss, x))); };
      const Tensor narrow = wide.astype(DType::float32);
      for (const auto& [function, tolerance] :
           {std::pair<std::function<Tensor(const Tensor&)>, double>(loss, 2e-6), {slope, 5e-5}}) {
        const Tensor found = grad(function, narrow);
        const Tensor expected = grad(function, wide);
        EXPECT_EQ(found.dtype(), DType::float32);
        const double scale = 1 + max(absolute(expected)).item();
        EXPECT_LT(max(absolute(found.astype(DType::float64) - expected)).item() / scale, tolerance);
      }
    }
  }
}

// Normalizes rows. A tolerance for float32 grows where a row deviates less from its mean than the mean is rounded by.
Dense normalized(const Dense& x, double epsilon, double& tolerance) {
  constexpr double rounding = 1e-5;  // of numbers near 100
  Dense result = x;
  const auto length = static_cast<std::size_t>(x.shape[1]);
  for (auto row = result.values.begin(); row != result.values.end(); row += static_cast<std::ptrdiff_t>(length)) {
    const std::span<double> values(row, length);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(length);
    double variance = 0;
    for (const double value : values) variance += (value - mean) * (value - mean) / static_cast<double>(length);
    const double deviation = std::sqrt(variance + epsilon);
    for (double& value : values) value = (value - mean) / deviation;
    tolerance = std::max(tolerance, rounding / deviation);
  }
  return result;
}

TEST(ArrayRows, LayerNormAgreesWithLoops) {
  std::mt19937_64 random(seed());
  for (const std::int64_t length : lengths()) {
    Dense x = single_dense(random, {3, length}, 5);
    for (double& value : x.values) value = static_cast<float>(value + 100);  // a mean that is far from 0
    double tolerance = 3e-5;
    const Dense expected = normalized(x, 1e-5, tolerance);
    expect_near(layer_norm(single(x)), expected, tolerance, "layer_norm of " + std::to_string(length));
    if (HasFatalFailure()) return;
  }
  const Tensor constant = full({2, 5}, 3.5);
  EXPECT_EQ(values_of(layer_norm(constant)), std::vector<double>(10, 0));
  EXPECT_EQ(to_string(layer_norm(zeros({0, 4})).shape()), "(0, 4)");
  EXPECT_EQ(to_string(layer_norm(zeros({4, 0})).shape()), "(4, 0)");
  const Dense x = single_dense(random, {4, 33}, 2);
  EXPECT_EQ(layer_norm(x.tensor().astype(DType::bfloat16)).dtype(), DType::bfloat16);
  EXPECT_ERROR(layer_norm(zeros({}, DType::float32)), ErrorCode::invalid_input, "[layer_norm]", "no axis");
  EXPECT_ERROR(layer_norm(zeros({3}, DType::int32)), ErrorCode::invalid_input, "[layer_norm]", "int32");
}

TEST(ArrayRows, SoftmaxOfNonFiniteRowsIsAsInFloat64) {
  const Dense x{{5, 3},
                {1, not_a_number, 2, infinity, 0, 1, -infinity, -infinity, -infinity, -infinity, 0, 0, infinity,
                 -infinity, not_a_number}};
  expect_near(softmax(single(x), -1), {x.shape, values_of(softmax(x.tensor(), -1))}, 1e-7, "softmax");
  expect_near(log_softmax(single(x), -1), {x.shape, values_of(log_softmax(x.tensor(), -1))}, 1e-7, "log_softmax");
}

TEST(ArrayRows, SoftmaxHasGradientsOfFirstAndSecondOrder) {
  std::mt19937_64 random(seed());
  for (const bool is_log : {false, true}) {
    const Dense x = single_dense(random, {3, 19}, 2);
    const Dense weights = single_dense(random, {3, 19}, 2);
    const auto derivatives = [&](DType type) {
      const Tensor factors = weights.tensor().astype(type);
      const auto loss = [&](const Tensor& a) { return sum((is_log ? log_softmax(a, -1) : softmax(a, -1)) * factors); };
      const auto second = [&](const Tensor& a) { return sum(square(grad(loss, a)) * factors); };
      const Tensor at = x.tensor().astype(type);
      return std::vector<Tensor>{grad(loss, at), grad(second, at)};
    };
    const std::vector<Tensor> found = derivatives(DType::float32);
    const std::vector<Tensor> expected = derivatives(DType::float64);  // made of other operations
    for (std::size_t order = 0; order < 2; ++order) {
      expect_near(found[order], {x.shape, values_of(expected[order])}, 5e-6, "order " + std::to_string(order + 1));
    }
  }
}

}  // namespace vectis::test
