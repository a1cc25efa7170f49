// Element types on devices: conversions, edge values, what happens to 64 bits, and random numbers.

#include <limits>

#include "tests/arrays_devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/array/random.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

constexpr DType types[] = {DType::float32, DType::float16, DType::bfloat16, DType::int8,
                           DType::uint8,   DType::int32,   DType::boolean};

}  // namespace

TEST_P(EveryArrayDevice, ConvertsBetweenAllTypes) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values{0,   -0.0, 1,   -1,   0.5,   1.5,  2.5, -2.5, 127,
                                   128, 255,  256, -129, 65504, 1e30, inf, -inf};
  const auto extent = static_cast<std::int64_t>(values.size());
  const Tensor wide = Tensor::from_cpu(values, {extent}, {.device = host()});
  for (const DType from : types) {
    const Tensor x = wide.astype(from).eval();
    for (const DType to : types) {
      SCOPED_TRACE(testing::Message() << name(from) << " to " << name(to));
      expect_same(x.on(target()).astype(to), x.astype(to), 0, "converted");
      expect_same(flip(x.on(target())).astype(to), flip(x).astype(to), 0, "flipped and converted");
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryArrayDevice, CopiesEveryTypeUnchanged) {
  for (const DType type : types) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3}, Shape{5, 7}, Shape{2, 0}}) {
      const Tensor x = random_on_host(shape, type, 0, 100);
      expect_same(x.on(target()), x, 0, std::string(name(type)) + to_string(shape));
      expect_same(x.on(target()).on(host()).on(target()), x, 0, "there and back");
    }
  }
}

TEST_P(EveryArrayDevice, RefusesOrDowncastsWideTypes) {
  const std::vector<double> values{1, 2};
  EXPECT_ERROR(Tensor::from_cpu(values, {2}, on_target()), ErrorCode::unsupported, "float64", "array.wide_types");
  EXPECT_ERROR(ones({2}, DType::int64, on_target()), ErrorCode::unsupported, "int64");
  const Tensor wide = Tensor::from_cpu(values, {2}, {.device = host()});
  EXPECT_ERROR((void)wide.on(target()), ErrorCode::unsupported, "float64");
  EXPECT_ERROR((void)wide.astype(DType::float32).on(target()).astype(DType::float64), ErrorCode::unsupported,
               "float64");

  TensorOptions options = on_target();
  options.wide_types = WideTypes::downcast;
  EXPECT_EQ(Tensor::from_cpu(values, {2}, options).to_cpu<float>(), std::vector<float>({1, 2}));
  EXPECT_EQ(arange(0, 3, 1, DType::int64, options).to_cpu<std::int32_t>(), std::vector<std::int32_t>({0, 1, 2}));
  EXPECT_EQ(wide.on(target(), WideTypes::downcast).to_cpu<float>(), std::vector<float>({1, 2}));
}

// The gradient of a downcast array has the type of the array.
TEST_P(EveryArrayDevice, HasGradientsThroughCopies) {
  const Tensor x = Tensor::from_cpu(std::vector<double>{1, 2, 3}, {3}, {.device = host()});
  const auto loss = [&](const Tensor& v) { return sum(square(v.on(target(), WideTypes::downcast)) * 2).on(host()); };
  const auto [value, gradient] = value_and_grad(loss, x);
  EXPECT_EQ(value.item(), 28);
  EXPECT_EQ(gradient.dtype(), DType::float64);
  EXPECT_EQ(gradient.to_cpu<double>(), std::vector<double>({4, 8, 12}));
}

TEST_P(EveryArrayDevice, RejectsOperandsOfTwoDevices) {
  const Tensor here = ones({2}, DType::float32, {.device = host()});
  const Tensor there = ones({2}, DType::float32, on_target());
  EXPECT_ERROR(here + there, ErrorCode::invalid_input, "operands are on cpu:0 and", GetParam());
}

TEST_P(EveryArrayDevice, DrawsTheNumbersOfTheCpu) {
  Generator here(seed(), {.device = host()});
  Generator there(seed(), on_target());
  expect_same(there.bits({3, 100}), here.bits({3, 100}), 0, "bits");
  expect_same(there.uniform({1000}, -1, 3), here.uniform({1000}, -1, 3), 1e-6, "uniform");
  expect_same(there.normal({1000}), here.normal({1000}), 1e-4, "normal");
  expect_same(there.integers({1000}, -5, 12), here.integers({1000}, -5, 12), 0, "integers");
  expect_same(there.bernoulli({1000}, 0.3), here.bernoulli({1000}, 0.3), 0, "bernoulli");
  expect_same(there.permutation(100), here.permutation(100), 0, "permutation");
}

}  // namespace vectis::test
