#include "kernel/vm/compiled_function.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tests/support/sanitizer.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis::vm {
namespace {

using ir::Builder;
using ir::Op;
using ir::Value;

std::vector<float> random_floats(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<double>(random.next() % 20001) / 5000.0 - 2.0);
  return values;
}

template <class T>
const std::byte* bytes(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}
template <class T>
std::byte* bytes(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

// max(x * a + y, 0) * x - 1, with every operation rounded to float32.
ir::Function chain() {
  Builder b("chain");
  const Value x = b.input(DType::float32);
  const Value y = b.input(DType::float32);
  const Value a = b.argument(DType::float32);
  const Value sum = b.add(b.mul(x, a), y);
  b.output(b.sub(b.mul(b.binary(Op::max, sum, b.constant(0.0F)), x), b.constant(1.0F)), DType::float32);
  return b.finish();
}

class CompiledFunctionConcurrent : public testing::TestWithParam<std::size_t> {};

TEST_P(CompiledFunctionConcurrent, WritesEveryElementAndNothingBeyond) {
  const std::size_t count = GetParam();
  Random random(test::seed() + count);
  const CompiledFunction function(chain());
  const auto executor = make_thread_executor({.threads = 3});
  const std::vector<float> x = random_floats(random, count);
  const std::vector<float> y = random_floats(random, count);
  const std::uint32_t a = std::bit_cast<std::uint32_t>(1.7F);
  std::vector<float> out(count + 7, 42.0F);
  function.run(*executor, {{bytes(x), bytes(y)}, {}, {bytes(out)}, {&a, 1}}, count);
  for (std::size_t i = 0; i < count; ++i) {
    const float product = x[i] * 1.7F;
    const float sum = product + y[i];
    const float scaled = std::max(sum, 0.0F) * x[i];
    ASSERT_EQ(out[i], scaled - 1.0F) << i << " of " << count;
  }
  for (std::size_t i = count; i < out.size(); ++i) EXPECT_EQ(out[i], 42.0F) << i;
}

INSTANTIATE_TEST_SUITE_P(Sizes, CompiledFunctionConcurrent,
                         testing::Values(0, 1, 3, 63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049,
                                         70001));

// Large enough for non-temporal stores, with a tail that fills no vector.
TEST(CompiledFunction, ComputesMoreThanTheCachesHold) {
  const std::size_t count = (std::size_t{1} << 23U) + 77;
  const CompiledFunction function(chain());
  const auto executor = make_thread_executor({.threads = 2});
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 977) - 400.0F;
  const std::uint32_t a = std::bit_cast<std::uint32_t>(0.5F);
  std::vector<float> out(count + 1, 42.0F);
  // One start is aligned to a vector and one is not, whatever the allocator returned.
  for (const std::size_t offset : {0U, 1U}) {
    function.run(*executor, {{bytes(x), bytes(x)}, {}, {bytes(out) + offset * 4}, {&a, 1}}, count);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
      wrong += out[i + offset] == std::max(x[i] * 1.5F, 0.0F) * x[i] - 1.0F ? 0U : 1U;
    EXPECT_EQ(wrong, 0U) << offset;
  }
}

// Every form of a fused operation: binary, reversed, self and unary.
TEST(CompiledFunction, FusesSimpleOperationsIntoChains) {
  Builder b("fused");
  const Value x = b.input(DType::float32);
  const Value y = b.input(DType::float32);
  Value v = b.sub(y, b.mul(x, b.constant(3.0F)));
  v = b.div(b.constant(8.0F), b.unary(Op::neg, b.mul(v, v)));
  v = b.unary(Op::sqrt, b.unary(Op::abs, b.binary(Op::min, y, b.binary(Op::max, v, x))));
  b.output(v, DType::float32);
  const CompiledFunction function(b.finish());
  EXPECT_EQ(function.program().body.size(), 1U);
  EXPECT_EQ(function.program().registers, 0U);
  SimulatedExecutor executor(1);
  Random random(test::seed());
  const std::vector<float> xs = random_floats(random, 1000);
  const std::vector<float> ys = random_floats(random, 1000);
  std::vector<float> out(1000);
  function.run(executor, {{bytes(xs), bytes(ys)}, {}, {bytes(out)}, {}}, 1000);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float tripled = xs[i] * 3.0F;
    const float difference = ys[i] - tripled;
    const float quotient = 8.0F / -(difference * difference);
    ASSERT_EQ(out[i], std::sqrt(std::fabs(std::min(ys[i], std::max(quotient, xs[i]))))) << i;
  }
}

TEST(CompiledFunction, SwapsInPlace) {
  Builder b("swap");
  const Value x = b.input(DType::int32);
  const Value y = b.input(DType::int32);
  b.output(y, DType::int32);
  b.output(x, DType::int32);
  const CompiledFunction function(b.finish());
  SimulatedExecutor executor(1);
  for (const std::size_t count : {std::size_t{5}, std::size_t{4096}}) {
    std::vector<std::int32_t> first(count, 1);
    std::vector<std::int32_t> second(count, 2);
    function.run(executor, {{bytes(first), bytes(second)}, {}, {bytes(first), bytes(second)}, {}}, count);
    EXPECT_EQ(first, std::vector<std::int32_t>(count, 2));
    EXPECT_EQ(second, std::vector<std::int32_t>(count, 1));
  }
}

