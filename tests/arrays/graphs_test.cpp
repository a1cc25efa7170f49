// Random graphs of operations: float32 and fused against float64 computed one operation after the other, and integers
// against 64-bit integers, which run other code.

#include <gtest/gtest.h>

#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/arrays/graph_steps.hpp"
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

template <class Operation>
Pair both(const Operation& operation, const Pair& a, const Pair& b) {
  Tensor wide = operation(a.wide, b.wide);
  wide.eval();
  return {operation(a.narrow, b.narrow), wide};
}

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
      const GraphStep step = real_steps[random() % std::size(real_steps)];
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
      const GraphStep step = integer_steps[random() % std::size(integer_steps)];
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
