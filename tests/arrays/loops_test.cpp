// Loops over elements on the CPU: functions against the C library, rows of views, groups, and products of doubles.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Numbers on both sides of every limit, and many between.
std::vector<double> operands(std::mt19937_64& random) {
  std::vector<double> values = {0.0,    -0.0, 1,    -1,    0.5, -0.5, inf,  -inf, nan,     -nan,   1e-40,
                                1e-310, 3e4,  -3e4, 3.1e4, 699, 701,  -746, 1e30, -1.1e30, 0.9995, -0.9995};
  for (const double scale : {1.0, 3.0, 30.0, 500.0}) {
    for (int i = 0; i < 40; ++i) values.push_back(std::uniform_real_distribution<double>(-scale, scale)(random));
  }
  return values;
}

void expect_equal(double found, double expected, double tolerance, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << what << ": " << found;
  } else if (std::isinf(expected) || expected == 0) {
    EXPECT_EQ(found, expected) << what;
    EXPECT_EQ(std::signbit(found), std::signbit(expected)) << what;
  } else {
    EXPECT_NEAR(found / expected, 1, tolerance) << what << ": " << found << ", not " << expected;
  }
}

}  // namespace

TEST(ArrayLoops, FunctionsOfOneNumberAgreeWithTheCLibrary) {
  struct Function {
    const char* name;
    Tensor (*ours)(const Operand&);
    double (*expected)(double);
  };
  const Function functions[] = {
      {"exp", exp, std::exp},       {"expm1", expm1, std::expm1}, {"log", log, std::log},
      {"log2", log2, std::log2},    {"log1p", log1p, std::log1p}, {"sin", sin, std::sin},
      {"cos", cos, std::cos},       {"tan", tan, std::tan},       {"sinh", sinh, std::sinh},
      {"tanh", tanh, std::tanh},    {"asin", asin, std::asin},    {"acos", acos, std::acos},
      {"atan", atan, std::atan},    {"asinh", asinh, std::asinh}, {"acosh", acosh, std::acosh},
      {"atanh", atanh, std::atanh}, {"sqrt", sqrt, std::sqrt},    {"floor", floor, std::floor},
      {"ceil", ceil, std::ceil},    {"trunc", trunc, std::trunc}, {"round", round, std::nearbyint}};
  std::mt19937_64 random(seed());
  const std::vector<double> values = operands(random);
  const auto count = static_cast<std::int64_t>(values.size());
  for (const Function& function : functions) {
    const std::vector<double> found = function.ours(Tensor::from_cpu(values, {count})).to_cpu<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      expect_equal(found[i], function.expected(values[i]), 2e-14, function.name + (" of " + std::to_string(values[i])));
    }
  }
  for (const auto& [name, ours, expected] : {functions[7], functions[10], functions[11], functions[12]}) {
    const std::vector<float> singles(values.begin(), values.end());
    const std::vector<float> found = ours(Tensor::from_cpu(singles, {count})).to_cpu<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto right = static_cast<float>(expected(static_cast<double>(singles[i])));
      expect_equal(found[i], right, 1.2e-7, name + (" of the float " + std::to_string(singles[i])));
    }
  }
}

TEST(ArrayLoops, FunctionsOfTwoFloatsAgreeWithTheCLibrary) {
  struct Function {
    const char* name;
    Tensor (*ours)(const Operand&, const Operand&);
    double (*expected)(double, double);
  };
  const Function functions[] = {{"power", power, std::pow}, {"atan2", atan2, std::atan2}, {"fmod", fmod, std::fmod}};
  std::mt19937_64 random(seed());
  const std::vector<double> values = operands(random);
  const std::vector<float> singles(values.begin(), values.end());
  const auto count = static_cast<std::int64_t>(values.size());
  const Tensor x = Tensor::from_cpu(singles, {count, 1});
  const Tensor y = Tensor::from_cpu(singles, {count});
  for (const Function& function : functions) {
    const std::vector<float> found = function.ours(x, y).to_cpu<float>();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double a = static_cast<double>(singles[i / values.size()]);
      const double b = static_cast<double>(singles[i % values.size()]);
      const auto right = static_cast<float>(function.expected(a, b));
      if (std::fabs(right) < std::numeric_limits<float>::min() && right != 0) continue;  // rounded to few bits
      expect_equal(found[i], right, 1.2e-7,
                   std::string(function.name) + " of " + std::to_string(a) + " and " + std::to_string(b));
    }
  }
}

