#include <gmock/gmock.h>

#include <bit>
#include <limits>

#include "kernel/ir/error_bounds.hpp"
#include "kernel/ir/folding_builder.hpp"
#include "kernel/ir/random_program.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/ir_erring.hpp"
#include "tests/support/seed.hpp"

namespace vectis::ir {
namespace {

using test::Erring;
using test::stored;

Function parse(const std::string& interface, const std::string& body) {
  return from_text("vectis-ir 1\nfunction f\n" + interface + body + "end\n");
}
std::string body_of(const Function& f) {
  const std::string text = to_text(f);
  return text.substr(text.find('%'));
}

// On random programs and data, the simplified function computes the same f32 bits.
TEST(IrSimplify, ChangesNoBit) {
  Random random(test::seed());
  constexpr std::size_t elements = 8;
  std::size_t before = 0;
  std::size_t after = 0;
  for (int i = 0; i < 2000; ++i) {
    const Function f = random_program(random, {.special = i % 2 == 0});
    const Function g = simplify(f);
    ASSERT_NO_THROW(verify(g)) << to_text(f);
    before += f.instructions.size();
    after += g.instructions.size();
    const ProgramData data = random_data(f, elements, random);
    const Bindings bindings = data.bindings();
    Interpreter<Erring> first(f, bindings);
    Interpreter<Erring> second(g, bindings);
    for (std::size_t element = 0; element < elements; ++element) {
      const auto expected = first.run(element);
      const auto got = second.run(element);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const double a = stored(f.outputs[k].element, expected[k]);
        const double b = stored(f.outputs[k].element, got[k]);
        ASSERT_TRUE((std::isnan(a) && std::isnan(b)) ||
                    std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b))
            << a << " became " << b << "\n"
            << to_text(f) << "became\n"
            << to_text(g);
      }
    }
  }
  EXPECT_LT(after, before * 9 / 10);
}

TEST(IrSimplify, IsIdempotent) {
  Random random(test::seed());
  for (int i = 0; i < 300; ++i) {
    const std::string once = to_text(simplify(random_program(random)));
    ASSERT_EQ(to_text(simplify(from_text(once))), once);
  }
}

// Each line: an expression of x (f32), n (i32), u (u32), and the number of instructions that remain.
TEST(IrSimplify, AppliesOnlyExactIdentities) {
  const auto kept = [](const std::string& lines, const std::string& type) {
    const std::string last = lines.substr(lines.rfind('%', lines.rfind('=')), 2);
    const std::string next = "%" + std::to_string(std::stoi(last.substr(1)) + 1);
    const std::string stored_bool = next + " = convert u32 " + last + "\noutput u32 " + next + "\n";
    const std::string out = type == "bool" ? stored_bool : "output " + type + " " + last + "\n";
    return simplify(
               parse("inputs f32 i32 u32\n", "%0 = input f32 0\n%1 = input i32 1\n%2 = input u32 2\n" + lines + out))
        .instructions.size();
  };
  const std::string zero = "%3 = constant f32 0\n";
  const std::string negative_zero = "%3 = constant f32 -0\n";
  const std::string one = "%3 = constant f32 1\n";
  EXPECT_EQ(kept(one + "%4 = mul f32 %0 %3\n", "f32"), 1U);
  EXPECT_EQ(kept(one + "%4 = div f32 %0 %3\n", "f32"), 1U);
  EXPECT_EQ(kept(one + "%4 = div f32 %3 %0\n", "f32"), 3U);
  EXPECT_EQ(kept(zero + "%4 = add f32 %0 %3\n", "f32"), 3U);  // -0 + 0 is 0
  EXPECT_EQ(kept(negative_zero + "%4 = add f32 %0 %3\n", "f32"), 1U);
  EXPECT_EQ(kept(zero + "%4 = sub f32 %0 %3\n", "f32"), 1U);
  EXPECT_EQ(kept(negative_zero + "%4 = sub f32 %0 %3\n", "f32"), 3U);
  EXPECT_EQ(kept(zero + "%4 = mul f32 %0 %3\n", "f32"), 3U);  // NaN, -0
  EXPECT_EQ(kept("%3 = sub f32 %0 %0\n", "f32"), 2U);         // NaN
  EXPECT_EQ(kept("%3 = neg f32 %0\n%4 = neg f32 %3\n", "f32"), 1U);
  EXPECT_EQ(kept("%3 = abs f32 %0\n%4 = abs f32 %3\n", "f32"), 2U);
  EXPECT_EQ(kept("%3 = neg f32 %0\n%4 = abs f32 %3\n", "f32"), 2U);
  EXPECT_EQ(kept("%3 = floor f32 %0\n%4 = round f32 %3\n", "f32"), 2U);
  EXPECT_EQ(kept("%3 = min f32 %0 %0\n", "f32"), 1U);
  EXPECT_EQ(kept("%3 = eq bool %0 %0\n", "bool"), 3U);  // NaN
  EXPECT_EQ(kept("%3 = lt bool %0 %0\n", "bool"), 1U);
  EXPECT_EQ(kept("%3 = le bool %1 %1\n", "bool"), 1U);
  EXPECT_EQ(kept("%3 = sub i32 %1 %1\n", "i32"), 1U);
  EXPECT_EQ(kept("%3 = constant u32 32\n%4 = shl u32 %2 %3\n", "u32"), 1U);
  EXPECT_EQ(kept("%3 = convert i32 %2\n%4 = convert u32 %3\n", "u32"), 1U);
  EXPECT_EQ(kept("%3 = convert i32 %0\n%4 = convert f32 %3\n", "f32"), 3U);
  EXPECT_EQ(kept("%3 = bitcast i32 %0\n%4 = bitcast u32 %3\n%5 = bitcast f32 %4\n", "f32"), 1U);
  EXPECT_EQ(kept("%3 = lt bool %0 %0\n%4 = select i32 %3 %1 %1\n", "i32"), 1U);
}

