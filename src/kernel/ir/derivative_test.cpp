#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernel/ir/interpreter.hpp"
#include "kernel/ir/random_program.hpp"
#include "kernel/vm/compiled_function.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::ir {
namespace {

// Interprets in double precision, and hashes the outcome of every operation that is not smooth.
struct Tracing : DoubleDomain {
  std::uint64_t path = 0;
  Value apply(const Instruction& inst, DType operand, const std::array<Value, 3>& operands) {
    const Value result = DoubleDomain::apply(inst, operand, operands);
    const double a = operands[0].real;
    const double b = operands[1].real;
    switch (inst.op) {
      case Op::abs:
        note(a < 0 ? 1 : 0);
        break;
      case Op::min:
      case Op::max:
        note(a < b ? 1 : 0);
        break;
      case Op::rem:
        note(operand == DType::float32 ? std::bit_cast<std::uint64_t>(std::trunc(a / b)) : result.bits);
        break;
      case Op::floor:
      case Op::ceil:
      case Op::round:
      case Op::trunc:
      case Op::sign:
        note(std::bit_cast<std::uint64_t>(result.real));
        break;
      default:
        if (inst.type != DType::float32) note(result.bits);
    }
    return result;
  }
  void note(std::uint64_t what) { path = (path ^ what) * 0x9e3779b97f4a7c15ULL + 1; }
};

struct Sample {
  double value = 0;
  std::uint64_t path = 0;
};

// The weighted sum of the f32 outputs at one element, with input `number` set to `at`.
Sample sample(const Function& f, ProgramData data, std::size_t element, std::size_t number, float at,
              const std::vector<float>& weights) {
  std::memcpy(data.inputs[number].data() + 4 * element, &at, 4);
  const Bindings bindings = data.bindings();
  Interpreter<Tracing> interpreter(f, bindings);
  const auto outputs = interpreter.run(element);
  Sample result;
  std::size_t real = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (loaded_type(f.outputs[i].element) == DType::float32)
      result.value += static_cast<double>(weights[real++]) * outputs[i].real;
  }
  result.path = interpreter.domain().path;
  return result;
}

struct Difference {
  double slope = 0;
  double uncertainty = 0;  // the change of the slope, and of its extrapolation, with the step size
  bool smooth = false;
};

// Central differences in double precision with three step sizes, and their Richardson extrapolation.
Difference difference(const Function& f, const ProgramData& data, std::size_t element, std::size_t number,
                      const std::vector<float>& weights) {
  constexpr float step = 0x1p-13F;
  float x = 0;
  std::memcpy(&x, data.inputs[number].data() + 4 * element, 4);
  const auto at = [&](float where) { return sample(f, data, element, number, where, weights); };
  const Sample middle = at(x);
  std::array<double, 3> slopes{};
  Difference result;
  result.smooth = true;
  for (const std::size_t i : {0U, 1U, 2U}) {
    const float wide = step * static_cast<float>(1U << i);
    const float high = x + wide;
    const float low = x - wide;
    const Sample above = at(high);
    const Sample below = at(low);
    slopes[i] = (above.value - below.value) / (static_cast<double>(high) - static_cast<double>(low));
    result.smooth = result.smooth && above.path == middle.path && below.path == middle.path;
  }
  result.slope = (4 * slopes[0] - slopes[1]) / 3;
  // Two slopes may agree by accident where the function bends within a step.
  const double wider = (4 * slopes[1] - slopes[2]) / 3;
  result.uncertainty = std::max(std::fabs(slopes[1] - slopes[0]), std::fabs(wider - result.slope));
  result.smooth = result.smooth && std::isfinite(result.slope);
  return result;
}

// Rounds to a grid on which steps are exact.
void snap(std::vector<std::byte>* reals) {
  for (std::size_t at = 0; at < reals->size(); at += 4) {
    float x = 0;
    std::memcpy(&x, reals->data() + at, 4);
    x = std::round(x * 0x1p14F) * 0x1p-14F;
    std::memcpy(reals->data() + at, &x, 4);
  }
}

