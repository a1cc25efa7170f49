// Functions of elements against the C++ library in double precision, for all types, edge values and strides.

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
using array::Element;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Unary {
  const char* name;
  Tensor (*function)(const Operand&);
  double (*reference)(double);
  double low = -4;
  double high = 4;
};

const Unary unary_functions[] = {
    {"negative", negative, [](double x) { return -x; }},
    {"absolute", absolute, [](double x) { return std::fabs(x); }},
    {"sign", sign, [](double x) { return x > 0   ? 1.0
                                         : x < 0 ? -1.0
                                                 : x; }},
    {"square", square, [](double x) { return x * x; }},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }},
    {"floor", floor, [](double x) { return std::floor(x); }},
    {"ceil", ceil, [](double x) { return std::ceil(x); }},
    {"round", round, [](double x) { return std::nearbyint(x); }},
    {"trunc", trunc, [](double x) { return std::trunc(x); }},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0, 1e6},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-3, 1e6},
    {"exp", exp, [](double x) { return std::exp(x); }, -20, 20},
    {"exp2", exp2, [](double x) { return std::exp2(x); }, -20, 20},
    {"expm1", expm1, [](double x) { return std::expm1(x); }, -2, 2},
    {"log", log, [](double x) { return std::log(x); }, 1e-6, 1e6},
    {"log2", log2, [](double x) { return std::log2(x); }, 1e-6, 1e6},
    {"log10", log10, [](double x) { return std::log10(x); }, 1e-6, 1e6},
    {"log1p", log1p, [](double x) { return std::log1p(x); }, -0.99, 3},
    {"sin", sin, [](double x) { return std::sin(x); }, -100, 100},
    {"cos", cos, [](double x) { return std::cos(x); }, -100, 100},
    {"tan", tan, [](double x) { return std::tan(x); }, -1.4, 1.4},
    {"sinh", sinh, [](double x) { return std::sinh(x); }},
    {"cosh", cosh, [](double x) { return std::cosh(x); }},
    {"tanh", tanh, [](double x) { return std::tanh(x); }},
    {"asin", asin, [](double x) { return std::asin(x); }, -1, 1},
    {"acos", acos, [](double x) { return std::acos(x); }, -1, 1},
    {"atan", atan, [](double x) { return std::atan(x); }},
    {"asinh", asinh, [](double x) { return std::asinh(x); }, -1e3, 1e3},
    {"acosh", acosh, [](double x) { return std::acosh(x); }, 1, 1e3},
    {"atanh", atanh, [](double x) { return std::atanh(x); }, -0.99, 0.99},
    {"erf", erf, [](double x) { return std::erf(x); }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30},
    {"relu", relu, [](double x) { return x <= 0 ? 0 : x; }},
    {"gelu", gelu, [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"softplus", softplus, [](double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0); }, -30, 30},
};

// What a value becomes when it is stored in a type.
double stored(double value, DType type) {
  return values_of(Tensor::from_cpu(std::vector<double>{value}, {1}).astype(type)).front();
}

double tolerance_of(DType type) {
  switch (type) {
    case DType::float64:
      return 1e-14;
    case DType::float32:
      return 4e-7;
    case DType::float16:
      return 1e-3;
    default:
      return 8e-3;
  }
}

Dense applied(const Dense& x, double (*f)(double), DType type) {
  return dense(x.shape, [&](const Shape& index) { return f(stored(x.at(index), type)); });
}

}  // namespace

TEST(ArrayElements, UnaryFunctionsAgreeWithTheLibrary) {
  std::mt19937_64 random(seed());
  for (const Unary& one : unary_functions) {
    for (const DType type : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
      const Dense x = random_dense(random, {7, 41}, one.low, one.high);
      const Tensor result = one.function(x.tensor().astype(type));
      EXPECT_EQ(result.dtype(), type) << one.name;
      // Functions that overflow 16 bits round to infinity, as the reference does when it is stored.
      Dense expected = applied(x, one.reference, type);
      for (double& value : expected.values) value = stored(value, type);
      expect_near(result, expected, tolerance_of(type) * 4, std::string(one.name) + " of " + std::string(name(type)));
    }
  }
}

TEST(ArrayElements, UnaryFunctionsAgreeAtEdges) {
  const Dense edges{{16},
                    {0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 0.5, -0.5, 1e-30, -1e-30, 88.0, -88.0, 1e-7, 3e38, -3e38}};
  for (const Unary& one : unary_functions) {
    for (const DType type : {DType::float64, DType::float32}) {
      Dense expected = applied(edges, one.reference, type);
      for (double& value : expected.values) value = stored(value, type);
      expect_near(one.function(edges.tensor().astype(type)), expected, 1e-6,
                  std::string(one.name) + " of " + std::string(name(type)));
    }
  }
}

