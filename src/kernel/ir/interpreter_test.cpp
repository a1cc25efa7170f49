#include "kernel/ir/interpreter.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/expect_error.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::ir {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int32_t smallest = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
Value constant(Builder& b, T value) {
  return b.constant(value);
}

// op(a, b) on constants, in a function without inputs.
template <class T>
double of(Op op, T a, T b) {
  Builder builder("f");
  Value value = builder.binary(op, constant(builder, a), constant(builder, b));
  if (value.type == DType::boolean) value = builder.convert(value, DType::uint32);
  builder.output(value, value.type == DType::float32 ? DType::float32
                        : value.type == DType::int32 ? DType::int32
                                                     : DType::uint32);
  return interpret(builder.finish(), {}, 1)[0][0];
}
template <class T>
double of(Op op, T a) {
  Builder builder("f");
  const Value value = builder.unary(op, constant(builder, a));
  builder.output(value, value.type == DType::float32 ? DType::float32
                        : value.type == DType::int32 ? DType::int32
                                                     : DType::uint32);
  return interpret(builder.finish(), {}, 1)[0][0];
}
double converted(Value (*make)(Builder&), DType to) {
  Builder builder("f");
  Value value = builder.convert(make(builder), to);
  if (to == DType::boolean) value = builder.convert(value, DType::int32);
  builder.output(value, value.type == DType::float32 ? DType::float32
                        : value.type == DType::int32 ? DType::int32
                                                     : DType::uint32);
  return interpret(builder.finish(), {}, 1)[0][0];
}

TEST(IrInterpreter, IntegersWrapAndAreTotal) {
  EXPECT_EQ(of(Op::add, largest, 1), smallest);
  EXPECT_EQ(of(Op::mul, 0x10001U, 0x10001U), 0x20001);
  EXPECT_EQ(of(Op::div, 7, 0), 0);
  EXPECT_EQ(of(Op::rem, 7U, 0U), 0);
  EXPECT_EQ(of(Op::div, smallest, -1), smallest);
  EXPECT_EQ(of(Op::rem, smallest, -1), 0);
  EXPECT_EQ(of(Op::rem, -7, 3), -1);
  EXPECT_EQ(of(Op::rem, 7, -3), 1);
  EXPECT_EQ(of(Op::div, -7, 2), -3);
  EXPECT_EQ(of(Op::div, 0xfffffff9U, 2U), 0x7ffffffc);
  EXPECT_EQ(of(Op::neg, smallest), smallest);
  EXPECT_EQ(of(Op::abs, smallest), smallest);
  EXPECT_EQ(of(Op::neg, 1U), 0xffffffffU);
  EXPECT_EQ(of(Op::abs, 0xffffffffU), 0xffffffffU);
  EXPECT_EQ(of(Op::min, -1, 1), -1);
  EXPECT_EQ(of(Op::min, 0xffffffffU, 1U), 1);
}

TEST(IrInterpreter, Bits) {
  EXPECT_EQ(of(Op::shl, 1, 33), 2);
  EXPECT_EQ(of(Op::shr, -8, 33), -4);
  EXPECT_EQ(of(Op::shr, 0x80000000U, 31U), 1);
  EXPECT_EQ(of(Op::popcount, -1), 32);
  EXPECT_EQ(of(Op::leading_zeros, 0U), 32);
  EXPECT_EQ(of(Op::leading_zeros, 1), 31);
  EXPECT_EQ(of(Op::bit_not, 0U), 0xffffffffU);
  EXPECT_EQ(of(Op::bit_xor, true, true), 0);
  EXPECT_EQ(of(Op::bit_or, true, false), 1);
  EXPECT_EQ(of(Op::random, 5U, 6U), random_u32(5, 6));
}

TEST(IrInterpreter, ConversionsTruncateAndSaturate) {
  EXPECT_EQ(converted([](Builder& b) { return b.constant(-1.9F); }, DType::int32), -1);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(-1.9F); }, DType::uint32), 0);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(3e9F); }, DType::int32), largest);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(3e9F); }, DType::uint32), 3e9);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(5e9F); }, DType::uint32), 4294967295.0);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(-infinity); }, DType::int32), smallest);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(nan); }, DType::int32), 0);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(nan); }, DType::boolean), 1);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(-0.0F); }, DType::boolean), 0);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(-1); }, DType::float32), -1);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(0xffffffffU); }, DType::float32), 4294967295.0);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(0xffffffffU); }, DType::int32), -1);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(true); }, DType::float32), 1);
  EXPECT_EQ(converted([](Builder& b) { return b.constant(2); }, DType::boolean), 1);
}

TEST(IrInterpreter, FloatsAreNotRoundedInBetween) {
  EXPECT_EQ(of(Op::add, 1.0F, 0x1p-40F), 1.0 + 0x1p-40);
  EXPECT_EQ(of(Op::mul, 1e30F, 1e30F), static_cast<double>(1e30F) * static_cast<double>(1e30F));
  EXPECT_EQ(of(Op::exp, 1.0F), std::exp(1.0));
  EXPECT_EQ(of(Op::pow, 2.0F, 0.5F), std::sqrt(2.0));
  EXPECT_EQ(of(Op::rsqrt, 4.0F), 0.5);
  EXPECT_EQ(of(Op::rem, -7.5F, 2.0F), -1.5);
  EXPECT_EQ(of(Op::atan2, 1.0F, -1.0F), 3 * std::atan(1.0));
  EXPECT_EQ(of(Op::erf, 0.5F), std::erf(0.5));
}