TEST(IrDerivative, MatchesFiniteDifferencesOnRandomPrograms) {
  Random random(test::seed());
  constexpr std::size_t elements = 4;
  std::size_t checked = 0;
  std::size_t skipped = 0;
  std::size_t nonzero = 0;
  for (int i = 0; i < 1000; ++i) {
    // Simplified first, so that function and derivative fold the same constants to float.
    const Function f = simplify(random_program(random, {.packed = false, .differentiable = true}));
    const Function d = derivative(f);
    ProgramData data = random_data(f, elements, random);
    for (std::size_t number = 0; number < f.inputs.size(); ++number) {
      if (f.inputs[number] == DType::float32) snap(&data.inputs[number]);
    }
    ProgramData extended = data;
    std::vector<float> weights;
    for (const Output& output : f.outputs) {
      if (loaded_type(output.element) != DType::float32) continue;
      weights.push_back(static_cast<float>(random.unit() * 2 - 1));
      extended.inputs.emplace_back(4 * elements);
      for (std::size_t e = 0; e < elements; ++e) std::memcpy(extended.inputs.back().data() + 4 * e, &weights.back(), 4);
    }
    const auto adjoints = interpret(d, extended.bindings(), elements);
    for (std::size_t element = 0; element < elements; ++element) {
      std::size_t real = 0;
      for (std::size_t number = 0; number < f.inputs.size(); ++number) {
        if (loaded_type(f.inputs[number]) != DType::float32) continue;
        const double got = adjoints[real++][element];
        const Difference expected = difference(f, data, element, number, weights);
        if (!expected.smooth || expected.uncertainty > 0.01 * std::max(1.0, std::fabs(expected.slope))) {
          ++skipped;
          continue;
        }
        ++checked;
        nonzero += expected.slope != 0 ? 1U : 0U;
        ASSERT_NEAR(got, expected.slope, 1e-4 * std::max(1.0, std::fabs(got)) + 0.5 * expected.uncertainty)
            << "input " << number << " element " << element << "\n"
            << to_text(f);
      }
    }
  }
  EXPECT_GT(checked, skipped * 3);
  EXPECT_GT(nonzero, checked / 3);
  RecordProperty("checked", std::to_string(checked));
  RecordProperty("skipped", std::to_string(skipped));
}

// d op / d operand at (a, b): computed by derivative(), and by the rule of the table.
std::vector<double> slopes(Op op, float a, float b = 0, float c = 0) {
  Builder builder("f");
  std::vector<Value> operands;
  for (std::size_t i = 0; i < operand_count(op); ++i) operands.push_back(builder.input(DType::float32));
  builder.output(builder.apply(op, operands), DType::float32);
  const Function d = derivative(builder.finish());
  const std::array<float, 4> values = {a, b, c, 1};
  Bindings bindings;
  for (std::size_t i = 0; i < operands.size(); ++i) bindings.inputs.push_back(std::as_bytes(std::span(&values[i], 1)));
  bindings.inputs.push_back(std::as_bytes(std::span(&values[3], 1)));
  std::vector<double> result;
  for (const auto& inst : interpret(d, bindings, 1)) result.push_back(inst[0]);
  return result;
}

TEST(IrDerivative, FollowsTheRulesOfTheTable) {
  using testing::DoubleNear;
  using testing::ElementsAre;
  const auto near = [](double value) { return DoubleNear(value, 1e-6 * std::max(1.0, std::fabs(value))); };
  EXPECT_THAT(slopes(Op::min, 1, 2), ElementsAre(1, 0));
  EXPECT_THAT(slopes(Op::min, 2, 2), ElementsAre(1, 0));
  EXPECT_THAT(slopes(Op::max, 1, 2), ElementsAre(0, 1));
  EXPECT_THAT(slopes(Op::max, NAN, 2), ElementsAre(0, 1));
  EXPECT_THAT(slopes(Op::max, 2, NAN), ElementsAre(1, 0));
  EXPECT_THAT(slopes(Op::abs, -3), ElementsAre(-1));
  EXPECT_THAT(slopes(Op::abs, 0), ElementsAre(0));
  EXPECT_THAT(slopes(Op::sign, 2), ElementsAre(0));
  EXPECT_THAT(slopes(Op::floor, 2.5F), ElementsAre(0));
  EXPECT_THAT(slopes(Op::fma, 2, 3, 5), ElementsAre(3, 2, 1));
  EXPECT_THAT(slopes(Op::div, 3, 2), ElementsAre(near(0.5), near(-0.75)));
  EXPECT_THAT(slopes(Op::rem, 7.5F, 2), ElementsAre(1, -3));
  EXPECT_THAT(slopes(Op::pow, 2, 3), ElementsAre(near(12), near(8 * std::log(2))));
  EXPECT_THAT(slopes(Op::pow, -2, 3), ElementsAre(near(12), 0));
  EXPECT_THAT(slopes(Op::pow, 0, 2), ElementsAre(0, 0));
  EXPECT_THAT(slopes(Op::atan2, 1, 2), ElementsAre(near(0.4), near(-0.2)));
  EXPECT_THAT(slopes(Op::atan2, 0, 0), ElementsAre(0, 0));
  EXPECT_THAT(slopes(Op::atan2, INFINITY, 1), ElementsAre(0, 0));
  EXPECT_THAT(slopes(Op::atan2, NAN, 0), ElementsAre(testing::IsNan(), testing::IsNan()));
  EXPECT_THAT(slopes(Op::atan2, 0, NAN), ElementsAre(testing::IsNan(), testing::IsNan()));
  EXPECT_THAT(slopes(Op::pow, 0, 0), ElementsAre(0, 0));
  EXPECT_THAT(slopes(Op::pow, 0, 1), ElementsAre(1, 0));
  EXPECT_THAT(slopes(Op::erf, 0.5F), ElementsAre(near(2 / std::sqrt(std::acos(-1)) * std::exp(-0.25))));
  EXPECT_THAT(slopes(Op::acos, 0.5F), ElementsAre(near(-1 / std::sqrt(0.75))));
  EXPECT_THAT(slopes(Op::exp2, 3), ElementsAre(near(8 * std::log(2))));
  EXPECT_THAT(slopes(Op::log2, 3), ElementsAre(near(1 / (3 * std::log(2)))));
  EXPECT_THAT(slopes(Op::rsqrt, 4), ElementsAre(near(-1.0 / 16)));
  EXPECT_THAT(slopes(Op::tan, 1), ElementsAre(near(1 + std::tan(1) * std::tan(1))));
}