TEST(ArrayLoops, SignbitIsThatOfNaNToo) {
  for (const DType type : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const Tensor x = Tensor::from_cpu(std::vector<double>{nan, -nan, 0.0, -0.0, inf, -inf, 1, -1}, {8}).astype(type);
    EXPECT_EQ(signbit(x).to_cpu<bool>(), std::vector<bool>({false, true, false, true, false, true, false, true}))
        << name(type);
  }
}

TEST(ArrayLoops, ReadRowsOfViewsInPlace) {
  std::mt19937_64 random(seed());
  for (const DType type : {DType::float32, DType::float64, DType::int8, DType::uint8, DType::int32, DType::int64}) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 40);
    const std::int64_t columns = 16 + static_cast<std::int64_t>(random() % 1500);
    const Tensor stored = random_dense(random, {rows, columns + 3}, 0, 9).tensor().astype(type);
    const Tensor x = slice(stored, 1, {.start = 2, .stop = columns + 2});
    const Tensor row = random_dense(random, {columns}, 0, 9).tensor().astype(type);
    const Tensor column = random_dense(random, {rows, 1}, 0, 9).tensor().astype(type);
    for (const Tensor& other : {row, column, stored[0][0]}) {
      const Dense a{x.shape(), values_of(x)};
      const Tensor repeated = broadcast_to(other, x.shape());
      const Dense b{x.shape(), values_of(repeated)};
      const auto each = [&](auto function) {
        return dense(x.shape(), [&](const Shape& i) { return function(a.at(i), b.at(i)); });
      };
      const std::string what(name(type));
      expect_near(add(x, other), each([](double p, double q) { return p + q; }), 1e-6, what);
      expect_near(maximum(other, x), each([](double p, double q) { return std::max(p, q); }), 0, what);
      expect_near(less(x, other).astype(DType::int32), each([](double p, double q) { return p < q ? 1.0 : 0.0; }), 0,
                  what);
      expect_near(where(less(x, 4), x, other), each([](double p, double q) { return p < 4 ? p : q; }), 0, what);
    }
  }
}

TEST(ArrayLoops, GroupsOfWideAndOfNarrowElementsWrap) {
  std::mt19937_64 random(seed());
  constexpr std::int64_t count = 70'001;  // several tasks, and a block that is not full
  const auto integers = [&](DType type) { return random_dense(random, {count}, -100, 100).tensor().astype(type); };
  const Tensor a = integers(DType::int8);
  const Tensor b = integers(DType::int8);
  const std::vector<double> x = values_of(a);
  const std::vector<double> y = values_of(b);
  const std::vector<double> found = values_of(minimum((a * b + a) - b, b));
  const std::vector<bool> truth = logical_xor(a.astype(DType::int64), b.astype(DType::int64) - 1).to_cpu<bool>();
  const std::vector<double> reals = values_of((a.astype(DType::float64) / 3 + b) * 2);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto wrapped = static_cast<std::int8_t>(static_cast<int>(x[i] * y[i] + x[i] - y[i]));
    ASSERT_EQ(found[i], std::min<double>(wrapped, y[i])) << i;
    ASSERT_EQ(truth[i], (x[i] != 0) != (y[i] != 1)) << i;
    ASSERT_EQ(reals[i], (x[i] / 3 + y[i]) * 2) << i;
  }
}

TEST(ArrayLoops, ProductsOfDoublesHaveManyTerms) {
  std::mt19937_64 random(seed());
  constexpr std::int64_t m = 67, k = 1030, n = 35;
  const Dense a = random_dense(random, {2, m, k});
  const Dense b = random_dense(random, {2, k, n});
  const Dense expected = dense({2, m, n}, [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += a.at({i[0], i[1], j}) * b.at({i[0], j, i[2]});
    return sum;
  });
  expect_near(matmul(a.tensor(), b.tensor()), expected, 1e-11, "products");
}

}  // namespace vectis::test