TEST(IrSimplify, FoldsAsDevicesCompute) {
  const auto folded = [](Op op, std::uint32_t a, std::uint32_t b, DType type = DType::float32) {
    FoldingBuilder folder(Function{}, "f");
    return folder.constant_of(folder.emit({op, type, {folder.constant(type, a), folder.constant(type, b), {}}, 0}));
  };
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  EXPECT_EQ(folded(Op::add, bits(1), bits(0x1p-24F)), bits(1));  // rounded to float
  EXPECT_EQ(folded(Op::mul, bits(1e30F), bits(1e30F)), std::nullopt);
  EXPECT_EQ(folded(Op::mul, bits(1e-30F), bits(1e-10F)), std::nullopt);
  EXPECT_EQ(folded(Op::add, bits(1e-40F), bits(1)), std::nullopt);
  EXPECT_EQ(folded(Op::div, bits(1), bits(3)), std::nullopt);
  EXPECT_EQ(folded(Op::min, bits(0.0F), bits(-0.0F)), std::nullopt);
  EXPECT_EQ(folded(Op::rem, bits(7.5F), bits(2)), bits(1.5F));
  EXPECT_EQ(folded(Op::div, 7, 0, DType::uint32), 0U);
  EXPECT_EQ(folded(Op::random, 3, 4, DType::uint32), random_u32(3, 4));
}

TEST(IrSimplify, RemovesDeadCodeInLoops) {
  // Carried values: the sum (live), a count that is never read, and a value that never changes.
  const Function f = parse("inputs f32\narguments u32\n",
                           "%0 = input f32 0\n%1 = argument u32 0\n%2 = constant u32 1\n"
                           "%3 = loop %1 %0 %2 %0 {\n"
                           "  %4 = carried f32 %3 0\n  %5 = carried u32 %3 1\n  %6 = carried f32 %3 2\n"
                           "  %7 = add u32 %5 %2\n  %8 = add f32 %4 %6\n"
                           "} %8 %7 %6\n"
                           "%9 = result f32 %3 0\n%10 = result u32 %3 1\n%11 = result f32 %3 2\noutput f32 %9\n");
  EXPECT_EQ(body_of(simplify(f)),
            "%0 = input f32 0\n%1 = argument u32 0\n%2 = loop %1 %0 {\n  %3 = carried f32 %2 0\n"
            "  %4 = add f32 %3 %0\n} %4\n%5 = result f32 %2 0\noutput f32 %5\nend\n");
  const Function never = parse("inputs f32\n",
                               "%0 = input f32 0\n%1 = constant u32 0\n%2 = loop %1 %0 {\n  %3 = carried f32 %2 0\n"
                               "  %4 = exp f32 %3\n} %4\n%5 = result f32 %2 0\noutput f32 %5\n");
  EXPECT_EQ(body_of(simplify(never)), "%0 = input f32 0\noutput f32 %0\nend\n");
}