// The slopes in single precision, as on devices, by the CPU's vector VM.
std::vector<float> float_slopes(Op op, float a, float b) {
  Builder builder("f");
  const Value left = builder.input(DType::float32);
  builder.output(builder.binary(op, left, builder.input(DType::float32)), DType::float32);
  const Function d = derivative(builder.finish());
  const std::array<float, 3> inputs = {a, b, 1};
  std::array<float, 2> outputs{};
  vm::HostBuffers buffers;
  for (const float& input : inputs) buffers.inputs.push_back(reinterpret_cast<const std::byte*>(&input));
  for (float& output : outputs) buffers.outputs.push_back(reinterpret_cast<std::byte*>(&output));
  SimulatedExecutor executor(1);
  vm::CompiledFunction(d).run(executor, buffers, 1);
  return {outputs.begin(), outputs.end()};
}

TEST(IrDerivative, SlopesAreRightInSinglePrecision) {
  const auto expect_slopes = [](Op op, float a, float b, double by_a, double by_b) {
    const std::vector<float> got = float_slopes(op, a, b);
    constexpr double flushed = std::numeric_limits<float>::min();
    EXPECT_NEAR(got[0], by_a, 1e-6 * std::fabs(by_a) + flushed) << ir::name(op) << ' ' << a << ' ' << b;
    EXPECT_NEAR(got[1], by_b, 1e-6 * std::fabs(by_b) + flushed) << ir::name(op) << ' ' << a << ' ' << b;
  };
  for (const auto& [y, x] :
       {std::pair(1e-23F, 1e-23F), {1e-20F, 3e-23F}, {-1e20F, 1e20F}, {3e30F, 2e-5F}, {0, 1e30F}}) {
    const double squares = static_cast<double>(y) * y + static_cast<double>(x) * x;
    expect_slopes(Op::atan2, y, x, x / squares, -y / squares);
  }
  // A quotient just below an integer, which division rounds up to it.
  int crossed = 0;
  for (std::uint32_t i = 1; i < 2000; ++i) {
    const float b = std::bit_cast<float>(0x3f800000U + i * 977U);
    const float a = std::nextafter(3 * b, 0.0F);
    const double quotient = std::trunc(static_cast<double>(a) / static_cast<double>(b));
    crossed += std::trunc(a / b) != static_cast<float>(quotient) ? 1 : 0;
    expect_slopes(Op::rem, a, b, 1, -quotient);
    expect_slopes(Op::rem, -a, b, 1, quotient);
  }
  EXPECT_GT(crossed, 0);
  expect_slopes(Op::rem, 1e30F, 3, 1, -static_cast<double>(1e30F) / 3);
  expect_slopes(Op::pow, 0, 0, 0, 0);
  expect_slopes(Op::pow, 1e-30F, 0, 0, std::log(1e-30));
}

// A branch that is not taken contributes nothing, even where its slope is infinite.
TEST(IrDerivative, BranchesNotTakenHaveZeroAdjoint) {
  Builder b("guarded");
  const Value x = b.input(DType::float32);
  const Value zero = b.constant(0.0F);
  b.output(b.select(b.binary(Op::gt, x, zero), b.unary(Op::sqrt, x), b.mul(x, b.constant(3.0F))), DType::float32);
  const Function d = derivative(b.finish());
  const std::array<float, 3> inputs = {0, -1, 4};
  const std::array<float, 3> ones = {1, 1, 1};
  const Bindings bindings{{std::as_bytes(std::span(inputs)), std::as_bytes(std::span(ones))}, {}, {}};
  EXPECT_EQ(interpret(d, bindings, 3)[0], (std::vector<double>{3, 3, 0.25}));
}