TEST(ArrayElements, BinaryFunctionsAgreeWithTheLibrary) {
  struct Binary {
    const char* name;
    Tensor (*function)(const Operand&, const Operand&);
    double (*reference)(double, double);
  };
  const Binary functions[] = {
      {"add", add, [](double a, double b) { return a + b; }},
      {"subtract", subtract, [](double a, double b) { return a - b; }},
      {"multiply", multiply, [](double a, double b) { return a * b; }},
      {"divide", divide, [](double a, double b) { return a / b; }},
      {"fmod", fmod, [](double a, double b) { return std::fmod(a, b); }},
      {"floor_divide", floor_divide, [](double a, double b) { return std::floor(a / b); }},
      {"remainder", remainder, [](double a, double b) { return a - b * std::floor(a / b); }},
      {"atan2", atan2, [](double a, double b) { return std::atan2(a, b); }},
      {"hypot", hypot, [](double a, double b) { return std::hypot(a, b); }},
      {"logaddexp", logaddexp, [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); }},
      {"minimum", minimum, [](double a, double b) { return std::min(a, b); }},
      {"maximum", maximum, [](double a, double b) { return std::max(a, b); }},
      {"copysign", copysign, [](double a, double b) { return std::copysign(a, b); }},
  };
  std::mt19937_64 random(seed());
  for (const Binary& one : functions) {
    for (const DType type : {DType::float64, DType::float32}) {
      const Dense a = random_dense(random, {5, 33});
      const Dense b = random_dense(random, {33}, 0.5, 3);
      const Dense expected = dense(
          a.shape, [&](const Shape& i) { return one.reference(stored(a.at(i), type), stored(b.at({i[1]}), type)); });
      expect_near(one.function(a.tensor().astype(type), b.tensor().astype(type)), expected, tolerance_of(type) * 8,
                  one.name);
    }
  }
}

TEST(ArrayElements, PowerTakesNegativeBasesAndZero) {
  const Tensor base = Tensor::from_cpu(std::vector<float>{-2, -2, 0, 0, 2}, {5});
  const Tensor exponent = Tensor::from_cpu(std::vector<float>{3, 2, 0, 2, -1}, {5});
  expect_near(power(base, exponent), {{5}, {-8, 4, 1, 0, 0.5}}, 1e-6, "power");
}

// Integers wrap as two's complement; division and remainder are Python's.
TEST(ArrayElements, IntegersAgreeWithPython) {
  std::mt19937_64 random(seed());
  for (const DType type : {DType::int8, DType::uint8, DType::int32, DType::int64}) {
    std::vector<std::int64_t> a;
    std::vector<std::int64_t> b;
    for (int i = 0; i < 500; ++i) {
      a.push_back(static_cast<std::int64_t>(random()) >> (random() % 60));
      b.push_back(static_cast<std::int64_t>(random()) >> (random() % 60));
    }
    const Tensor wide_a = Tensor::from_cpu(a, {500});
    const Tensor x = wide_a.astype(type);
    const Tensor y = Tensor::from_cpu(b, {500}).astype(type);
    const std::vector<std::int64_t> left = x.astype(DType::int64).to_cpu<std::int64_t>();
    const std::vector<std::int64_t> right = y.astype(DType::int64).to_cpu<std::int64_t>();
    const auto expect = [&](const char* what, const Tensor& found, auto reference) {
      EXPECT_EQ(found.dtype(), type) << what;
      std::vector<std::int64_t> expected;
      for (std::size_t i = 0; i < left.size(); ++i) {
        expected.push_back(static_cast<std::int64_t>(reference(left[i], right[i])));
      }
      // Wrapped by the conversion of int64, which is tested below.
      EXPECT_EQ(found.astype(DType::int64).to_cpu<std::int64_t>(),
                Tensor::from_cpu(expected, {500}).astype(type).astype(DType::int64).to_cpu<std::int64_t>())
          << what << " of " << name(type);
    };
    using I = std::int64_t;
    using U = std::uint64_t;
    expect("add", x + y, [](I p, I q) { return static_cast<U>(p) + static_cast<U>(q); });
    expect("subtract", x - y, [](I p, I q) { return static_cast<U>(p) - static_cast<U>(q); });
    expect("multiply", x * y, [](I p, I q) { return static_cast<U>(p) * static_cast<U>(q); });
    expect("bitwise_and", bitwise_and(x, y), [](I p, I q) { return p & q; });
    expect("bitwise_xor", bitwise_xor(x, y), [](I p, I q) { return p ^ q; });
    expect("bitwise_not", bitwise_not(x), [](I p, I) { return ~p; });
    expect("minimum", minimum(x, y), [](I p, I q) { return std::min(p, q); });
    const auto floor_divided = [](I p, I q) -> I {
      if (q == 0) return 0;
      if (q == -1) return static_cast<I>(U{0} - static_cast<U>(p));
      return static_cast<I>(std::floor(static_cast<long double>(p) / static_cast<long double>(q)));
    };
    expect("floor_divide", floor_divide(x, y), floor_divided);
    expect("remainder", remainder(x, y), [&](I p, I q) {
      return q == 0 ? U{0} : static_cast<U>(p) - static_cast<U>(floor_divided(p, q)) * static_cast<U>(q);
    });
    expect("power", power(x, 3), [](I p, I) { return static_cast<U>(p) * static_cast<U>(p) * static_cast<U>(p); });
    expect("square", square(x), [](I p, I) { return static_cast<U>(p) * static_cast<U>(p); });
  }
}

