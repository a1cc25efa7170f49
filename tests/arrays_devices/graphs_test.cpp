// Random graphs of operations on devices against the CPU, one operation after the other: real numbers in double
// precision, integers in 64 bits.

#include "tests/arrays/graph_steps.hpp"
#include "tests/arrays_devices/fixture.hpp"
#include "tests/support/runs.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

struct Pair {
  Tensor there;  // lazy, on the device
  Tensor wide;   // computed at once, on the CPU
};

}  // namespace

TEST_P(EveryArrayDevice, AgreesOnGraphsOfRealNumbers) {
  for (std::uint64_t graph = 0; graph < runs_wanted(10); ++graph) {
    std::vector<Pair> values;
    for (const Shape& shape : {Shape{6, 6}, Shape{6, 1}, Shape{1, 6}, Shape{6, 6}}) {
      const Tensor x = random_on_host(shape);
      values.push_back({x.on(target()), x.astype(DType::float64).eval()});
    }
    for (std::size_t steps = 1 + random() % 20; steps > 0; --steps) {
      const GraphStep step = real_steps[random() % std::size(real_steps)];
      const Pair a = values[random() % values.size()];
      const Pair b = values[random() % values.size()];
      values.push_back({step(a.there, b.there), step(a.wide, b.wide).eval()});
      if (random() % 8 == 0) values.erase(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    }
    for (const Pair& value : values) {
      expect_same(value.there, value.wide.astype(DType::float32), 1e-3, "graph " + std::to_string(graph));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryArrayDevice, AgreesOnGraphsOfIntegers) {
  for (std::uint64_t graph = 0; graph < runs_wanted(10); ++graph) {
    const DType type = std::array{DType::int8, DType::uint8, DType::int32}[random() % 3];
    // After each step the wide array is wrapped to the narrow type.
    const auto wrapped = [&](const Tensor& x) { return x.astype(type).astype(DType::int64).eval(); };
    std::vector<Pair> values;
    for (const Shape& shape : {Shape{5, 4}, Shape{5, 1}, Shape{5, 4}}) {
      const Tensor wide = wrapped(random_on_host(shape, DType::int64, -2e5, 2e5));
      values.push_back({wide.astype(type).on(target()), wide});
    }
    for (std::size_t steps = 1 + random() % 20; steps > 0; --steps) {
      const GraphStep step = integer_steps[random() % std::size(integer_steps)];
      const Pair a = values[random() % values.size()];
      const Pair b = values[random() % values.size()];
      values.push_back({step(a.there, b.there), wrapped(step(a.wide, b.wide))});
    }
    for (const Pair& value : values) {
      expect_same(value.there, value.wide.astype(type), 0, "graph " + std::to_string(graph));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace vectis::test
