#include "kernel/ir/error_bounds.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernel/ir/random_program.hpp"
#include "tests/support/ir_erring.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::ir {
namespace {

using test::Erring;
using test::stored;

struct Counts {
  std::size_t all = 0;
  std::size_t unknown = 0;
  std::size_t undecided = 0;
  std::size_t refused = 0;
  std::size_t loose = 0;  // intervals wider than 0.001 * max(1, |value|)
};

// Runs random programs with an implementation that errs at random, and counts the results outside the bounds.
Counts count_refusals(std::uint64_t seed, int programs, const ProgramOptions& options, double share, bool report = true,
                      const Accuracy& accuracy = default_accuracy()) {
  Random random(seed);
  Counts counts;
  constexpr std::size_t elements = 9;
  for (int i = 0; i < programs; ++i) {
    const Function f = random_program(random, options);
    const ProgramData data = random_data(f, elements, random);
    const Bindings bindings = data.bindings();
    const auto expected = interpret_with_bounds(f, bindings, elements, accuracy);
    const auto plain = interpret(f, bindings, elements);
    Interpreter<Erring> erring(f, bindings, Erring(&random, share, accuracy));
    for (std::size_t element = 0; element < elements; ++element) {
      const auto values = erring.run(element);
      for (std::size_t k = 0; k < f.outputs.size(); ++k) {
        const BoundedValue& bound = expected[k][element];
        const double got = stored(f.outputs[k].element, values[k]);
        ++counts.all;
        counts.unknown += bound.known ? 0U : 1U;
        counts.undecided += bound.decided ? 0U : 1U;
        if (bound.high - bound.low > 1e-3 * std::max(1.0, std::fabs(bound.value))) ++counts.loose;
        EXPECT_EQ(std::bit_cast<std::uint64_t>(bound.value), std::bit_cast<std::uint64_t>(plain[k][element]));
        if (accepts(bound, f.outputs[k].element, got)) continue;
        ++counts.refused;
        if (report)
          ADD_FAILURE() << "output " << k << " element " << element << ": " << got << " not in [" << bound.low << ", "
                        << bound.high << "]\n"
                        << to_text(f);
        if (report) return counts;
      }
    }
  }
  return counts;
}

TEST(IrErrorBounds, ContainEveryConformingResult) {
  const Counts counts = count_refusals(test::seed(), 3000, {}, 1);
  EXPECT_EQ(counts.refused, 0U);
  // The bounds are useful: few outputs are unknown, and most intervals are narrow.
  const auto all = static_cast<double>(counts.all);
  RecordProperty("unknown_percent", std::to_string(100 * static_cast<double>(counts.unknown) / all));
  RecordProperty("undecided_percent", std::to_string(100 * static_cast<double>(counts.undecided) / all));
  RecordProperty("loose_percent", std::to_string(100 * static_cast<double>(counts.loose) / all));
  EXPECT_LT(static_cast<double>(counts.unknown) / all, 0.05);
  EXPECT_LT(static_cast<double>(counts.undecided) / all, 0.10);
  EXPECT_LT(static_cast<double>(counts.loose) / all, 0.20);
}

TEST(IrErrorBounds, ContainEveryConformingShaderResult) {
  const Counts counts = count_refusals(test::seed() + 2, 2000, {}, 1, true, shader_accuracy());
  EXPECT_EQ(counts.refused, 0U);
  EXPECT_LT(static_cast<double>(counts.unknown) / static_cast<double>(counts.all),
            0.25);  // sin and cos of large angles
  EXPECT_GT(count_refusals(test::seed() + 2, 2000, {}, 3, false, shader_accuracy()).refused, 0U);
}

TEST(IrErrorBounds, HoldForInfinitiesAndNans) {
  EXPECT_EQ(count_refusals(test::seed() + 1, 2000, {.special = true}, 1).refused, 0U);
}

// An implementation with eight times the promised error is detected.
TEST(IrErrorBounds, RejectLargerErrors) {
  EXPECT_GT(count_refusals(test::seed() + 2, 1000, {.loops = false}, 8, false).refused, 100U);
}

BoundedValue of(Op op, double a, double b = 0) {
  return IntervalDomain().apply({op, DType::float32, {}, 0}, DType::float32,
                                {IntervalDomain::real(a), IntervalDomain::real(b), {}});
}

TEST(IrErrorBounds, ExactResultsAreExact) {
  EXPECT_EQ(of(Op::add, 1.5, 0.25).low, 1.75);
  EXPECT_EQ(of(Op::add, 1.5, 0.25).high, 1.75);
  EXPECT_EQ(of(Op::sub, 3, 3).high, 0);
  const BoundedValue rounded = of(Op::add, 1, 0x1p-30);
  EXPECT_EQ(rounded.low, 1);
  EXPECT_EQ(rounded.high, 1 + 0x1p-30);
  const BoundedValue tie = of(Op::add, 1, 0x1p-24);
  EXPECT_EQ(tie.low, 1);
  EXPECT_EQ(tie.high, 1 + 0x1p-23);
}

TEST(IrErrorBounds, AreUnboundedAtPolesAndOutsideDomains) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(of(Op::div, 1, 0).known);
  EXPECT_TRUE(std::isnan(of(Op::sqrt, -1).value) && of(Op::sqrt, -1).known);
  EXPECT_FALSE(of(Op::mul, 1e30, 1e30).known);  // infinite in float, finite in double
  EXPECT_TRUE(of(Op::add, infinity, 1).known);
  EXPECT_TRUE(of(Op::mul, infinity, 0).known);  // NaN
  EXPECT_FALSE(of(Op::sin, 1e6).known);
  EXPECT_TRUE(of(Op::atan2, 0, -1).known);
  EXPECT_FALSE(of(Op::atan2, 0, -1).decided);
  EXPECT_GE(of(Op::exp, -infinity).low, 0);
}