// The first output overwrites the first input, which the second output reads too.
TEST(CompiledFunction, ReadsInputsBeforeOverwritingThem) {
  Builder b("both");
  const Value x = b.input(DType::int32);
  const Value y = b.input(DType::int32);
  b.output(b.add(x, y), DType::int32);
  b.output(b.mul(x, y), DType::int32);
  const CompiledFunction function(b.finish());
  SimulatedExecutor executor(1);
  std::vector<std::int32_t> first(3000, 7);
  const std::vector<std::int32_t> second(3000, 3);
  std::vector<std::int32_t> product(3000);
  function.run(executor, {{bytes(first), bytes(second)}, {}, {bytes(first), bytes(product)}, {}}, first.size());
  EXPECT_EQ(first, std::vector<std::int32_t>(3000, 10));
  EXPECT_EQ(product, std::vector<std::int32_t>(3000, 21));
}

TEST(CompiledFunction, CarriesValuesThroughNestedLoopsAndSwaps) {
  Builder b("fibonacci");
  const Value trips = b.argument(DType::uint32);
  const Value x = b.input(DType::uint32);
  auto outer = b.begin_loop(trips, std::array{x, b.constant(1U)});
  auto inner = b.begin_loop(b.constant(2U), std::array{outer.carried[0]});
  const auto added = b.end_loop(inner, std::array{b.add(inner.carried[0], outer.iteration)});
  // (p, q) becomes (q, p + 2 * iteration).
  const auto ends = b.end_loop(outer, std::array{outer.carried[1], added[0]});
  b.output(ends[0], DType::uint32);
  b.output(ends[1], DType::uint32);
  const CompiledFunction function(b.finish());
  SimulatedExecutor executor(1);
  std::vector<std::uint32_t> input(1030);
  for (std::uint32_t i = 0; i < input.size(); ++i) input[i] = i;
  for (const std::uint32_t count : {0U, 1U, 2U, 7U}) {
    std::vector<std::uint32_t> p(input.size());
    std::vector<std::uint32_t> q(input.size());
    function.run(executor, {{bytes(input)}, {}, {bytes(p), bytes(q)}, {&count, 1}}, input.size());
    for (std::uint32_t i = 0; i < input.size(); ++i) {
      std::uint32_t expected_p = i;
      std::uint32_t expected_q = 1;
      for (std::uint32_t trip = 0; trip < count; ++trip) {
        const std::uint32_t next = expected_p + 2 * trip;
        expected_p = expected_q;
        expected_q = next;
      }
      ASSERT_EQ(p[i], expected_p) << i << " after " << count;
      ASSERT_EQ(q[i], expected_q) << i << " after " << count;
    }
  }
}

TEST(CompiledFunction, ReusesRegistersOfDeadValues) {
  Builder b("long");
  Value x = b.input(DType::float32);
  for (int i = 0; i < 50; ++i) x = b.add(b.mul(x, x), b.constant(static_cast<float>(i)));
  b.output(x, DType::float32);
  const CompiledFunction function(b.finish());
  EXPECT_LE(function.program().registers, 1U);
  EXPECT_EQ(function.program().block, 2048U);
}

// A chain of 200,000 instructions, of which each thousandth value is also an output, so that many are live at once; and
// a loop that rotates 20,000 values. Linear passes take less than a second, quadratic ones minutes.
TEST(CompiledFunction, CompilesLongFunctionsInLinearTime) {
  constexpr std::uint32_t length = test::sanitized ? 20'000 : 200'000;
  constexpr std::uint32_t outputs = 200;
  const auto begin = std::chrono::steady_clock::now();
  Builder b("long");
  Value x = b.input(DType::uint32);
  std::vector<Value> kept;
  for (std::uint32_t i = 1; i <= length; ++i) {
    x = i % 2 == 0 ? b.add(x, b.constant(i)) : b.binary(Op::bit_xor, x, b.constant(i));
    if (i % (length / outputs) == 0) kept.push_back(x);
  }
  for (const Value value : kept) b.output(value, DType::uint32);
  const CompiledFunction function(ir::simplify(b.finish()));

  constexpr std::uint32_t rotated = test::sanitized ? 2'000 : 20'000;
  Builder r("rotation");
  const Value y = r.input(DType::uint32);
  std::vector<Value> initial;
  for (std::uint32_t i = 0; i < rotated; ++i) initial.push_back(r.add(y, r.constant(i)));
  const auto loop = r.begin_loop(r.constant(3U), initial);
  std::vector<Value> next(loop.carried.begin() + 1, loop.carried.end());
  next.push_back(loop.carried[0]);
  const auto ends = r.end_loop(loop, next);
  r.output(ends[0], DType::uint32);
  r.output(ends.back(), DType::uint32);
  const CompiledFunction rotation(ir::simplify(r.finish()));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));

  SimulatedExecutor executor(1);
  const std::vector<std::uint32_t> input(3, 77);
  std::vector<std::vector<std::uint32_t>> found(outputs, std::vector<std::uint32_t>(3));
  HostBuffers buffers{{bytes(input)}, {}, {}, {}};
  for (auto& one : found) buffers.outputs.push_back(bytes(one));
  function.run(executor, buffers, 3);
  std::uint32_t expected = 77;
  for (std::uint32_t i = 1; i <= length; ++i) {
    expected = i % 2 == 0 ? expected + i : expected ^ i;
    if (i % (length / outputs) == 0) {
      ASSERT_EQ(found[i / (length / outputs) - 1], std::vector<std::uint32_t>(3, expected)) << i;
    }
  }
  std::vector<std::uint32_t> first(3);
  std::vector<std::uint32_t> last(3);
  rotation.run(executor, {{bytes(input)}, {}, {bytes(first), bytes(last)}, {}}, 3);
  EXPECT_EQ(first, std::vector<std::uint32_t>(3, 77 + 3));
  EXPECT_EQ(last, std::vector<std::uint32_t>(3, 77 + 2));
}

}  // namespace
}  // namespace vectis::vm