TEST(IrInterpreter, RoundingTiesGoToEven) {
  EXPECT_EQ(of(Op::round, 0.5F), 0);
  EXPECT_EQ(of(Op::round, 1.5F), 2);
  EXPECT_EQ(of(Op::round, -2.5F), -2);
  EXPECT_EQ(of(Op::trunc, -2.5F), -2);
  EXPECT_EQ(of(Op::floor, -2.5F), -3);
  EXPECT_EQ(of(Op::ceil, -2.5F), -2);
  EXPECT_EQ(of(Op::sign, -2.5F), -1);
  EXPECT_EQ(of(Op::sign, nan), 0);
}

TEST(IrInterpreter, MinAndMaxIgnoreNanAndNanIsUnequalToAll) {
  EXPECT_EQ(of(Op::min, nan, 3.0F), 3);
  EXPECT_EQ(of(Op::max, 3.0F, nan), 3);
  EXPECT_TRUE(std::isnan(of(Op::max, nan, nan)));
  EXPECT_EQ(of(Op::eq, nan, nan), 0);
  EXPECT_EQ(of(Op::ne, nan, nan), 1);
  EXPECT_EQ(of(Op::le, nan, 1.0F), 0);
  EXPECT_EQ(of(Op::ge, nan, 1.0F), 0);
  EXPECT_EQ(of(Op::div, 1.0F, 0.0F), infinity);
  EXPECT_TRUE(std::isnan(of(Op::sqrt, -1.0F)));
}

TEST(IrInterpreter, LoadsPackedElementsAndClampsGathers) {
  Builder b("f");
  const Value half = b.input(DType::float16);
  const Value brain = b.input(DType::bfloat16);
  const Value small = b.input(DType::int8);
  const std::uint32_t table = b.table(DType::int8);
  b.output(b.add(half, brain), DType::float32);
  b.output(b.add(small, b.gather(table, b.convert(small, DType::uint32))), DType::int8);
  const Function f = b.finish();
  const std::vector<std::uint16_t> halves = {to_half(1.5F).bits, to_half(-0.25F).bits, to_half(8.0F).bits};
  const std::vector<std::uint16_t> brains = {to_bfloat16(2.0F).bits, to_bfloat16(3.0F).bits, to_bfloat16(-4.0F).bits};
  const std::vector<std::int8_t> smalls = {1, -1, 127};
  const std::vector<std::int8_t> entries = {10, 20, 30, -128};
  const Bindings bindings{{bytes(halves), bytes(brains), bytes(smalls)}, {bytes(entries)}, {}};
  const auto results = interpret(f, bindings, 3);
  EXPECT_EQ(results[0], (std::vector<double>{3.5, 2.75, 4.0}));
  EXPECT_EQ(results[1], (std::vector<double>{21, -129, -1}));  // not stored, so the second does not saturate
}

TEST(IrInterpreter, LoopsCarryValues) {
  Builder b("power");
  const Value x = b.input(DType::float32);
  const Value trip_count = b.argument(DType::uint32);
  const auto outer = b.begin_loop(trip_count, std::array{b.constant(1.0F), b.constant(0U)});
  const auto inner = b.begin_loop(b.constant(2U), std::array{outer.carried[1]});
  const auto counted = b.end_loop(inner, std::array{b.add(inner.carried[0], inner.iteration)});
  const auto results = b.end_loop(outer, std::array{b.mul(outer.carried[0], x), b.add(counted[0], outer.iteration)});
  b.output(results[0], DType::float32);
  b.output(results[1], DType::uint32);
  const Function f = b.finish();
  const std::vector<float> inputs = {2, 3};
  EXPECT_EQ(interpret(f, {{bytes(inputs)}, {}, {5}}, 2),
            (std::vector<std::vector<double>>{{32, 243}, {15, 15}}));  // 5 x 1 + (0 + 1 + 2 + 3 + 4)
  EXPECT_EQ(interpret(f, {{bytes(inputs)}, {}, {0}}, 2), (std::vector<std::vector<double>>{{1, 1}, {0, 0}}));
  EXPECT_EQ(interpret(f, {{bytes(inputs)}, {}, {5}}, 0), (std::vector<std::vector<double>>(2)));
}

TEST(IrInterpreter, RejectsMissingAndShortBindings) {
  Builder b("f");
  const Value x = b.input(DType::float16);
  b.argument(DType::float32);
  const std::uint32_t table = b.table(DType::uint32);
  b.output(x, DType::float16);
  b.output(b.gather(table, b.index()), DType::uint32);
  const Function f = b.finish();
  const std::vector<std::uint16_t> halves(3);
  const std::vector<std::uint32_t> words(1);
  constexpr auto invalid = ErrorCode::invalid_input;
  EXPECT_NO_THROW(interpret(f, {{bytes(halves)}, {bytes(words)}, {0}}, 3));
  EXPECT_ERROR(interpret(f, {{}, {bytes(words)}, {0}}, 3), invalid, "0 inputs are bound, but the function has 1");
  EXPECT_ERROR(interpret(f, {{bytes(halves)}, {}, {0}}, 3), invalid, "0 tables are bound");
  EXPECT_ERROR(interpret(f, {{bytes(halves)}, {bytes(words)}, {}}, 3), invalid, "0 arguments are bound");
  EXPECT_ERROR(interpret(f, {{bytes(halves)}, {bytes(words)}, {0}}, 4), invalid,
               "input 0 holds 3 elements, but 4 are read");
  EXPECT_ERROR(interpret(f, {{bytes(halves)}, {{}}, {0}}, 3), invalid, "table 0 holds 0 elements");
}

}  // namespace
}  // namespace vectis::ir