TEST(ArrayElements, ConversionsWrapIntegersAndTruncateNumbers) {
  const Tensor x = Tensor::from_cpu(std::vector<double>{-1.9, 1.9, 300, -129, nan, 0, 1e30}, {7});
  EXPECT_EQ(x.astype(DType::int32).to_cpu<std::int32_t>(),
            (std::vector<std::int32_t>{-1, 1, 300, -129, 0, 0, 2147483647}));
  EXPECT_EQ(x.astype(DType::int8).to_cpu<std::int8_t>(), (std::vector<std::int8_t>{-1, 1, 44, 127, 0, 0, -1}));
  EXPECT_EQ(x.astype(DType::float32).astype(DType::int8).to_cpu<std::int8_t>(),
            (std::vector<std::int8_t>{-1, 1, 44, 127, 0, 0, -1}));
  EXPECT_EQ(x.astype(DType::uint8).to_cpu<std::uint8_t>(), (std::vector<std::uint8_t>{255, 1, 44, 127, 0, 0, 255}));
  EXPECT_EQ(x.astype(DType::boolean).to_cpu<bool>(), (std::vector<bool>{true, true, true, true, true, false, true}));
  // A conversion to 16 bits rounds, also inside an expression.
  const Tensor third = Tensor::from_cpu(std::vector<float>{1.0F / 3}, {1});
  EXPECT_EQ((third.astype(DType::float16).astype(DType::float32) * 3).item(), to_float(to_half(1.0F / 3)) * 3);
}

TEST(ArrayElements, ComparisonsAndChoices) {
  const Tensor a = Tensor::from_cpu(std::vector<float>{1, 2, static_cast<float>(nan)}, {3});
  EXPECT_EQ(less(a, 2).to_cpu<bool>(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(not_equal(a, a).to_cpu<bool>(), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(isfinite(a).to_cpu<bool>(), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(logical_not(isnan(a)).to_cpu<bool>(), (std::vector<bool>{true, true, false}));
  expect_equal(where(isnan(a), 0, a), {{3}, {1, 2, 0}}, "where");
  EXPECT_EQ(where(isnan(a), 1, 2).dtype(), DType::int32);
  EXPECT_EQ(maximum(a, 1.5).to_cpu<float>()[0], 1.5F);
  EXPECT_TRUE(std::isnan(maximum(a, 1.5).to_cpu<float>()[2]));
}

TEST(ArrayElements, TypesArePromoted) {
  const auto of = [](DType type) { return ones({1}, type); };
  EXPECT_EQ((of(DType::int8) + of(DType::uint8)).dtype(), DType::int32);
  EXPECT_EQ((of(DType::float16) + of(DType::bfloat16)).dtype(), DType::float32);
  EXPECT_EQ((of(DType::float16) + of(DType::int64)).dtype(), DType::float16);
  EXPECT_EQ((of(DType::float32) + of(DType::float64)).dtype(), DType::float64);
  EXPECT_EQ((of(DType::float16) + 1.5).dtype(), DType::float16);
  EXPECT_EQ((of(DType::int8) + 1).dtype(), DType::int8);
  EXPECT_EQ((of(DType::int8) + 1.5).dtype(), DType::float32);
  EXPECT_EQ((of(DType::int64) / 2).dtype(), DType::float32);
  EXPECT_EQ(equal(of(DType::boolean), true).dtype(), DType::boolean);
}

}  // namespace vectis::test