TEST(IrSimplify, KeepsInputsTablesAndArguments) {
  const Function f = parse("inputs f32 i8\ntables u32\narguments f32\n", "%0 = input f32 0\noutput f32 %0\n");
  EXPECT_EQ(to_text(simplify(f)), to_text(f));
  Function wrong = f;
  wrong.outputs.clear();
  EXPECT_ERROR(simplify(wrong), ErrorCode::invalid_input, "no output");
}

TEST(IrLift, ConstantsBecomeTrailingArguments) {
  const auto with = [](const std::string& a, const std::string& trip_count) {
    return parse("inputs f32\narguments i32\n",
                 "%0 = input f32 0\n%1 = constant f32 " + a + "\n%2 = constant u32 " + trip_count +
                     "\n%3 = loop %2 %0 {\n  %4 = carried f32 %3 0\n  %5 = constant f32 1\n  %6 = mul f32 %4 %1\n"
                     "  %7 = add f32 %6 %5\n} %7\n%8 = result f32 %3 0\n%9 = constant f32 -0\n"
                     "%10 = add f32 %8 %9\noutput f32 %10\n");
  };
  const LiftedFunction two = lift_constants(with("2.5", "7"));
  const LiftedFunction three = lift_constants(with("3.5", "7"));
  EXPECT_EQ(to_text(two.function), to_text(three.function));
  EXPECT_NE(to_text(two.function), to_text(lift_constants(with("2.5", "8")).function));
  EXPECT_EQ(two.function.arguments, (std::vector{DType::int32, DType::float32, DType::float32}));
  EXPECT_EQ(two.values, (std::vector<std::uint32_t>{std::bit_cast<std::uint32_t>(2.5F), 0x80000000U}));
}

TEST(IrLift, ComputesTheSame) {
  Random random(test::seed());
  for (int i = 0; i < 300; ++i) {
    const Function f = random_program(random);
    const LiftedFunction lifted = lift_constants(f);
    ASSERT_NO_THROW(verify(lifted.function));
    ProgramData data = random_data(f, 4, random);
    const auto expected = interpret(f, data.bindings(), 4);
    data.arguments.insert(data.arguments.end(), lifted.values.begin(), lifted.values.end());
    ASSERT_THAT(interpret(lifted.function, data.bindings(), 4), testing::ContainerEq(expected)) << to_text(f);
  }
}

TEST(IrCost, CountsOperationsAndBytes) {
  const Function f = parse("inputs f32 f16 i8\ntables bf16\narguments u32\n",
                           "%0 = input f32 0\n%1 = input f32 1\n%2 = argument u32 0\n%3 = fma f32 %0 %1 %0\n"
                           "%4 = loop %2 %3 {\n  %5 = carried f32 %4 0\n  %6 = gather f32 %2 0\n"
                           "  %7 = add f32 %5 %6\n} %7\n%8 = result f32 %4 0\noutput f32 %8\noutput f16 %3\n");
  const Cost some = estimate_cost(f, 10);
  EXPECT_EQ(some.operations, 2 + 10 * 2);
  EXPECT_EQ(some.bytes_read, 4 + 2 + 10 * 2);  // the third input is never read
  EXPECT_EQ(some.bytes_written, 6);
  EXPECT_GT(estimate_cost(f).operations, some.operations);
}

}  // namespace
}  // namespace vectis::ir
