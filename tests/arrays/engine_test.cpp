// When and how recorded operations are computed: fusion, sharing, memory, long graphs, failures.

#include <gtest/gtest.h>

#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"
#include "vectis/memory.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

std::uint64_t allocations(Runtime& runtime) {
  const auto stats = memory_pool(runtime).get_memory_stats(0);
  return stats ? stats->allocations : 0;
}

}  // namespace

TEST(ArrayEngine, ComputesWhenAsked) {
  const Tensor x = ones({4}) + 1;
  EXPECT_FALSE(x.is_computed());
  EXPECT_TRUE(x.eval().is_computed());
  EXPECT_TRUE(ones({4}).is_computed());
}

// A chain over large arrays stores its result alone.
TEST(ArrayEngine, ChainsNeedOneAllocation) {
  Runtime runtime(with_threads(1));
  const TensorOptions here{.runtime = &runtime};
  const Tensor x = Tensor::from_cpu(std::vector<float>(10000, 0.5F), {10000}, here).eval();
  const std::uint64_t before = allocations(runtime);
  const Tensor y = (sqrt(exp(x * 2) + 1) - x) / 3;
  y.eval();
  EXPECT_EQ(allocations(runtime) - before, 1U);
  const Tensor z = exp(x) * 2;
  const Tensor middle = z + 1;  // kept by this program, so it is stored too
  const Tensor end = middle * middle;
  end.eval();
  EXPECT_TRUE(middle.is_computed());
  EXPECT_EQ(allocations(runtime) - before, 4U);
}

TEST(ArrayEngine, ViewsNeedNone) {
  Runtime runtime(with_threads(1));
  const Tensor x = Tensor::from_cpu(std::vector<float>(10000, 0.5F), {100, 100}, {.runtime = &runtime});
  const std::uint64_t before = allocations(runtime);
  slice(x.transpose(), 0, {.start = 5, .step = 3}).eval();
  broadcast_to(x, {50, 100, 100}).eval();
  zeros({1000, 1000}, DType::float32, {.runtime = &runtime}).eval();
  EXPECT_EQ(allocations(runtime) - before, 0U);
}

// Intermediate values are released as soon as their last consumer is computed.
TEST(ArrayEngine, ReleasesIntermediates) {
  Runtime runtime(with_threads(1));
  const std::size_t bytes = 1 << 20;
  const Tensor x = Tensor::from_cpu(std::vector<float>(bytes / 4, 1), {512, 512}, {.runtime = &runtime});
  MemoryScope scope(memory_pool(runtime), 0, "array");
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = matmul(y, x) * (1.0 / 512);
  y.eval();
  expect_near(y, dense({512, 512}, [](const Shape&) { return 1.0; }), 1e-4, "powers");
  // x, a product, the product before it, and the scaled one that replaces it.
  EXPECT_LE(scope.peak_bytes(), 4 * bytes);
}

TEST(ArrayEngine, LongChainsAreBounded) {
  Tensor x = zeros({3});
  for (int i = 0; i < 100000; ++i) x = x + 1;
  EXPECT_EQ(x.to_cpu<float>(), (std::vector<float>(3, 100000)));
  // A gradient through a long loop.
  const auto loop = [](const Tensor& v) {
    Tensor state = v;
    for (int i = 0; i < 30000; ++i) state = state * 1.0001;
    return sum(state);
  };
  EXPECT_NEAR(grad(loop, ones({2})).to_cpu<float>()[0], std::pow(1.0001, 30000), 0.1);
}

TEST(ArrayEngine, SharedValuesAreComputedOnce) {
  // 2^40 paths lead to the first node.
  Tensor x = ones({2});
  for (int i = 0; i < 40; ++i) x = minimum(x + x, 8);
  EXPECT_EQ(x.to_cpu<float>(), (std::vector<float>{8, 8}));
}

TEST(ArrayEngine, EvaluatesSeveralTogether) {
  const Tensor shared = exp(ones({100}));
  const std::vector<Tensor> both = {shared * 2, shared * 3};
  array::eval(both);
  EXPECT_TRUE(both[0].is_computed() && both[1].is_computed());
  array::eval({});
}

TEST(ArrayEngine, FailuresNameTheOperationAndCanBeRepeated) {
  RuntimeOptions options = with_threads(1);
  options.settings["debug"] = "true";
  Runtime runtime(options);
  const TensorOptions here{.runtime = &runtime};
  const Tensor x = Tensor::from_cpu(std::vector<float>(1 << 20, 1), {1 << 20}, here);
  const Tensor y = exp(x);
  ASSERT_TRUE(memory_pool(runtime).set_max_pool_size(0, 5 << 20));
  EXPECT_ERROR(y.eval(), ErrorCode::allocation, "[exp, recorded at", "engine_test.cpp");
  EXPECT_THROW(y.eval(), OutOfMemoryError);
  EXPECT_FALSE(y.is_computed());
  ASSERT_TRUE(memory_pool(runtime).set_max_pool_size(0, 64 << 20));
  EXPECT_NEAR(y.eval().to_cpu<float>()[5], std::exp(1.0F), 1e-5);
}

TEST(ArrayEngine, HasEmptyArrays) {
  const Tensor x = zeros({0, 3});
  EXPECT_EQ((x + 1).to_cpu<float>().size(), 0U);
  EXPECT_EQ(sum(x).item(), 0);
  EXPECT_EQ(to_string(sum(x, {0}).shape()), "(3,)");
  EXPECT_EQ(matmul(x, zeros({3, 2})).elements(), 0);
  EXPECT_EQ(sum(matmul(zeros({2, 0}), zeros({0, 2}))).item(), 0);
  EXPECT_EQ(concat(std::vector{x, ones({2, 3})}).elements(), 6);
}

}  // namespace vectis::test