TEST(IrDerivative, HasOneOutputPerFloatInput) {
  const Function f = from_text(
      "vectis-ir 1\nfunction f\ninputs i32 f16 bf16 f32\n"
      "%0 = input f32 1\n%1 = input i32 0\n%2 = convert f32 %1\n%3 = mul f32 %0 %2\n"
      "output f16 %3\noutput i32 %1\noutput f32 %3\nend\n");
  EXPECT_EQ(to_text(derivative(f)),
            "vectis-ir 1\nfunction grad_f\ninputs i32 f16 bf16 f32 f32 f32\n"
            "%0 = input i32 0\n%1 = input f32 4\n%2 = input f32 5\n%3 = convert f32 %0\n"
            "%4 = add f32 %1 %2\n%5 = mul f32 %4 %3\n%6 = constant f32 0\n"
            "output f32 %5\noutput f32 %6\noutput f32 %6\nend\n");
}

TEST(IrDerivative, RejectsFunctionsWithoutDerivative) {
  const auto with_loop = [](const std::string& trip_count) {
    return from_text("vectis-ir 1\nfunction f\ninputs f32\narguments u32\n%0 = input f32 0\n%1 = " + trip_count +
                     "\n%2 = loop %1 %0 {\n%3 = carried f32 %2 0\n%4 = sin f32 %3\n} %4\n%5 = result f32 %2 0\n"
                     "output f32 %5\nend\n");
  };
  constexpr auto invalid = ErrorCode::invalid_input;
  EXPECT_NO_THROW(derivative(with_loop("constant u32 1024")));
  EXPECT_ERROR(derivative(with_loop("constant u32 1025")), invalid,
               "loop 0 of 'f' has a trip count of 1025, more than 1024");
  EXPECT_ERROR(derivative(with_loop("argument u32 0")), invalid, "not a constant");
  const auto from = [](const std::string& body) { return from_text("vectis-ir 1\nfunction f\n" + body + "end\n"); };
  EXPECT_ERROR(derivative(from("inputs i32\n%0 = input i32 0\n%1 = convert f32 %0\noutput f32 %1\n")), invalid,
               "no f32 input");
  EXPECT_ERROR(derivative(from("inputs f32 i32\n%0 = input i32 1\noutput i32 %0\n")), invalid, "no f32 output");
  // Loops that would unroll into too many instructions are rejected early.
  EXPECT_ERROR(derivative(from("inputs f32\n%0 = input f32 0\n%1 = constant u32 1000\n%2 = loop %1 %0 {\n"
                               "%3 = carried f32 %2 0\n%4 = loop %1 %3 {\n%5 = carried f32 %4 0\n%6 = sin f32 %5\n"
                               "} %6\n%7 = result f32 %4 0\n} %7\n%8 = result f32 %2 0\noutput f32 %8\n")),
               invalid, "unrolls into more than");
}

// A program of nested loops that swap two values and do nothing else.
Function swap_in_loops(std::size_t depth, std::uint32_t trip_count) {
  Builder b("swaps");
  std::vector<Value> values{b.input(DType::float32), b.input(DType::float32)};
  const Value count = b.constant(trip_count);
  std::vector<Builder::LoopHandle> loops;
  for (std::size_t i = 0; i < depth; ++i) {
    loops.push_back(b.begin_loop(count, values));
    values = loops.back().carried;
  }
  std::swap(values[0], values[1]);
  for (; !loops.empty(); loops.pop_back()) values = b.end_loop(loops.back(), values);
  b.output(values[0], DType::float32);
  return simplify(b.finish());  // without the numbers of iterations, which nobody reads
}

TEST(IrDerivative, BoundsLoopsThatOnlyMoveValues) {
  EXPECT_EQ(derivative(swap_in_loops(3, 7)).outputs.size(), 2U);
  for (const std::size_t depth : {3U, 8U}) {
    EXPECT_ERROR(derivative(swap_in_loops(depth, 1024)), ErrorCode::invalid_input, "executes more than");
  }
}

// The initial values of a loop are copied each time it begins, also when it has no iterations.
TEST(IrDerivative, BoundsLoopsWithoutIterations) {
  const auto nested = [](const std::string& trip_count, std::size_t carried) {
    std::string values;
    for (std::size_t i = 0; i < carried; ++i) values += " %0";
    return from_text("vectis-ir 1\nfunction f\ninputs f32\n%0 = input f32 0\n%1 = constant u32 0\n%2 = constant u32 " +
                     trip_count + "\n%3 = loop %2 {\n%4 = loop %2 {\n%5 = loop %1" + values + " {\n}" + values +
                     "\n}\n}\noutput f32 %0\nend\n");
  };
  EXPECT_EQ(derivative(nested("10", 100)).outputs.size(), 1U);
  EXPECT_ERROR(derivative(nested("1024", 1000)), ErrorCode::invalid_input, "executes more than");
}

}  // namespace
}  // namespace vectis::ir
