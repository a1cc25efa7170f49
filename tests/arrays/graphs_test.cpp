// Random graphs of operations: float32 and fused against float64 computed one operation after the other, and integers
// against 64-bit integers, which run other code.

#include <gtest/gtest.h>

#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

// One array in two types: computed lazily and narrow, and at once and wide.
struct Pair {
  Tensor narrow;
  Tensor wide;
};

// Values stay near [-4, 4], so that errors do not grow without bound.
Tensor squashed(const Tensor& x) { return tanh(x * 0.25) * 4; }

template <class Operation>
Pair both(const Operation& operation, const Pair& a, const Pair& b) {
  Tensor wide = operation(a.wide, b.wide);
  wide.eval();
  return {operation(a.narrow, b.narrow), wide};
}

using Step = Tensor (*)(const Tensor&, const Tensor&);
const Step real_steps[] = {
    [](const Tensor& a, const Tensor& b) { return squashed(a + b); },
    [](const Tensor& a, const Tensor& b) { return squashed(a * b); },
    [](const Tensor& a, const Tensor& b) { return a - b * 0.5; },
    [](const Tensor& a, const Tensor& b) { return a / (square(b) + 1); },
    [](const Tensor& a, const Tensor&) { return sin(a); },
    [](const Tensor& a, const Tensor&) { return exp(-absolute(a)); },
    [](const Tensor& a, const Tensor&) { return log1p(square(a)); },
    [](const Tensor& a, const Tensor&) { return sigmoid(a); },
    [](const Tensor& a, const Tensor&) { return erf(a) + sinh(a * 0.1); },
    [](const Tensor& a, const Tensor& b) { return hypot(a, b); },
    [](const Tensor& a, const Tensor&) { return sum(a, {0}, true) * 0.1; },
    [](const Tensor& a, const Tensor&) { return squashed(mean(a, {-1}, true)); },
    [](const Tensor& a, const Tensor&) { return a - max(a); },
    [](const Tensor& a, const Tensor&) { return softmax(a, -1); },
    [](const Tensor& a, const Tensor&) { return flip(a, {0}); },
    [](const Tensor& a, const Tensor&) { return roll(a, 1, -1); },
    [](const Tensor& a, const Tensor& b) { return squashed(matmul(broadcast_to(a, {6, 6}), broadcast_to(b, {6, 6}))); },
    [](const Tensor& a, const Tensor&) { return broadcast_to(a, {6, 6}).transpose(); },
    [](const Tensor& a, const Tensor&) { return slice(concat(std::vector{a, a}, 0), 0, {.stop = a.extent(0)}); },
};
const Step integer_steps[] = {
    [](const Tensor& a, const Tensor& b) { return a + b; },
    [](const Tensor& a, const Tensor& b) { return a * b; },
    [](const Tensor& a, const Tensor& b) { return a - b * 3; },
    [](const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); },
    [](const Tensor& a, const Tensor& b) { return bitwise_and(a, bitwise_not(b)); },
    [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
    [](const Tensor& a, const Tensor& b) { return where(less(a, b), a, b - 1); },
    [](const Tensor& a, const Tensor&) { return right_shift(a, 3); },
    [](const Tensor& a, const Tensor&) { return floor_divide(a, 7); },
    [](const Tensor& a, const Tensor&) { return remainder(a, 11); },
    [](const Tensor& a, const Tensor&) { return flip(a, {1}); },
    [](const Tensor& a, const Tensor&) { return max(a, {0}, true); },
    [](const Tensor& a, const Tensor&) { return power(remainder(a, 5), 2); },
};

}  // namespace

TEST(ArrayGraphs, OfRealNumbersAgreeWithDoublePrecision) {
  std::mt19937_64 random(seed());
  for (std::uint64_t graph = 0; graph < runs_wanted(300); ++graph) {
    std::vector<Pair> values;
    for (const Shape& shape : {Shape{6, 6}, Shape{6, 1}, Shape{1, 6}, Shape{6, 6}}) {
      const Tensor wide = random_dense(random, shape).tensor();
      const Tensor narrow = wide.astype(DType::float32).eval();
      values.push_back({narrow, narrow.astype(DType::float64).eval()});
    }
    for (std::size_t steps = 1 + random() % 20; steps > 0; --steps) {
      const Step step = real_steps[random() % std::size(real_steps)];
      values.push_back(both(step, values[random() % values.size()], values[random() % values.size()]));
      if (random() % 8 == 0) values.erase(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    }
    for (const Pair& value : values) {
      expect_near(value.narrow, {value.wide.shape(), values_of(value.wide)}, 5e-4, "graph " + std::to_string(graph));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ArrayGraphs, OfIntegersAreEqual) {
  std::mt19937_64 random(seed());
  for (std::uint64_t graph = 0; graph < runs_wanted(300); ++graph) {
    const DType type = std::array{DType::int8, DType::uint8, DType::int32}[random() % 3];
    // After each step the wide array is wrapped to the narrow type.
    std::vector<Pair> values;
    for (const Shape& shape : {Shape{5, 4}, Shape{5, 1}, Shape{4}, Shape{5, 4}}) {
      const Tensor wide =
          (random_dense(random, shape).tensor() * 1e5).astype(DType::int64).astype(type).astype(DType::int64).eval();
      values.push_back({wide.astype(type), wide});
    }
    for (std::size_t steps = 1 + random() % 20; steps > 0; --steps) {
      const Step step = integer_steps[random() % std::size(integer_steps)];
      const Pair& a = values[random() % values.size()];
      const Pair& b = values[random() % values.size()];
      if (a.narrow.rank() < 2) continue;
      const Tensor wide = step(a.wide, b.wide).astype(type).astype(DType::int64).eval();
      values.push_back({step(a.narrow, b.narrow), wide});
    }
    for (const Pair& value : values) {
      expect_equal(value.narrow, {value.wide.shape(), values_of(value.wide)},
                   "graph " + std::to_string(graph) + " of " + std::string(name(type)));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace vectis::test