TEST(IrErrorBounds, MarkUndecidedComparisons) {
  const BoundedValue near_two = of(Op::sqrt, 4);
  EXPECT_LT(near_two.low, 2);
  EXPECT_GT(near_two.high, 2);
  const BoundedValue floored =
      IntervalDomain().apply({Op::floor, DType::float32, {}, 0}, DType::float32, {near_two, {}, {}});
  EXPECT_EQ(floored.low, 1);
  EXPECT_EQ(floored.high, 2);
  EXPECT_FALSE(floored.decided);
  const IntervalDomain domain;
  EXPECT_FALSE(
      domain.apply({Op::lt, DType::boolean, {}, 0}, DType::float32, {near_two, IntervalDomain::real(2), {}}).known);
  EXPECT_TRUE(
      domain.apply({Op::lt, DType::boolean, {}, 0}, DType::float32, {near_two, IntervalDomain::real(2.1), {}}).known);
  EXPECT_FALSE(domain.apply({Op::convert, DType::int32, {}, 0}, DType::float32, {near_two, {}, {}}).known);
  const BoundedValue coin{.bits = 1, .known = false};
  const BoundedValue chosen = domain.apply({Op::select, DType::float32, {}, 0}, DType::boolean,
                                           {coin, IntervalDomain::real(5), IntervalDomain::real(-5)});
  EXPECT_EQ(chosen.value, 5);
  EXPECT_EQ(chosen.low, -5);
  EXPECT_FALSE(chosen.decided);
}

TEST(IrErrorBounds, RoundTheirEndsWhenStored) {
  const BoundedValue third{1.0 / 3, 1.0 / 3 - 1e-8, 1.0 / 3 + 1e-8};
  const double half = to_float(to_half(1.0F / 3));
  EXPECT_TRUE(accepts(third, DType::float16, half));
  EXPECT_FALSE(accepts(third, DType::float16, half + 0x1p-12));
  EXPECT_FALSE(accepts(third, DType::float32, 0.3334));
  EXPECT_TRUE(accepts({.value = 300, .low = 300, .high = 300}, DType::int8, 127));
  EXPECT_FALSE(accepts({.value = 300, .low = 300, .high = 300}, DType::int8, 44));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(accepts({nan, nan, nan}, DType::float32, nan));
  EXPECT_FALSE(accepts({nan, nan, nan}, DType::float32, 1));
  EXPECT_FALSE(accepts({1, 1, 1}, DType::float32, nan));
}

}  // namespace
}  // namespace vectis::ir
